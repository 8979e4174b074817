/**
 * A partition in memory, decided by the rule in JavaScript: what lua/admit.lua does with rule `max`.
 *
 * @typedef {import('./index.js').Fields} Fields
 * @typedef {import('../../src/admission/index.js').Command} Command
 * @typedef {import('../../src/admission/index.js').Decision} Decision
 */
import { decisionOf, fieldsOf, prepare } from '../../src/admission/index.js'
import { RULES } from './index.js'

export function createOracle () {
  /** @type {Map<string, Fields>} */
  const states = new Map()
  /** @type {Map<string, string[][]>} */
  const events = new Map()
  /** @type {{ key: string, rule: string, fields: string[] }[]} */
  const outbox = []
  /** @type {Map<string, number>} */
  const tasks = new Map()
  /** @type {Map<string, { body: string, decision: string[] }>} */
  const requests = new Map()

  /** @param {Command} command @param {number} now @returns {string[]} as the script returns it */
  function decide (command, now) {
    const { rule, key, args } = command
    const { request, encoded } = prepare(command)
    const stored = request && requests.get(request)
    if (stored) return stored.body === encoded ? ['replay', ...stored.decision] : ['other_body', '', '0', '0', '{}']
    const fields = { ...states.get(key) }
    const { code, details, change } = RULES[rule](fields, args, now)
    if (change) fields.version = String(Number(fields.version ?? 0) + 1)
    const decision = [code, fields.seq ?? '0', fields.version ?? '0', JSON.stringify(fieldsOf(details))]
    if (!change) return ['rejected', ...decision]
    if (change.ends && fields['@done'] === undefined) fields['@done'] = ' ended'
    states.set(key, fields)
    if (request) requests.set(request, { body: encoded, decision })
    for (const event of change.events) {
      if (event[1] !== '0') events.set(key, [...events.get(key) ?? [], ['ts', String(now), ...event]])
      outbox.push({ rule, key, fields: ['ts', String(now), 'request', request, 'version', fields.version, ...event] })
    }
    for (const [name, dueMs] of change.tasks ?? []) {
      if (dueMs === null) tasks.delete(`${rule} ${key} ${name}`)
      else tasks.set(`${rule} ${key} ${name}`, Number(dueMs))
    }
    return ['accepted', ...decision]
  }

  return {
    states,
    events,
    outbox,
    tasks,

    /** @param {Command[]} commands @param {number} now ms since 1970 @returns {Decision[]} */
    admit: (commands, now) => commands.map((command) => decisionOf(decide(command, now).join('\n')))
  }
}
