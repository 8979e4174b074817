/**
 * A partition in memory, decided by the rules in JavaScript: what lua/admit.lua does.
 *
 * @typedef {import('./index.js').Fields} Fields
 * @typedef {import('../../src/admission/index.js').Command} Command
 * @typedef {import('../../src/admission/index.js').Decision} Decision
 * @typedef {{ key: string, ts: number, fields: string[] }} Event
 */
import { decisionOf, fieldsOf, prepare } from '../../src/admission/index.js'
import { RULES } from './index.js'

export function createOracle () {
  let lineage = ''
  /** @type {Map<string, Fields>} */
  const states = new Map()
  /** @type {Map<string, string[][]>} */
  const events = new Map()
  /** @type {{ key: string, rule: string, fields: string[] }[]} */
  const outbox = []
  /** @type {Map<string, number>} */
  const tasks = new Map()
  /** by key, then field @type {Map<string, Map<string, string>>} */
  const members = new Map()
  /** by key: ends of holds by claim @type {Map<string, Map<string, number>>} */
  const holds = new Map()
  /** by key: places of users @type {Map<string, Map<string, number>>} */
  const waiting = new Map()
  let reopened = 0
  /** @type {Map<string, { body: string, decision: string[] }>} */
  const requests = new Map()

  /** @param {Command} command @param {number} now @returns {string[]} as the script returns it */
  function decide (command, now) {
    const { rule, key, args } = command
    const { request, encoded } = prepare(command)
    const stored = request && requests.get(request)
    if (stored) return stored.body === encoded ? ['replay', ...stored.decision] : ['other_body', '', '0', '0', '{}']
    const fields = { ...states.get(key) }
    const own = { members: at(members, key), holds: at(holds, key), waiting: at(waiting, key), lineage }
    const { code, details, change } = RULES[rule](fields, args, now, readerOf(own))
    if (change) fields.version = String(Number(fields.version ?? 0) + 1)
    const decision = [code, fields.seq ?? '0', fields.version ?? '0', JSON.stringify(fieldsOf(details))]
    if (!change) return ['rejected', ...decision]
    if (change.ends && fields['@done'] === undefined) fields['@done'] = ' ended'
    states.set(key, fields)
    if (request) requests.set(request, { body: encoded, decision })
    // those for followers only come last
    for (const event of change.events.toSorted(([, a], [, b]) => Number(a === '0') - Number(b === '0'))) {
      if (event[1] !== '0' && change.keeps !== 0) {
        const known = events.get(key) ?? []
        known.push(['ts', String(now), ...event])
        events.set(key, known)
      }
      outbox.push({ rule, key, fields: ['ts', String(now), 'request', request, 'version', fields.version, ...event] })
    }
    for (const [name, dueMs] of change.tasks ?? []) put(tasks, `${rule} ${key} ${name}`, dueMs === null ? null : Number(dueMs))
    for (const [field, value] of change.members ?? []) put(own.members, field, value)
    for (const [user, more] of change.units ?? []) {
      const units = Number(own.members.get(`user ${user}`) ?? 0) + more
      put(own.members, `user ${user}`, units === 0 ? null : String(units))
    }
    for (const [user, place] of change.waiting ?? []) put(own.waiting, user, place === null ? null : Number(place))
    for (const [claim, untilMs] of change.holds ?? []) put(own.holds, claim, untilMs === null ? null : Number(untilMs))
    if (change.holds) put(tasks, `${rule} ${key} expire`, ordered(own.holds)[0]?.[1] ?? null)
    if (change.reopens) reopened++
    return ['accepted', ...decision]
  }

  return {
    states,
    events,
    outbox,
    tasks,
    members,
    holds,
    waiting,
    /** How often the generation grew. */
    get reopened () { return reopened },

    /**
     * @param {Command[]} commands @param {number} now ms since 1970 @param {string} [current] lineage
     * @returns {Decision[]}
     */
    admit (commands, now, current = '') {
      lineage = current
      return commands.map((command) => decisionOf(decide(command, now).join('\n')))
    },

    /** Requests are forgotten when they expire. */
    forgetRequests: () => requests.clear()
  }
}

/** @template T @param {Map<string, Map<string, T>>} maps @param {string} key @returns {Map<string, T>} */
function at (maps, key) {
  const found = maps.get(key) ?? new Map()
  maps.set(key, found)
  return found
}

/** @template T @param {Map<string, T>} map @param {string} name @param {T | null} value null removes */
function put (map, name, value) {
  if (value === null) map.delete(name)
  else map.set(name, value)
}

/** As in a sorted set: of the same number the lesser name first. @param {Map<string, number>} numbers */
const ordered = (numbers) => [...numbers].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))

/**
 * @param {{ members: Map<string, string>, holds: Map<string, number>, waiting: Map<string, number>, lineage: string }} own
 * @returns {import('./index.js').Read}
 */
const readerOf = ({ members, holds, waiting, lineage }) => ({
  member: (field) => members.get(field) ?? null,
  firstHold: () => ordered(holds)[0]?.[1].toString() ?? null,
  holdUntil: (claim) => holds.get(claim)?.toString() ?? null,
  holdsDue: (now, most) => ordered(holds).filter(([, untilMs]) => untilMs <= now).slice(0, most).map(([claim]) => claim),
  waiting: (most) => ordered(waiting).slice(0, most).map(([user]) => user),
  waitingCount: () => waiting.size,
  position: (user) => ordered(waiting).findIndex(([one]) => one === user) + 1,
  lineage: () => lineage
})
