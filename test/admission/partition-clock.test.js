/** A server whose clock goes back, by a correction or because it is wrong: decisions, durations, leases, ids, on real servers. */
import t from 'tap'
import { admissionKey, createPartitionClock, eventsOf, fieldsOf } from '../../src/admission/index.js'
import { followOutboxes } from '../../src/admission/outbox.js'
import { DURATIONS } from '../../src/admission/rules.js'
import { lagOf } from '../../src/consumers/index.js'
import { askLease } from '../consumers/lease.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, silentLog, startServer } from '../servers.js'
import { createClock, noShiftedClock } from '../shifted-clock.js'
import { admit } from './admit.js'

const MINUTE_MS = 60_000
const OPTIONS = { replicationId: 'id', requestMs: 10 * MINUTE_MS, keepMs: 10 * MINUTE_MS }
/** how long commands of a test may take */
const BUSY_MS = 20_000

t.test('a clock that went back is noted once: in the log, as a metric, and for ten minutes in notes', async (t) => {
  const counted = /** @type {string[]} */ ([])
  let nowMs = 10
  const warn = (/** @type {any} */ { partition, backMs }, /** @type {string} */ text) => counted.push(`${partition} ${backMs} ${text}`)
  const log = /** @type {any} */ ({ warn })
  const metrics = { clockBack () { counted.push('counted') } }
  const clock = createPartitionClock({ system: 'sales', keyOf: () => (part) => part, metrics, log, nowMs: () => nowMs })
  clock.see(0, 100_000, nowMs)
  clock.see(0, 60_000, 5)
  t.same(counted, [], 'a reply that was overtaken')
  clock.see(0, 99_500, nowMs)
  clock.see(1, 10_000, nowMs)
  t.same([counted, clock.notes()], [[], []], 'half a second, and another server')
  clock.see(0, 39_500, nowMs)
  clock.see(0, 39_600, nowMs)
  t.same(counted, ['counted', '0 60000 the clock of the primary went back'])
  t.match(clock.notes(), [/^CLOCK_BACK: the clock of a primary of sales went back by 60000 ms/])
  nowMs += 11 * MINUTE_MS
  t.same(clock.notes(), [])
})

for (const engine of await scopedEngines()) {
  t.test(`a clock that goes back by a minute, on ${engineName(engine)}`, { skip: noShiftedClock }, async (t) => {
    const clock = createClock(t)
    const server = await startServer(t, { engine, env: clock.env })
    const connection = await connectFor(t, server.url)
    const key = admissionKey('fr:', 'all', 0)
    const noted = /** @type {number[]} */ ([])
    const log = /** @type {any} */ ({ warn: (/** @type {any} */ { backMs }) => noted.push(backMs) })
    const partitionClock = createPartitionClock({ system: 'all', keyOf: () => key, metrics: {}, log })
    const turnBack = () => partitionClock.turnBack(0, connection)
    await connection.send('HSET', key('generation'), 'replid', 'id', 'lineage', 'l', 'n', '0')
    /** @param {string} rule @param {string} name @param {any[]} args */
    const decide = async (rule, name, ...args) => {
      const { now, decisions: [decision] } = await admit(connection, key, { ...OPTIONS, turnBack },
        [{ rule, key: name, scope: '', requestId: '', args: args.map(String) }])
      return { now, ...decision }
    }
    /** ms of the server until a task is due @param {string} name */
    const dueIn = async (name) => {
      const [[seconds, micros], score] = await connection.sendAll([['TIME'], ['ZSCORE', key('tasks'), name]])
      return Number(score) - Number(seconds) * 1000 - Number(micros) / 1000
    }
    /** @param {number} ms @param {number} most @param {string} what */
    const isWithin = (ms, most, what) => t.ok(ms > most - BUSY_MS && ms <= most + 1000, `${what}: ${Math.round(ms)} of ${most} ms`)
    const sale = [10, 1, 0, 9e15, MINUTE_MS, 'direct', 0, 0]
    const price = (/** @type {any} */ at) => decide('latest', 'a', 'price', at, '1.5', '[]', at)

    await clock.ahead(MINUTE_MS, connection)
    await decide('bounded', 's', 'create', ...sale)
    await decide('bounded', 's', 'claim', 'ann', 1, 'c1', 'sold', 'direct')
    await decide('step', 'o', 'place', 'ann', 1, '[]', 'here', 5 * MINUTE_MS, '')
    const { now: ahead } = await decide('latest', 'a', 'set', 'hot', 1, '60000 90000 120000 60000 90000 120000 60000 90000 120000', 1)
    t.match(await price(ahead), { code: 'accepted' })
    await decide('max', 'x', 'create', 1, 1, 0, ahead + MINUTE_MS, 0, 0, '', '', 'EUR')
    const refreshIn = await dueIn('latest a refresh')
    const [[lastId]] = await connection.send('XREVRANGE', key('outbox'), '+', '-', 'COUNT', 1)

    await clock.ahead(0, connection)
    const { now, code } = await decide('bounded', 's', 'claim', 'bob', 1, 'c2', 'sold', 'direct')
    t.equal(code, 'accepted')
    t.ok(now < ahead - MINUTE_MS + BUSY_MS, 'decisions have the time of the server')

    await t.test('it is noted once', async (t) => {
      await turnBack()
      await decide('bounded', 's', 'expire')
      t.equal(noted.length, 1)
      isWithin(noted[0], MINUTE_MS, 'went back')
      t.equal(Number(await connection.send('HGET', key('generation'), 'back')), noted[0])
    })

    await t.test('durations that were given before last as long as they should, also where the state has them', async () => {
      isWithin(await dueIn('bounded s expire'), MINUTE_MS, 'the first hold')
      isWithin(await dueIn('step o run'), 0, 'an order is driven')
      isWithin(await dueIn('step o deadline'), 5 * MINUTE_MS, 'the deadline of an order')
      isWithin(await dueIn('latest a refresh'), refreshIn, 'a refresh')
      isWithin(await dueIn('max x due'), 2 * MINUTE_MS, 'a time that was given')
      const { details } = await decide('step', 'o', 'held')
      isWithin(Number(details.deadline) - now, 5 * MINUTE_MS, 'the deadline in the state')
    })

    await t.test('a hold before and one after have the same time left; the order is by sequence', async (t) => {
      const scores = await connection.send('ZRANGE', key('holds:s'), 0, -1, 'WITHSCORES')
      t.same([String(scores[0]), String(scores[2])], ['c1', 'c2'])
      isWithin(Number(scores[3]) - Number(scores[1]), 0, 'apart')
      const events = await connection.send('XRANGE', key('events:s'), '-', '+')
      const [first, second] = eventsOf(events).map(({ ts }) => Number(ts))
      t.ok(second < first, 'stamps that were given ahead stay')
      t.same(events.map((/** @type {any} */ [id]) => String(id)), ['1-0', '2-0'])
    })

    await t.test('a refresh that began while the clock was ahead is stored, and the next one is no older', async (t) => {
      t.match(await price(ahead + 5), { code: 'accepted' }, 'it was under way')
      const { now: later } = await decide('bounded', 's', 'expire')
      t.match(await price(later + 1), { code: 'accepted' })
      t.match(await decide('latest', 'a', 'want'), { code: 'known' })
    })

    await t.test('ids of the outbox grow, and its age is right, also after a letter was replayed', async (t) => {
      const fields = ['rule', 'bounded', 'key', 's', 'ts', '1', 'request', '', 'seq', '1', 'type', 'held']
      await connection.send('XADD', key('dead'), '1-0', 'fields', JSON.stringify(fields))
      t.equal(await connection.runScript('replay-letter', ['dead', 'outbox', 'generation'].map(key), ['1-0']), 1)
      t.match(await decide('bounded', 's', 'claim', 'cid', 1, 'c3', 'sold', 'direct'), { code: 'accepted' })
      const after = await connection.send('XRANGE', key('outbox'), `(${lastId}`, '+')
      t.ok(after.length >= 5)
      t.ok(await lagOf(connection, key, 'none') < BUSY_MS)
    })

    await t.test('who follows the outbox from ten minutes ago gets entries of before and after', async (t) => {
      const found = new Set()
      const follower = followOutboxes({
        open: async () => ({ connection: await connectFor(t, server.url), isLeft: () => false, end () {} }),
        keyOf: () => key,
        partitions: 1,
        sinceMs: OPTIONS.requestMs,
        onEntry: (_, { fields: { claim } }) => found.add(claim),
        onReset () {},
        log: silentLog
      })
      await eventually(() => ['c1', 'c2', 'c3'].every((claim) => found.has(claim)))
      await follower.close()
    })

    await t.test('a lease and a heartbeat that were given while it was ahead last no longer than others', async (t) => {
      const lease = (/** @type {string} */ id) => askLease(connection, key, { id, ms: 3000 })
      const beat = async (/** @type {string} */ id) => {
        const [, , ...living] = await connection.runScript('heartbeat', [key('consumers')], [id, 1, 3000])
        return Object.keys(fieldsOf(living))
      }
      await clock.ahead(2 * MINUTE_MS, connection)
      t.equal(await lease('dead'), 1)
      await beat('dead')
      await clock.ahead(0, connection)
      t.equal(await lease('next'), 0)
      await eventually(async () => await lease('next') === 2, { deadlineMs: BUSY_MS })
      await eventually(async () => (await beat('next')).join() === 'next', { deadlineMs: BUSY_MS })
    })
  })
}

t.test('tasks that are durations are those of rules that set them so', async (t) => {
  t.same(DURATIONS, ['bounded expire', 'latest refresh', 'step deadline', 'step run'])
})
