/** A waiting room with many people, at night 100,000: joining, positions, memory, and the end that all of them learn. */
import t from 'tap'
import { admissionKey } from '../../src/admission/index.js'
import { newest } from '../../src/embedded/engine.js'
import { createWaitingRoom } from '../../src/waiting-room/index.js'
import { admit } from '../../test/admission/admit.js'
import { nightly } from '../../test/scope.js'
import { connectFor, engineName, eventually, silentLog, startServer, testEngines } from '../../test/servers.js'

const PEOPLE = nightly(100_000, 20_000)
const WATCHERS = nightly(10_000, 2000)
const MAX_COMMANDS = 256
const KEEP_MS = 3_600_000
const MAX_BYTES_EACH = 1024
const SALE = 's'
const key = admissionKey('fr:', 'sales', 0)

const engine = /** @type {import('../../test/servers.js').Engine} */ (newest(await testEngines()))
t.test(`${engineName(engine)}: ${PEOPLE} people in one queue`, async (t) => {
  const connection = await connectFor(t, (await startServer(t, { engine })).url)
  const info = async (/** @type {RegExp} */ pattern) => String(pattern.exec(String(await connection.send('INFO')))?.[1])
  const terms = { replicationId: await info(/master_replid:(\w+)/), requestMs: KEEP_MS, keepMs: KEEP_MS }
  let requests = 0
  /** @param {string[][]} all arguments of commands */
  async function order (all) {
    const commands = all.map((args) => ({ rule: 'bounded', key: SALE, scope: '', requestId: String(requests++), args }))
    return (await admit(connection, key, terms, commands)).decisions
  }
  const room = createWaitingRoom({ connectionOf: () => connection, keyOf: () => key, partitionOf: () => 0, now: Date.now, log: silentLog })
  t.teardown(() => room.close())
  const place = (/** @type {number} */ n) => room.positionOf(SALE, `u${n}`, `c${n}`)

  // 2 units, one person at a time
  await order([['create', '2', '1', '0', '2000000000000', '600000', 'queue', '1', '0']])
  const before = Number(await info(/used_memory:(\d+)/))
  let slowestMs = 0
  const beganMs = performance.now()
  for (let n = 0; n < PEOPLE; n += MAX_COMMANDS) {
    const some = Array.from({ length: Math.min(MAX_COMMANDS, PEOPLE - n) }, (_, i) => ['join', `u${n + i}`, `c${n + i}`])
    const sentMs = performance.now()
    const decisions = await order(some)
    slowestMs = Math.max(slowestMs, performance.now() - sentMs)
    const { code, details } = /** @type {typeof decisions[0]} */ (decisions.at(-1))
    t.match({ code, ...details }, { code: 'accepted', position: String(n + some.length - 1) })
  }
  const seconds = (performance.now() - beganMs) / 1000
  const bytesEach = (Number(await info(/used_memory:(\d+)/)) - before) / PEOPLE
  t.comment(`${Math.round(PEOPLE / seconds)} people join per second; a call of ${MAX_COMMANDS} takes ${slowestMs.toFixed(1)} ms at most`)
  t.comment(`${Math.round(bytesEach)} bytes each, with the requests, which expire`)
  t.ok(bytesEach < MAX_BYTES_EACH)

  t.match(await place(0), { status: 'admitted' })
  const askedMs = performance.now()
  t.match(await place(1), { status: 'waiting', position: 1 })
  t.match(await place(PEOPLE / 2), { status: 'waiting', position: PEOPLE / 2 })
  t.match(await place(PEOPLE - 1), { status: 'waiting', position: PEOPLE - 1 })
  t.comment(`a position takes ${((performance.now() - askedMs) / 3).toFixed(1)} ms`)
  t.match(await order([['join', 'u7', 'again']]), [{ code: 'waiting', details: { position: '7' } }], 'the same person: the same place')
  await order([['leave', 'u9', 'c9']])
  t.match(await place(8), { position: 8 })
  t.match(await place(PEOPLE - 1), { position: PEOPLE - 2 }, 'one less is ahead')

  /** @type {string[]} */
  const last = Array(WATCHERS).fill('')
  for (let i = 0; i < WATCHERS; i++) room.watch(SALE, `u${PEOPLE - 1 - i}`, ({ status }) => { last[i] = status })
  await eventually(() => last.every((status) => status === 'waiting'))
  t.match(await order([['confirm', 'u0', 'c0', 'sold']]), [{ code: 'accepted' }])
  t.match(await place(1), { status: 'admitted' })
  t.match(await order([['confirm', 'u1', 'c1', 'sold']]), [{ code: 'accepted' }])
  const endedMs = performance.now()
  room.note(SALE)
  await eventually(() => last.every((status) => status === 'sold_out'))
  t.comment(`${WATCHERS} who watch know within ${Math.round(performance.now() - endedMs)} ms that all is sold`)
  t.match(await place(PEOPLE - 1), { status: 'sold_out' })
  t.match(await order([['join', 'late', 'late']]), [{ code: 'sold_out' }])
})
