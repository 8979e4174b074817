/** The script and the rules in JavaScript give the same decisions, states, events, outbox and tasks, whatever they are asked. */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import t from 'tap'
import { admit as admitPrepared, admissionKey, createOracle, decisionOf, fieldsOf, prepare } from '../../src/admission/index.js'
import { foldLatest } from '../../src/admission/rules/latest.js'
import { foldStep } from '../../src/admission/rules/step.js'
import { newest } from '../../src/store/embedded/engine.js'
import { isWhole, scoped, scopedEngines } from '../../test/scope.js'
import { connectFor, engineName, startServer } from '../../test/servers.js'

/**
 * @param {import('../../src/store/index.js').Connection} connection @param {(part: string) => string} key
 * @param {{ replicationId: string, requestMs: number, keepMs: number }} options
 * @param {import('../../src/admission/index.js').Command[]} commands
 */
async function admit (connection, key, options, commands) {
  const { replies, ...rest } = await admitPrepared(connection, key, options, commands.map(prepare))
  return { ...rest, decisions: replies.map((reply) => decisionOf(String(reply))) }
}

const SEED = Number(process.env.FRESHET_TEST_SEED ?? randomInt(2 ** 31))
const REQUEST_MS = 600_000
const CODES = ['created', 'unchanged', 'has_bids', 'invalid_times', 'unknown', 'not_open', 'closed', 'ended', 'accepted', 'too_low',
  'self_outbid', 'max_raised', 'no_buy_now', 'bought', 'not_due', 'other_body', 'replay', 'has_claims', 'sold_out', 'all_held',
  'insufficient', 'already_claimed', 'released', 'unknown_claim', 'already_sold', 'hold_expired', 'over_limit', 'other_mode', 'paused',
  'waiting', 'admitted', 'not_admitted', 'restoring', 'stale', 'known', 'failing', 'in_progress', 'too_soon', 'exists', 'has_holds',
  'illegal', 'late']
const USERS = ['a', 'b', 'c']
const KEYS = ['auction', 'sale', 'asset', 'product', 'order', 'customer']

/** @param {import('pure-rand/types/RandomGenerator').RandomGenerator} random */
function createCommands (random) {
  const upTo = (/** @type {number} */ most) => uniformInt(random, 0, most)
  const one = (/** @type {any[]} */ of) => of[upTo(of.length - 1)]
  /** @type {import('../../src/admission/index.js').Command[]} */
  const sent = []
  const mode = one(['direct', 'queue', 'queue', 'token'])

  /** @param {number} now @param {boolean} isNew @returns {string[]} */
  function ofSale (now, isNew) {
    const kind = isNew && upTo(2) > 0 ? 0 : upTo(27)
    const claim = () => `c${upTo(7)}`
    const user = () => one([...USERS, 'd', 'e'])
    const final = () => one(['sold', 'sold', 'pending'])
    if (kind < 2) {
      return ['create', one(['1', '3']), one(['1', '2']), String(now + one([-10, -10, -10, 3])),
        String(now + one([5, 100_000, 100_000, 100_000])),
        one(['0', '3', '100000']), upTo(9) > 0 ? mode : 'direct', one(['1', '2']), one(['0', '0', '0', '0', '0', '1'])]
    }
    if (kind < 20 && (mode === 'queue' ? kind < 3 : kind < 10)) {
      return ['claim', user(), one(['1', '1', '2', '3']), claim(), final(), upTo(9) > 0 ? mode : 'token']
    }
    if (kind < 13) return ['confirm', one([...USERS, '']), claim(), final()]
    if (kind < 15) return ['release', one([...USERS, '']), claim(), ...one([[], [], ['pending']])]
    if (kind < 20) return ['join', user(), claim()]
    if (kind < 23) return [one(['settle', 'leave']), user(), claim()]
    if (kind === 23) return ['expire']
    if (kind === 24) return [one(['open', 'due'])]
    if (kind === 25) return [one(['pause', 'resume', 'resume', 'resume'])]
    if (kind === 26) {
      // as of a table, where each claim is one row
      const rows = Array.from({ length: 1 + upTo(2) }, (_, i) => [`c${upTo(1) + 2 * i}`, user(), '1', one(['sold', 'sold', 'revoked'])])
      return one([['adopt'], ['restore', ...rows.flat()]])
    }
    return upTo(3) > 0 ? ['restock', '1'] : ['close']
  }

  /** @param {number} now @param {boolean} isNew @returns {string[]} */
  function ofAuction (now, isNew) {
    const soon = () => String(now + one([-5, 2, 5, 20, 100_000]))
    const kind = isNew && upTo(2) > 0 ? 0 : upTo(19)
    if (kind < 3) {
      return ['create', one(['0', '100']), one(['1', '50']), one([String(now - 10), soon()]), soon(), one(['0', '5', '200000']),
        one(['0', '3', '400000']), one(['', '500']), one(['', '300']), 'EUR']
    }
    if (kind === 3) return ['buy', one(USERS)]
    if (kind === 4) return ['close']
    if (kind === 5) return ['due']
    const amount = upTo(400)
    return ['bid', one(USERS), String(amount), one(['', '', String(amount), String(amount + 30), String(amount + 200)])]
  }

  /** @param {number} now @param {boolean} isNew @returns {string[]} */
  function ofAsset (now, isNew) {
    const kind = isNew && upTo(2) > 0 ? 0 : upTo(19)
    const tiers = () => one(['2 4 20 30 60 300 7 8 9', '5000 10000 60000 30000 60000 300000 300000 600000 1800000'])
    const tier = () => one(['hot', 'medium', 'cold', ''])
    if (kind < 2) return ['set', tier(), one(['0', '0', '1', '']), tiers(), String(upTo(999))]
    if (kind === 2) return ['tier', tier(), one(['0', '0', '1', ''])]
    if (kind < 9) return ['price', String(now - one([0, 0, 3, 3000, 100_000])), `${upTo(99)}.5`, '[{"exchange":"alpha"}]']
    if (kind < 13) return ['fail', String(now - one([0, 0, 3, 3000])), one(['no_quorum', 'moved']), one(['', '7']), '[]']
    if (kind < 18) return [one(['want', 'force'])]
    return ['asked', one(['1', '10', '100', '1000'])]
  }
  /** @param {number} now @param {boolean} isNew @returns {string[]} */
  function ofProduct (now, isNew) {
    const kind = isNew && upTo(2) > 0 ? 0 : upTo(19)
    const [user, claim] = [one(['o', 'r']), `c${upTo(7)}`]
    if (kind < 2) return ['create', '4', '1000000', '0', '2000000000000', '0', 'direct', '1', '0', one(['3', '100000']), '{"name":"a"}']
    if (kind < 9) return ['claim', user, one(['1', '1', '2', '5']), claim, 'sold', 'direct', one(['', '', '3', '100000'])]
    if (kind < 13) return ['confirm', user, claim, 'sold']
    if (kind < 17) return ['release', user, claim]
    if (kind === 17) return ['expire']
    return kind === 18 ? ['restock', '1'] : [one(['remove', 'close'])]
  }

  /** @param {number} now @param {boolean} isNew @returns {string[]} */
  function ofOrder (now, isNew) {
    const lines = '[{"sku":"a","quantity":1,"price":500}]'
    const place = ['place', one(['ann', 'ann', 'bob']), '500', lines, 'here', one(['2', '100000']), 'x']
    if (isNew && upTo(2) > 0) return place
    return one([place, ['held'], ['held'], ['capture_requested', 'p1'], ['capture_requested', ''], ['captured'], ['confirmed'],
      ['declined', 'out_of_stock'], ['cancel_requested'], ['deadline'], ['cancelled'], ['check'], ['checked'], ['park', 'why'], ['resume']])
  }

  const OF = /** @type {Record<string, [rule: string, argsOf: (now: number, isNew: boolean) => string[]]>} */ ({
    auction: ['max', ofAuction],
    sale: ['bounded', ofSale],
    asset: ['latest', ofAsset],
    product: ['bounded', ofProduct],
    order: ['step', ofOrder],
    customer: ['once', () => ['create', one(['a', 'b'])]]
  })

  return {
    upTo,

    /** @param {number} now @returns {import('../../src/admission/index.js').Command} */
    next (now) {
      if (sent.length > 0 && upTo(9) === 0) {
        const again = one(sent)
        return upTo(3) === 0 ? { ...again, args: OF[again.key][1](now, false) } : again
      }
      const key = one(KEYS)
      const [rule, argsOf] = OF[key]
      const isNew = !sent.some((command) => command.key === key)
      const requestId = upTo(3) === 0 ? '' : String(sent.length)
      const command = { rule, key, args: argsOf(now, isNew), scope: one(USERS), requestId }
      sent.push(command)
      return command
    }
  }
}

/** @param {import('../../src/store/index.js').Connection} connection */
const replicationIdOf = async (connection) =>
  String(/master_replid:(\w+)/.exec(String(await connection.send('INFO', 'replication')))?.[1])

/** @template T @param {(name: string) => Promise<T>} read @returns {Promise<Record<string, T>>} */
const ofEach = async (read) => Object.fromEntries(await Promise.all(KEYS.map(async (name) => [name, await read(name)])))

/** What a partition holds. @param {import('../../src/store/index.js').Connection} connection @param {(part: string) => string} key */
async function contentOf (connection, key) {
  const texts = (/** @type {any} */ reply) => reply.map(String)
  const entries = async (/** @type {string} */ stream) => (await connection.send('XRANGE', stream, '-', '+'))
    .map((/** @type {any} */ [id, fields]) => ({ id: String(id), fields: texts(fields) }))
  const fieldsOf = (/** @type {string[]} */ flat) =>
    Object.fromEntries(Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]))
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
  events: Object.fromEntries(KEYS.map((name) => [name, events.get(name) ?? []])),
  members: Object.fromEntries(KEYS.map((name) => [name, Object.fromEntries(members.get(name) ?? [])])),
  holds: Object.fromEntries(KEYS.map((name) =>
    [name, Object.fromEntries([...holds.get(name) ?? []].map(([claim, untilMs]) => [claim, String(untilMs)]))])),
  waiting: Object.fromEntries(KEYS.map((name) =>
    [name, Object.fromEntries([...waiting.get(name) ?? []].map(([user, place]) => [user, String(place)]))])),
  outbox: outbox.map(({ rule, key, fields }) => ({ atMs: fields[1], fields: ['rule', rule, 'key', key, ...fields] })),
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

const engines = await scopedEngines()
for (const engine of engines) {
  const isNewest = engine === newest(engines)
  const sequences = isNewest ? scoped(2000, 300) : 500
  t.test(`${engineName(engine)}: ${sequences} random sequences, seed ${SEED}`, async (t) => {
    const connection = await connectFor(t, (await startServer(t, { engine })).url)
    const replicationId = await replicationIdOf(connection)
    const random = xoroshiro128plus(SEED)
    const terms = { replicationId, requestMs: REQUEST_MS, keepMs: REQUEST_MS }
    /** @type {Record<string, number>} */
    const codes = {}
    for (let n = 0; n < sequences; n++) {
      const key = admissionKey('fr:', `s${n}`, 0)
      const { next, upTo } = createCommands(random)
      const oracle = createOracle()
      for (let call = upTo(12); call >= 0; call--) {
        const commands = Array.from({ length: 1 + upTo(7) }, () => next(Date.now()))
        const { decisions, now, generation } = await admit(connection, key, terms, commands)
        const expected = oracle.admit(commands, now, generation.split('.')[0])
        for (const { code, isReplay } of decisions) {
          const name = isReplay ? 'replay' : code
          codes[name] = (codes[name] ?? 0) + 1
        }
        if (JSON.stringify(decisions) !== JSON.stringify(expected)) {
          t.same(decisions, expected, `sequence ${n}: ${JSON.stringify(commands)}`)
          return
        }
        const wrong = unequal(oracle, 'sale') ?? unequal(oracle, 'product') ?? misfolded(oracle) ?? misstepped(oracle)
        if (wrong) return t.fail(`sequence ${n}: ${wrong}: ${JSON.stringify(commands)}`)
        if (!generation.endsWith(`.${oracle.reopened}`)) return t.equal(generation, oracle.reopened, `sequence ${n}`)
        if (upTo(3) === 0) await sleep(upTo(6))
      }
      const [found, due] = [await contentOf(connection, key), contentOfOracle(oracle)]
      if (JSON.stringify(sorted(found)) !== JSON.stringify(sorted(due))) return t.same(found, due, `sequence ${n}`)
      await connection.send('FLUSHALL')
    }
    t.comment(codes)
    if (isWhole && isNewest) t.same(CODES.filter((code) => !codes[code]), [], 'every decision occurs')
    t.notOk(codes.failed)
  })
}

/** @param {any} value @returns {any} objects with their names in order */
const sorted = (value) => Array.isArray(value)
  ? value.map(sorted)
  : value !== null && typeof value === 'object'
    ? Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])]))
    : value
