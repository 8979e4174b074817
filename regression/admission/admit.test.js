/** The script and the rules in JavaScript give the same decisions, states, events, outbox and tasks, whatever they are asked. */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import t from 'tap'
import { createOracle } from '../../lab/rules/oracle.js'
import { admissionKey, fieldsOf } from '../../src/admission/index.js'
import { OURS } from '../../src/admission/rules/index.js'
import { foldLatest } from '../../src/admission/rules/latest.js'
import { foldStep } from '../../src/admission/rules/step.js'
import { admit } from '../../test/admission/admit.js'
import { newest } from '../../src/embedded/engine.js'
import { isWhole, nightly, scoped, scopedEngines } from '../../test/scope.js'
import { connectFor, engineName, startServer } from '../../test/servers.js'
import { createCommands, KEYS } from './random-commands.js'

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

/** @template T @param {(name: string) => Promise<T>} read @returns {Promise<Record<string, T>>} */
const ofEach = async (read) => Object.fromEntries(await Promise.all(KEYS.map(async (name) => [name, await read(name)])))

/** What a partition holds. @param {import('../../src/store/index.js').Connection} connection @param {(part: string) => string} key */
async function contentOf (connection, key) {
  const texts = (/** @type {any} */ reply) => reply.map(String)
  const entries = async (/** @type {string} */ stream) => (await connection.send('XRANGE', stream, '-', '+'))
    .map((/** @type {any} */ [id, fields]) => ({ id: String(id), fields: fieldsOf(texts(fields)) }))
  return {
    states: await ofEach(async (name) => fieldsOf(texts(await connection.send('HGETALL', key(`state:${name}`))))),
    events: await ofEach(async (name) => (await entries(key(`events:${name}`))).map(({ fields }) => fields)),
    members: await ofEach(async (name) => fieldsOf(texts(await connection.send('HGETALL', key(`members:${name}`))))),
    holds: await ofEach(async (name) => fieldsOf(texts(await connection.send('ZRANGE', key(`holds:${name}`), 0, -1, 'WITHSCORES')))),
    outbox: (await entries(key('outbox'))).map(({ id, fields }) => ({ atMs: id.split('-')[0], fields })),
    waiting: await ofEach(async (name) => fieldsOf(texts(await connection.send('ZRANGE', key(`waiting:${name}`), 0, -1, 'WITHSCORES')))),
    tasks: fieldsOf(texts(await connection.send('ZRANGE', key('tasks'), 0, -1, 'WITHSCORES')))
  }
}

/** @param {ReturnType<typeof createOracle>} oracle */
const contentOfOracle = ({ states, events, outbox, tasks, members, holds, waiting }) => ({
  states: Object.fromEntries(KEYS.map((name) => [name, states.get(name) ?? {}])),
  events: Object.fromEntries(KEYS.map((name) => [name, (events.get(name) ?? []).map(fieldsOf)])),
  members: Object.fromEntries(KEYS.map((name) => [name, Object.fromEntries(members.get(name) ?? [])])),
  holds: Object.fromEntries(KEYS.map((name) =>
    [name, Object.fromEntries([...holds.get(name) ?? []].map(([claim, untilMs]) => [claim, String(untilMs)]))])),
  waiting: Object.fromEntries(KEYS.map((name) =>
    [name, Object.fromEntries([...waiting.get(name) ?? []].map(([user, place]) => [user, String(place)]))])),
  outbox: outbox.map(({ rule, key, fields }) => ({ atMs: fields[1], fields: { rule, key, ...fieldsOf(fields) } })),
  tasks: Object.fromEntries([...tasks].map(([name, dueMs]) => [name, String(dueMs)]))
})

/** What is wrong with the units of a key. @param {ReturnType<typeof createOracle>} oracle @param {string} key */
function unequal ({ states, members, holds }, key) {
  const { stock, available, held, sold, lineage, rememberMs } = states.get(key) ?? {}
  if (stock === undefined || lineage === '') return null
  if (Number(available) + Number(held) + Number(sold) !== Number(stock)) return `${available} + ${held} + ${sold} is not ${stock}`
  if (lineage === undefined && Number(available) < 0) return `${available} available`
  /** @type {Record<string, number>} */
  const units = {}
  for (const [field, value] of members.get(key) ?? []) {
    const [status, quantity, user] = value.split(' ')
    if (field.startsWith('user ')) units[field.slice(5)] = (units[field.slice(5)] ?? 0) - Number(value)
    else if (['held', 'pending', 'sold'].includes(status)) units[user] = (units[user] ?? 0) + Number(quantity)
    const isTimed = holds.get(key)?.has(field.slice(6)) ?? false
    if (rememberMs === undefined && status === 'held' !== isTimed) return `${field} ${value} and its hold differ`
  }
  return Object.entries(units).find(([, left]) => left !== 0)?.join(': ') ?? null
}

/** fields that readers serve */
const SERVED = Object.freeze(['seq', 'price', 'ts', 'sources', 'soft', 'hard', 'tier', 'failures', 'reason', 'retryAt', 'candidate'])

/** Versions of the order have no gaps, and its events make its status. @param {ReturnType<typeof createOracle>} oracle */
function misstepped ({ states, events }) {
  const state = states.get('order')
  if (state === undefined) return null
  const [first, ...rest] = (events.get('order') ?? []).map(fieldsOf)
  const folded = { ...first }
  rest.forEach((event, i) => {
    if (Number(event.seq) !== i + 2) folded.status = `a gap before ${event.seq}`
    foldStep(folded, event)
  })
  return ['seq', 'status', 'reason'].find((field) => folded[field] !== state[field]) ?? null
}

/** A field that the events of the asset do not make of its first state. @param {ReturnType<typeof createOracle>} oracle */
function misfolded ({ states, events }) {
  const state = states.get('asset')
  if (state === undefined) return null
  const folded = /** @type {Record<string, string>} */ ({
    ...{ seq: '0', price: '', ts: '0', sources: '[]', soft: '0', hard: '0', tier: state.tier },
    ...{ failures: '0', reason: '', retryAt: '0', candidate: '' }
  })
  for (const event of events.get('asset') ?? []) foldLatest(folded, fieldsOf(event))
  return SERVED.find((field) => folded[field] !== state[field]) ?? null
}

/**
 * What the rejection cache would answer.
 * @param {ReturnType<typeof createOracle>} oracle @param {import('../../src/admission/index.js').Command} command
 */
function certainOf ({ states }, { rule, key, args }) {
  const before = states.get(key)
  return { before, certain: before && OURS.certain[rule]?.(before, args) }
}

/**
 * A rejection that is certain is one, with the same details if the reason is the same.
 * @param {import('tap').Test} t
 * @param {{ certain: import('../../src/admission/rules/index.js').Rejection, before: any, after: any,
 *   decision: import('../../src/admission/index.js').Decision }} found
 */
function isRejected (t, { certain, before, after, decision: { code, details, isReplay } }) {
  if (isReplay) return
  if (before.version !== after.version) t.fail(`${certain.code} is not certain: ${code}`)
  if (code === certain.code) t.same(details, fieldsOf(certain.details))
}

const engines = await scopedEngines()
for (const engine of engines) {
  const isNewest = engine === newest(engines)
  const sequences = isNewest ? scoped(nightly(2000, 200), 150) : nightly(500, 50)
  t.test(`${engineName(engine)}: ${sequences} random sequences, seed ${SEED}`, async (t) => {
    const connection = await connectFor(t, (await startServer(t, { engine })).url)
    const replicationId = await replicationIdOf(connection)
    const random = xoroshiro128plus(SEED)
    const terms = { replicationId, requestMs: REQUEST_MS, keepMs: REQUEST_MS }
    /** @type {Record<string, number>} */
    const codes = {}
    const missing = () => CODES.filter((code) => !codes[code])
    // the rarest decisions occur once in hundreds of sequences: there are more until each has occurred
    const most = isWhole && isNewest ? 8000 : sequences
    for (let n = 0; n < sequences || (n < most && missing().length > 0); n++) {
      const key = admissionKey('fr:', `s${n}`, 0)
      const { next, upTo } = createCommands(random)
      const oracle = createOracle()
      for (let call = upTo(12); call >= 0; call--) {
        const commands = Array.from({ length: 1 + upTo(7) }, () => next(Date.now()))
        const { decisions, now, generation } = await admit(connection, key, terms, commands)
        const expected = commands.map((command) => {
          const { certain, before } = certainOf(oracle, command)
          const [decision] = oracle.admit([command], now, generation.split('.')[0])
          if (certain) isRejected(t, { certain, before, decision, after: oracle.states.get(command.key) })
          return decision
        })
        for (const { code, isReplay } of decisions) {
          const name = isReplay ? 'replay' : code
          codes[name] = (codes[name] ?? 0) + 1
        }
        if (!isSame(decisions, expected)) return t.same(decisions, expected, `sequence ${n}: ${JSON.stringify(commands)}`)
        const wrong = unequal(oracle, 'sale') ?? unequal(oracle, 'product') ?? misfolded(oracle) ?? misstepped(oracle)
        if (wrong) return t.fail(`sequence ${n}: ${wrong}: ${JSON.stringify(commands)}`)
        if (!generation.endsWith(`.${oracle.reopened}`)) return t.equal(generation, oracle.reopened, `sequence ${n}`)
        if (upTo(3) === 0) await sleep(upTo(6))
      }
      const [found, due] = [await contentOf(connection, key), contentOfOracle(oracle)]
      if (!isSame(found, due)) return t.same(found, due, `sequence ${n}`)
      await connection.send('FLUSHALL')
    }
    t.comment(codes)
    if (isWhole && isNewest) t.same(missing(), [], 'every decision occurs')
    t.notOk(codes.failed)
  })
}

/** Whatever the order of names. @param {unknown} found @param {unknown} expected */
const isSame = (found, expected) => JSON.stringify(sorted(found)) === JSON.stringify(sorted(expected))

/** @param {any} value @returns {any} objects with their names in order */
const sorted = (value) => Array.isArray(value)
  ? value.map(sorted)
  : value !== null && typeof value === 'object'
    ? Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])]))
    : value
