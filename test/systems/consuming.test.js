/** Followers, consumers and scheduled tasks of a system of a user. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { admissionKey } from '../../src/admission/index.js'
import { createDeadLetters } from '../../src/consumers/index.js'
import { openSystem } from '../../src/systems/index.js'
import { scopedEngines } from '../scope.js'
import { connectFor, eventually, startServer } from '../servers.js'
import { sharedDeployment } from '../shared.js'
import { openSeats, ruleOf } from './seats.js'

const { primary: { url: redisUrl }, keyPrefix: prefix } = await sharedDeployment(t)
const connection = await connectFor(t, redisUrl)
let prefixes = 0
const options = () => ({ redisUrl, keyPrefix: `${prefix}${++prefixes}:`, partitions: 2 })
const LOG = ruleOf("return 'logged', {}, { events = { { type = 'logged', text = args[1] } } }")

/** @param {{ keyPrefix: string }} where */
function lettersOf ({ keyPrefix }) {
  const keyOf = (/** @type {number} */ partition) => admissionKey(keyPrefix, 'seats', partition, 2)
  return createDeadLetters({ connectionOf: () => connection, keyOf, partitions: 2 })
}

t.test('a follower gets all events from its place on, in order, and ends by signal and by close', async (t) => {
  const { system, submit } = await openSeats(t, options(), { lua: LOG })
  await Promise.all(Array.from({ length: 700 }, (_, i) => submit('a', String(i + 1))))
  const seen = /** @type {any[]} */ ([])
  const stop = new AbortController()
  const warnings = /** @type {Error[]} */ ([])
  process.on('warning', (warning) => warnings.push(warning))
  const others = Array.from({ length: 20 }, async () => { for await (const { seq } of system.follow('c')) t.equal(seq, 1) })
  const following = (async () => { for await (const event of system.follow('a', { after: 2, signal: stop.signal })) seen.push(event) })()
  const whole = (async () => { for await (const { seq } of system.follow('b')) t.equal(seq, 1) })()
  await eventually(() => seen.length === 698)
  await submit('a', 'last')
  await submit('b', 'only')
  await eventually(() => seen.length === 699)
  t.same(seen.map(({ seq }) => seq), Array.from({ length: 699 }, (_, i) => i + 3))
  t.match(seen[0], { seq: 3, type: 'logged', ts: Number, text: '3' })
  stop.abort()
  await following
  await system.close()
  await Promise.all([whole, ...others])
  t.same(warnings, [])
})

t.test('events that are no longer kept end a follower with the state to go on from, and so does another generation', async (t) => {
  const where = options()
  const { system, submit } = await openSeats(t, where, {
    lua: ruleOf(`state.n = (state.n or 0) + 1
    return 'counted', {}, { events = { { type = 'counted', n = state.n } }, reopens = args[1] == 'reopen' }`),
    keepEvents: 10
  })
  /** @param {number} after */
  const first = async (after) => (await system.follow('a', { after }).next()).value
  for (let i = 0; i < 300; i++) submit('a', 'count')
  await submit('a', 'count')
  const error = await first(0).catch((/** @type {any} */ error) => error)
  t.match(error, { code: 'EVENTS_TRIMMED', state: { n: '301' }, seq: 301 })
  t.ok(error.firstSeq > 1 && error.firstSeq <= 292, `${error.firstSeq} is the first`)
  t.equal((await first(error.firstSeq - 1))?.seq, error.firstSeq)
  await t.rejects(first(400), { code: 'GENERATION_CHANGED' })
  await t.rejects(first(-1), { code: 'ARGUMENT_INVALID' })
  const changed = (async () => {
    for await (const { seq } of system.follow('a', { after: 300 })) if (seq === 301) await submit('a', 'reopen')
  })()
  await t.rejects(changed, { code: 'GENERATION_CHANGED' })
})

t.test('a follower does not go on in the history of another server', async (t) => {
  const [engine] = await scopedEngines()
  const server = await startServer(t, { engine })
  const { system, submit } = await openSeats(t, { redisUrl: server.url, keyPrefix: 'fr:', partitions: 1 }, { lua: LOG })
  for (const text of ['1', '2']) await submit('a', text)
  const seen = /** @type {any[]} */ ([])
  const following = (async () => { for await (const { text } of system.follow('a')) seen.push(text) })()
  await eventually(() => seen.length === 2)
  const ended = t.rejects(following, { code: 'GENERATION_CHANGED' })
  // empty, at the same address
  await server.restart()
  for (const text of ['x', 'y', 'z']) await eventually(() => submit('a', text))
  await ended
  t.same(seen, ['1', '2'])
})

t.test('a consumer gets every entry, from the oldest on, in order per key, and another one goes on behind its cursor', async (t) => {
  const where = options()
  const { system, submit } = await openSeats(t, where, { lua: LOG })
  await submit('a', '1')
  const seen = /** @type {any[]} */ ([])
  const worker = await system.consume('receipts', async (entries, { partition, token, signal }) => {
    for (const entry of entries) seen.push({ entry, partition, token, isSignal: signal instanceof AbortSignal })
  })
  for (let i = 2; i <= 50; i++) await submit(i % 2 ? 'a' : 'b', String(i))
  await eventually(() => seen.length === 50)
  t.match(seen[0], { entry: { id: /^\d+-\d+$/, rule: 'seat', key: 'a', seq: 1, type: 'logged', ts: Number, text: '1' }, token: 1, isSignal: true })
  t.same(Object.keys(seen[0].entry), ['id', 'rule', 'key', 'seq', 'type', 'ts', 'text'])
  const seqs = Array.from({ length: 25 }, (_, i) => i + 1)
  for (const key of ['a', 'b']) t.same(seen.flatMap(({ entry }) => entry.key === key ? [entry.seq] : []), seqs)
  await worker.close()
  await submit('a', 'next')
  const next = /** @type {any[]} */ ([])
  await system.consume('receipts', (entries, { token }) => { next.push(...entries.map(({ text }) => [text, token])) })
  await eventually(() => next.length > 0)
  t.same(next, [['next', 2]])
  const other = /** @type {any[]} */ ([])
  await system.consume('mails', (entries) => { other.push(...entries) })
  await eventually(() => other.length === 51)
})

t.test('an entry whose handler fails is tried again, then it is a dead letter and the partition goes on', async (t) => {
  const where = options()
  const { system, submit } = await openSeats(t, where, { lua: LOG })
  const calls = /** @type {string[]} */ ([])
  let isMended = false
  const texts = ['1', 'flaky', 'bad', '4']
  for (const text of texts) await submit('a', text)
  await system.consume('receipts', async (entries) => {
    const names = entries.map(({ text }) => String(text)).join(' ')
    calls.push(names)
    if (names === 'flaky' && calls.filter((one) => one === 'flaky').length < 2) throw new Error('at first')
    if (names.includes('bad') && !isMended) throw new Error('no printer')
  }, { attempts: 2 })
  await eventually(() => calls.includes('4'))
  t.same(calls, ['1 flaky bad 4', '1', 'flaky', 'flaky', 'bad', 'bad', '4'])
  await eventually(() => system.account.deadLetters === 1)
  const { items: [letter] } = await lettersOf(where).list({ after: null, limit: 10 })
  t.match(letter, { consumer: 'receipts', key: 'a', reason: 'no printer', attempts: 2, fields: { text: 'bad' } })
  isMended = true
  await lettersOf(where).replay(letter.id)
  await eventually(() => calls.length === 8)
  t.equal(calls[7], 'bad')
})

t.test('a handler that outlasts its lease and ignores the signal does not run twice at once, then has a higher token', async (t) => {
  const where = options()
  const { system, submit } = await openSeats(t, where, { lua: LOG })
  let running = 0
  let most = 0
  const tokens = /** @type {number[]} */ ([])
  /** @type {(value?: unknown) => void} */
  let release = () => {}
  const held = new Promise((resolve) => { release = resolve })
  /** @type {AbortSignal | null} */
  let first = null
  const handler = async (/** @type {any} */ _, /** @type {any} */ { token, signal }) => {
    first ??= signal
    most = Math.max(most, ++running)
    tokens.push(token)
    if (tokens.length === 1) await held
    running--
  }
  await system.consume('receipts', handler)
  await submit('a', '1')
  await eventually(() => running === 1)
  for (const partition of [0, 1]) {
    // another process takes the lease
    const owner = admissionKey(where.keyPrefix, 'seats', partition, 2)('owner:receipts')
    await connection.send('HSET', owner, 'id', 'other', 'token', 7, 'until', 0)
  }
  await eventually(() => first?.aborted)
  await sleep(500)
  t.equal(tokens.length, 1)
  release()
  await eventually(() => tokens.length === 2)
  t.equal(most, 1)
  t.ok(tokens[1] > 7, 'the entry was not done, so it is handed over again, under a higher token')
})

t.test('scheduled tasks run where a process consumes or runs tasks, once each, and can be moved and removed', async (t) => {
  const where = options()
  const { system, submit, code } = await openSeats(t, where, {
    lua: ruleOf(`if args[1] == 'plan' then
      return 'planned', {}, { tasks = { ['ring:1'] = args[2] ~= '' and string.format('%.0f', now + tonumber(args[2])) or false } }
    elseif args[1] == 'ring:1' then
      state.rings = (state.rings or 0) + 1
      return 'rung', {}, { events = { { type = 'rung' } } }
    end
    return 'unknown', {}`)
  })
  await submit('moved', 'plan', '1')
  await submit('moved', 'plan', '400')
  await submit('removed', 'plan', '1')
  await submit('removed', 'plan', '')
  await submit('soon', 'plan', '1')
  await sleep(100)
  t.equal((await system.get('soon'))?.version, 1, 'no process runs tasks')
  await Promise.all([system.consume('receipts', () => {}), system.runTasks(), system.runTasks()])
  await eventually(async () => (await system.get('moved'))?.state.rings === '1')
  t.same((await system.get('soon'))?.state, { rings: '1' })
  t.equal(await code('other', 'x'), 'unknown')
  await sleep(300)
  t.same((await system.get('removed'))?.state, {})
  for (const key of ['moved', 'soon']) t.equal((await system.get(key))?.seq, 1, `${key}: once`)
})

t.test('a task whose rule fails stays due, and runs when the rule is mended', async (t) => {
  const where = options()
  const lua = ruleOf(`if args[1] == 'plan' then return 'planned', {}, { tasks = { ring = now } } end
    error('no bell')`)
  const broken = await openSeats(t, where, { lua })
  await broken.submit('a', 'plan')
  await broken.system.runTasks()
  await eventually(() => broken.system.account.failed > 1)
  t.same((await broken.system.get('a'))?.version, 1)
  const better = lua.replace("error('no bell')", "return 'rung', {}, { events = { { type = 'rung' } } }")
  const mended = await openSeats(t, where, { lua: better, version: 2 })
  await broken.system.close()
  await mended.system.runTasks()
  await eventually(async () => (await mended.system.get('a'))?.seq === 1)
})

t.test('an older process gives the tasks to those with the newer rule', async (t) => {
  const where = { ...options(), partitions: 8 }
  const lua = ruleOf(`if args[1] == 'plan' then return 'planned', {}, { tasks = { ring = now } } end
    return 'rung', {}, { events = { { type = 'rung' } } }`)
  const old = await openSeats(t, where, { lua })
  await old.system.runTasks()
  const { system, submit } = await openSeats(t, where, { lua: `${lua}\n-- newer`, version: 2 })
  const keys = Array.from({ length: 40 }, (_, i) => `key-${i}`)
  await Promise.all(keys.map((key) => submit(key, 'plan')))
  await system.runTasks()
  for (const key of keys) await eventually(async () => (await system.get(key))?.seq === 1)
})

t.test('a task of a rule that a process does not have waits for one that has it, and fails no other command or task', async (t) => {
  const where = { ...options(), partitions: 1 }
  const warnings = /** @type {any[]} */ ([])
  const log = { info () {}, error () {}, warn: (/** @type {any} */ facts) => { warnings.push(facts) } }
  const old = await openSeats(t, { ...where, log }, { lua: LOG })
  const lua = ruleOf(`if args[1] == 'plan' then return 'planned', {}, { tasks = { ring = now } } end
    return 'rung', {}, { events = { { type = 'rung' } } }`)
  const newer = await openSystem({ name: 'seats', rules: { seat: { lua: LOG }, bell: { lua } } }, { deadlineMs: 10_000, ...where })
  t.teardown(() => newer.close())
  await newer.submit({ rule: 'bell', key: 'a', args: ['plan'] })
  await old.system.runTasks()
  await eventually(async () => {
    t.equal(await old.code('b', 'x'), 'logged')
    return warnings.some(({ code, reason }) => code === 'RULE_FAILED' && reason === 'this process has no rule bell; start one that has it')
  })
  await old.system.close()
  await newer.runTasks()
  await eventually(async () => (await newer.get('a'))?.seq === 1)
})

t.test('tasks of a rule that was taken out of a system do not keep those of the others', async (t) => {
  const where = { ...options(), partitions: 1, deadlineMs: 10_000 }
  const lua = ruleOf(`if args[1] == 'plan' then return 'planned', {}, { tasks = { ring = now } } end
    return 'rung', {}, { events = { { type = 'rung' } } }`)
  const before = await openSystem({ name: 'seats', rules: { seat: { lua }, bell: { lua } } }, where)
  await before.submit({ rule: 'bell', key: 'a', args: ['plan'] })
  await before.close()
  const { system, submit } = await openSeats(t, where, { lua })
  await system.runTasks()
  await submit('b', 'plan')
  await eventually(async () => (await system.get('b'))?.seq === 1)
  await submit('c', 'plan')
  await eventually(async () => (await system.get('c'))?.seq === 1)
})

t.test('a consumer that joins while the system is closed leaves nothing open', async (t) => {
  const { system } = await openSeats(t, options())
  const joining = system.consume('late', async () => {})
  await Promise.all([t.rejects(joining), system.close()])
})

t.test('arguments of consume are checked', async (t) => {
  const { system } = await openSeats(t, options())
  const none = async () => {}
  for (const bad of [['A b', none], ['a', 7], ['a', none, { attempts: 0 }], ['a', none, { attempt: 1 }]]) {
    const [consumer, handler, more] = /** @type {any[]} */ (bad)
    await t.rejects(system.consume(consumer, handler, more), { code: 'ARGUMENT_INVALID' })
  }
})
