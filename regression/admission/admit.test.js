/**
 * Random commands to all rules. Rule `max` has a twin in JavaScript (lab/rules), which decides, stores and reports the same; of the others,
 * and of `max` too, named invariants hold after each command (invariants.js).
 */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import t from 'tap'
import { createOracle } from '../../lab/rules/oracle.js'
import { admissionKey, fieldsOf } from '../../src/admission/index.js'
import { OURS } from '../../src/admission/rules.js'
import { admit } from '../../test/admission/admit.js'
import { newest } from '../../src/embedded/engine.js'
import { isWhole, nightly, scoped, scopedEngines } from '../../test/scope.js'
import { connectFor, engineName, startServer } from '../../test/servers.js'
import { contentOf, EMPTY } from './content.js'
import { brokenBy, brokenByCall } from './invariants.js'
import { createCommands } from './random-commands.js'

const SEED = Number(process.env.FRESHET_TEST_SEED ?? randomInt(2 ** 31))
const REQUEST_MS = 600_000
const CODES = ['created', 'unchanged', 'has_bids', 'invalid_times', 'unknown', 'not_open', 'closed', 'ended', 'accepted', 'too_low',
  'self_outbid', 'max_raised', 'no_buy_now', 'bought', 'not_due', 'other_body', 'replay', 'has_claims', 'sold_out', 'all_held',
  'insufficient', 'already_claimed', 'released', 'unknown_claim', 'already_sold', 'hold_expired', 'over_limit', 'other_mode', 'paused',
  'waiting', 'admitted', 'not_admitted', 'restoring', 'stale', 'known', 'failing', 'in_progress', 'too_soon', 'exists', 'has_holds',
  'illegal', 'late']
/** @param {import('../../src/store/index.js').Connection} connection */
const replicationIdOf = async (connection) =>
  String(/master_replid:(\w+)/.exec(String(await connection.send('INFO', 'replication')))?.[1])

/** @typedef {import('./content.js').Content} Content */

const TWIN = 'auction'

/** What a partition holds of the key that has a twin. @param {Content} content */
const twinPart = ({ states, events, outbox, tasks }) => ({
  state: states[TWIN],
  events: events[TWIN],
  outbox: outbox.filter(({ fields }) => fields.key === TWIN).map(({ id, fields }) => ({ atMs: id.split('-')[0], fields })),
  tasks: Object.fromEntries(Object.entries(tasks).filter(([name]) => name.startsWith('max ')))
})

/** @param {ReturnType<typeof createOracle>} oracle */
const contentOfOracle = ({ states, events, outbox, tasks }) => ({
  state: states.get(TWIN) ?? {},
  events: (events.get(TWIN) ?? []).map(fieldsOf),
  outbox: outbox.map(({ rule, key, fields }) => ({ atMs: fields[1], fields: { rule, key, ...fieldsOf(fields) } })),
  tasks: Object.fromEntries([...tasks].map(([name, dueMs]) => [name, String(dueMs)]))
})

/**
 * A rejection that the rejection cache would answer is one, with the same details if the reason is the same.
 * @param {import('./invariants.js').Step} step @returns {string | null} what is wrong
 */
function uncertain ({ before, after, command: { rule, key, args }, decision: { code, details, isReplay } }) {
  const certain = before.states[key].status && OURS.certain[rule]?.(before.states[key], args)
  if (!certain || isReplay) return null
  if (!isSame(before.states[key], after.states[key])) return `${certain.code} is not certain: ${code}`
  return code !== certain.code || isSame(details, fieldsOf(certain.details)) ? null : `details of ${code}`
}

/**
 * The same request again is a replay, with another body it is refused.
 * @param {Map<string, any>} stored decisions by request @param {import('./invariants.js').Step} step
 */
function misremembered (stored, { command: { key, rule, scope, requestId, args }, decision }) {
  if (requestId === '') return decision.isReplay ? 'a replay without a request' : null
  const name = JSON.stringify([key, scope, requestId])
  const [body, known] = [JSON.stringify([rule, args]), stored.get(name)]
  if (known === undefined) {
    if (decision.accepted) stored.set(name, { body, decision })
    return decision.isReplay ? 'a replay of nothing' : null
  }
  if (known.body !== body) return decision.code === 'other_body' ? null : 'another body of a request was taken'
  return isSame(decision, { ...known.decision, isReplay: true }) ? null : 'a request again was decided again'
}

/** @param {import('./invariants.js').Step} step @returns {string} without what is not of its key */
function shown ({ before, after, command, decision, now }) {
  const of = (/** @type {any} */ content) =>
    Object.fromEntries(Object.entries(content).map(([part, all]) => [part, all[command.key] ?? all]))
  return JSON.stringify({ command, decision, now, before: of(before), after: of(after) })
}

const engines = await scopedEngines()
for (const engine of engines) {
  const isNewest = engine === newest(engines)
  const sequences = isNewest ? scoped(nightly(800, 80), 40) : nightly(200, 20)
  t.test(`${engineName(engine)}: ${sequences} random sequences, seed ${SEED}`, async (t) => {
    const connection = await connectFor(t, (await startServer(t, { engine })).url)
    const replicationId = await replicationIdOf(connection)
    const random = xoroshiro128plus(SEED)
    const terms = { replicationId, requestMs: REQUEST_MS, keepMs: REQUEST_MS }
    /** @type {Record<string, number>} */
    const codes = {}
    const missing = () => CODES.filter((code) => !codes[code])
    // the rarest decisions occur once in hundreds of sequences: there are more until each has occurred
    const most = isWhole && isNewest ? 3200 : sequences
    for (let n = 0; n < sequences || (n < most && missing().length > 0); n++) {
      const key = admissionKey('fr:', `s${n}`, 0)
      const { next, upTo } = createCommands(random)
      const [oracle, stored] = [createOracle(), new Map()]
      let before = EMPTY
      let was = '0'
      for (let call = upTo(40); call >= 0; call--) {
        const commands = Array.from({ length: 1 + upTo(5) }, () => next(Date.now()))
        const { decisions, now, generation } = await admit(connection, key, terms, commands)
        for (const { code, isReplay } of decisions) codes[isReplay ? 'replay' : code] = (codes[isReplay ? 'replay' : code] ?? 0) + 1
        const names = [...new Set(commands.map((command) => command.key))]
        const after = await contentOf(connection, key, names, before)
        /** @type {import('./invariants.js').Step[]} */
        const steps = []
        for (const [i, command] of commands.entries()) {
          /** @type {import('./invariants.js').Step} */
          const step = { before, after, command, decision: decisions[i], now }
          steps.push(step)
          // of a key with one command it is known what it changed
          const isOnly = commands.filter((other) => other.key === command.key).length === 1
          const due = step.command.key === TWIN ? oracle.admit([step.command], now)[0] : step.decision
          const wrong = isSame(step.decision, due)
            ? misremembered(stored, step) ?? (isOnly ? uncertain(step) ?? brokenBy(step) : null)
            : `the twin decides ${JSON.stringify(due)}`
          if (wrong) return t.fail(`sequence ${n}: ${wrong}: ${shown(step)}`)
        }
        const grown = brokenByCall(steps, [was, generation])
        if (grown) return t.fail(`sequence ${n}: ${grown}: ${JSON.stringify(commands)}`)
        const [found, due] = names.includes(TWIN) ? [twinPart(after), contentOfOracle(oracle)] : []
        if (!isSame(found, due)) return t.same(found, due, `sequence ${n}`)
        ;[before, was] = [after, generation]
        if (upTo(3) === 0) await sleep(upTo(6))
      }
      await connection.send('FLUSHALL')
    }
    t.comment(codes)
    if (isWhole && isNewest) t.same(missing(), [], 'every decision occurs')
    t.notOk(codes.failed)
  })
}

/** Whatever the order of names. @param {unknown} found @param {unknown} expected */
const isSame = (found, expected) => found === expected || JSON.stringify(sorted(found)) === JSON.stringify(sorted(expected))

/** @param {any} value @returns {any} objects with their names in order */
const sorted = (value) => Array.isArray(value)
  ? value.map(sorted)
  : value !== null && typeof value === 'object'
    ? Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])]))
    : value
