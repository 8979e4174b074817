/** Prices of an outbox in DynamoDB: each once, whatever fails, and only the owner moves the cursor. */
import t from 'tap'
import { admissionKey } from '../../src/admission/index.js'
import { consumeBatches, createDeadLetters, createOutboxReader } from '../../src/consumers/index.js'
import { openerOf } from '../../src/store/index.js'
import { createPriceStore } from '../../src/systems/prices/store/index.js'
import { CREDENTIALS, startDynamodb } from '../dynamodb.js'
import { scopedEngines } from '../scope.js'
import { connectFor, eventually, silentLog, startServer } from '../servers.js'
import { startFaultyDynamodb } from '../systems/prices/faulty-dynamodb.js'
import { askLease } from './lease.js'

const { url: dynamodbUrl } = await startDynamodb(t)
const proxy = await startFaultyDynamodb(t, dynamodbUrl)
const location = { region: 'local', credentials: CREDENTIALS }
const [engine] = await scopedEngines()
const { url } = await startServer(t, { engine })
const connection = await connectFor(t, url)
const store = await createPriceStore({ table: 'prices', location: { ...location, endpoint: proxy.url }, deadlineMs: 20_000 })
const hasty = await createPriceStore({ table: 'prices', location: { ...location, endpoint: proxy.url }, deadlineMs: 100 })
const checker = await createPriceStore({
  table: 'prices', location: { ...location, endpoint: dynamodbUrl }, deadlineMs: 20_000, latestMs: 20_000, historyMs: 20_000
})
t.teardown(() => Promise.all([store.close(), hasty.close(), checker.close()]))
await checker.make()
const SOON = Date.now() + 3_600_000

let systems = 0
/** A system of its own, with one partition. */
function createSystem () {
  const system = `prices${++systems}`
  const key = admissionKey('fr:', system, 0)
  const letters = createDeadLetters({ connectionOf: () => connection, keyOf: () => key, partitions: 1 })
  let failures = 0

  return {
    get failures () { return failures },
    letters: async () => (await letters.list({ after: null, limit: 100 })).items,
    cursor: async () => String(await connection.send('HGET', key('cursors'), 'history')),
    last: async () => String((await connection.send('XREVRANGE', key('outbox'), '+', '-', 'COUNT', 1))[0][0]),
    take: () => askLease(connection, key),

    /** @param {string} asset @param {number} seq @param {Record<string, string | number>} [fields] */
    append (asset, seq, fields = {}) {
      const event = {
        type: 'price',
        price: `${seq}.5`,
        at: Date.now() - 200_000 + 1000 * seq,
        sources: '[]',
        soft: SOON,
        hard: SOON,
        tier: 'hot',
        ...fields
      }
      return connection.send('XADD', key('outbox'), '*', 'rule', 'latest', 'key', asset, 'ts', 1, 'request', 'q', 'seq', seq,
        ...Object.entries(event).flat())
    },

    /**
     * A process that owns the partition. @param {import('tap').Test} t @param {number} token
     * @param {import('../../src/consumers/index.js').BatchEffect['write']} [write]
     */
    async run (t, token, write = store.write) {
      const outbox = openerOf(url, { name: `outbox${token}`, deadlineMs: 1000 })
      const reader = createOutboxReader({ ...outbox, keyOf: () => key, log: silentLog })
      const stop = new AbortController()
      const done = consumeBatches({
        effect: { name: 'history', write },
        owned: { partition: 0, token, signal: stop.signal },
        connection: () => connection,
        key,
        reader,
        metrics: { finished () {}, failed () { failures++ } },
        deadLetter: (letter) => letters.deadLetter(0, letter)
      })
      done.catch(() => {})
      async function end () {
        stop.abort()
        await done.catch(() => {})
        await reader.close()
      }
      t.teardown(end)
      return { done, end }
    }
  }
}

/** @param {string} asset @returns {Promise<number[]>} */
const versions = async (asset) => (await checker.history(asset, 0, Date.now(), 1000)).map(({ seq }) => seq)
const upTo = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => i + 1)

t.test('every price is stored once, though DynamoDB throttles, fails, is slow and leaves rows unprocessed', async (t) => {
  const system = createSystem()
  for (let seq = 1; seq <= 100; seq++) await system.append('btc-usd', seq)
  const faults = [
    { error: [400, 'ProvisionedThroughputExceededException'] }, { error: [500, 'InternalServerError'] }, { delayMs: 50 },
    { leave: 25 }, { leave: 10 }
  ]
  let n = 0
  proxy.fail(() => ++n % 2 === 0 ? /** @type {any} */ (faults[(n / 2) % faults.length]) : null)
  const { end } = await system.run(t, await system.take())
  await eventually(async () => await system.cursor() === await system.last())
  proxy.fail(() => null)
  await eventually(async () => (await checker.latest(['btc-usd'])).get('btc-usd')?.seq === '100')
  await end()
  t.same(await versions('btc-usd'), upTo(100))
  t.same(await system.letters(), [], 'none of them is a dead letter')
})

t.test('while DynamoDB is down the outbox waits', async (t) => {
  const system = createSystem()
  proxy.fail(() => ({ error: [503, 'ServiceUnavailable'] }))
  const { end } = await system.run(t, await system.take(), hasty.write)
  for (let seq = 1; seq <= 5; seq++) await system.append('down-usd', seq)
  await eventually(async () => system.failures >= 3)
  t.equal(await system.cursor(), '0-0')
  await end()
  proxy.fail(() => null)
  const again = await system.run(t, await system.take())
  await eventually(async () => await system.cursor() === await system.last())
  await again.end()
  t.same(await versions('down-usd'), upTo(5))
})

t.test('an entry that is rejected for good becomes a dead letter, and the partition goes on', async (t) => {
  const system = createSystem()
  await system.append('poison-usd', 1)
  await system.append('poison-usd', 2, { hard: 'never' })
  await system.append('poison-usd', 3)
  const { end } = await system.run(t, await system.take())
  await eventually(async () => await system.cursor() === await system.last())
  await end()
  t.same(await versions('poison-usd'), [1, 3])
  t.match(await system.letters(), [{ consumer: 'history', key: 'poison-usd', reason: /ValidationException/, fields: { seq: '2' } }])
})

t.test('an owner that was suspended while another one took over cannot move the cursor, and its late write changes nothing', async (t) => {
  const system = createSystem()
  await system.append('fenced-usd', 1)
  /** @type {() => void} */
  let resume = () => {}
  let isSuspended = false
  const late = await system.run(t, await system.take(), async (entries) => {
    isSuspended = true
    await new Promise((resolve) => { resume = () => resolve(null) })
    await store.write(entries)
  })
  await eventually(async () => isSuspended)
  await system.append('fenced-usd', 2)
  const { end } = await system.run(t, await system.take())
  await eventually(async () => await system.cursor() === await system.last())
  const cursor = await system.cursor()
  await eventually(async () => (await checker.latest(['fenced-usd'])).get('fenced-usd')?.seq === '2')
  resume()
  await t.rejects(late.done, { code: 'LEASE_LOST' })
  await end()
  t.equal(await system.cursor(), cursor)
  t.same(await versions('fenced-usd'), [1, 2])
  t.equal((await checker.latest(['fenced-usd'])).get('fenced-usd')?.seq, '2')
})

t.test('the next owner begins where a killed one stopped, and writes its last batch again without effect', async (t) => {
  const system = createSystem()
  await system.append('killed-usd', 1)
  const killed = await system.run(t, await system.take(), async (entries) => {
    await store.write(entries)
    await new Promise(() => {})
  })
  await eventually(async () => (await versions('killed-usd')).length === 1)
  t.equal(await system.cursor(), '0-0', 'it did not get to move the cursor')
  await system.append('killed-usd', 2)
  const { end } = await system.run(t, await system.take())
  await eventually(async () => await system.cursor() === await system.last())
  t.same(await versions('killed-usd'), [1, 2])
  await end()
  await killed.end()
})
