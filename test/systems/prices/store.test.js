/** The store of prices, on the embedded DynamoDB behind a proxy on which things go wrong. */
import t from 'tap'
import { createPriceStore } from '../../../src/systems/prices/store/index.js'
import { CREDENTIALS, startDynamodb } from '../../dynamodb.js'
import { startFaultyDynamodb } from './faulty-dynamodb.js'

const { url } = await startDynamodb(t)
const proxy = await startFaultyDynamodb(t, url)
const location = { endpoint: proxy.url, region: 'eu-central-1', credentials: CREDENTIALS }
const SOON = Date.now() + 3_600_000
/** @type {Record<string, number>} */
const counts = {}
const metrics = {
  asked (/** @type {string} */ operation, /** @type {string} */ outcome) {
    const name = `${operation} ${outcome}`
    counts[name] = (counts[name] ?? 0) + 1
  }
}

let tables = 0
/**
 * A store with a table of its own. Deadlines are long, because the machine may be busy.
 * @param {import('tap').Test} t @param {Partial<Parameters<typeof createPriceStore>[0]>} [options]
 */
async function openStore (t, options = {}) {
  proxy.fail(() => null)
  for (const name of Object.keys(counts)) delete counts[name]
  const store = await createPriceStore({
    table: `prices-${++tables}`, location, metrics, deadlineMs: 20_000, latestMs: 10_000, historyMs: 10_000, ...options
  })
  t.teardown(() => store.close())
  await store.make()
  return store
}

/** @param {string} asset @param {number} seq @param {Record<string, unknown>} [fields] @returns {any} */
const entryOf = (asset, seq, fields = {}) => {
  const at = Date.now() - 60_000 + seq
  return {
    id: `${at}-0`,
    rule: 'latest',
    key: asset,
    seq,
    fields: {
      seq: String(seq),
      type: 'price',
      price: `${seq}.5`,
      at: String(at),
      sources: '[{"exchange":"north","ok":true,"ts":1}]',
      soft: String(SOON),
      hard: String(SOON),
      tier: 'hot',
      ...fields
    }
  }
}

const of = (/** @type {string} */ operation) => proxy.asked.filter((one) => one.operation === operation)

t.test('prices are written once and read as they were, whatever else the outbox has', async (t) => {
  const store = await openStore(t)
  const entries = Array.from({ length: 60 }, (_, i) => entryOf('btc-usd', i + 1))
  const asOf = Date.now() - 70_000
  const other = entryOf('eth-usd', 1, { asOf: String(asOf) })
  const failed = { ...other, fields: { seq: '9', type: 'failed', reason: 'all_failed' } }
  await store.write([...entries, failed, other])
  await store.write([...entries, other])
  const from = Number(entries[0].fields.at)
  const points = await store.history('btc-usd', from, from + 1000, 100)
  t.same(points.map(({ seq }) => seq), entries.map(({ seq }) => seq))
  t.same(points[1], { at: Number(entries[1].fields.at), price: '2.5', seq: 2 })
  t.equal((await store.history('btc-usd', from, from + 1000, 7)).length, 7)
  t.same((await store.history('btc-usd', points[2].at, points[4].at, 100)).map(({ seq }) => seq), [3, 4, 5])
  const latest = await store.latest(['eth-usd', 'btc-usd', 'none-usd', 'eth-usd'])
  t.same(latest.get('eth-usd'), {
    price: '1.5',
    ts: other.fields.at,
    asOf: String(asOf),
    seq: '1',
    sources: '[{"exchange":"north","ok":true,"ts":1}]',
    soft: String(SOON),
    hard: String(SOON),
    tier: 'hot',
    failures: '0'
  })
  t.equal(latest.get('btc-usd')?.seq, '60')
  t.same([...latest.keys()].sort(), ['btc-usd', 'eth-usd'])
})

t.test('batches have 25 rows, no key twice, and a TTL; LATEST has none', async (t) => {
  const store = await openStore(t, { keepMs: 60_000_000 })
  const entries = Array.from({ length: 30 }, (_, i) => entryOf(`a${i}`, 1, { at: '1700000000000' }))
  await store.write([...entries, entryOf('a0', 2, { at: '1700000000000' })])
  const sizes = of('BatchWriteItem').map(({ body }) => Object.values(body.RequestItems)[0].length)
  t.same(sizes.sort(), [25, 5])
  const rows = of('BatchWriteItem').flatMap(({ body }) => Object.values(body.RequestItems)[0].map((one) => one.PutRequest.Item))
  t.match(rows.find((row) => row.asset.S === 'a0'), { at: { S: '0001700000000000' }, version: { N: '2' }, ttl: { N: '1700060000' } })
  t.equal(of('UpdateItem').length, 30)
  t.notOk(JSON.stringify(of('UpdateItem')).includes('ttl'))
})

t.test('an older price never replaces a newer one as the latest', async (t) => {
  const store = await openStore(t)
  const late = await openSame(t, store)
  const [older, newer] = [entryOf('btc-usd', 1), entryOf('btc-usd', 2)]
  await store.write([newer])
  await late.write([older])
  t.equal((await store.latest(['btc-usd'])).get('btc-usd')?.seq, '2')
  t.equal((await store.history('btc-usd', 0, Date.now(), 10)).length, 2)
  t.equal(counts['update failed'], undefined)
})

/** Another process on the same table. @param {import('tap').Test} t @param {unknown} _store @param {object} [options] */
async function openSame (t, _store, options = {}) {
  const store = await createPriceStore({
    table: `prices-${tables}`, location, metrics, deadlineMs: 20_000, latestMs: 10_000, historyMs: 10_000, ...options
  })
  t.teardown(() => store.close())
  return store
}

t.test('LATEST is updated by prices that are a second apart; those between are skipped there', async (t) => {
  const store = await openStore(t)
  const at = Date.now() - 60_000
  const versions = []
  for (const [i, afterMs] of [0, 999, 1000, 1999, 2000].entries()) {
    await store.write([entryOf('btc-usd', i + 1, { at: String(at + afterMs) }), entryOf('btc-usd', 100 + i, { type: 'tier' })])
    versions.push((await store.latest(['btc-usd'])).get('btc-usd')?.seq)
  }
  t.same(versions, ['1', '1', '3', '3', '5'])
  t.equal(of('UpdateItem').length, 3)
  t.equal((await store.history('btc-usd', at, at + 2000, 100)).length, 5)
})

t.test('an update of LATEST that failed is not skipped when its batch is written again', async (t) => {
  const store = await openStore(t)
  proxy.fail(({ operation }) => operation === 'UpdateItem' ? { error: [400, 'ThrottlingException'] } : null)
  await t.rejects(store.write([entryOf('btc-usd', 1)]), { code: 'DYNAMODB_DOWN', retryable: true })
  proxy.fail(() => null)
  await store.write([entryOf('btc-usd', 1)])
  t.equal((await store.latest(['btc-usd'])).get('btc-usd')?.seq, '1')
})

t.test('rows that DynamoDB leaves unprocessed are written again, with pauses', async (t) => {
  const store = await openStore(t)
  let left = 3
  proxy.fail(({ operation }) => operation === 'BatchWriteItem' && left-- > 0 ? { leave: 5 } : null)
  await store.write(Array.from({ length: 20 }, (_, i) => entryOf('btc-usd', i + 1)))
  t.equal((await store.history('btc-usd', 0, Date.now(), 100)).length, 20)
  t.same(of('BatchWriteItem').map(({ body }) => Object.values(body.RequestItems)[0]?.length ?? 0), [15, 0, 0, 5], 'passed on')
  t.equal(counts['write unprocessed'], 3)
  const hasty = await openSame(t, store, { deadlineMs: 300 })
  proxy.fail(({ operation }) => operation === 'BatchWriteItem' ? { leave: 25 } : null)
  await t.rejects(hasty.write([entryOf('x', 1), entryOf('y', 1)]), { code: 'DYNAMODB_DOWN', retryable: true })
})

t.test('keys that DynamoDB leaves unprocessed are read again; 120 assets are two batches', async (t) => {
  const store = await openStore(t)
  const assets = Array.from({ length: 120 }, (_, i) => `a${i}`)
  await store.write(assets.map((asset) => entryOf(asset, 1)))
  const once = new Set()
  proxy.fail(({ operation, body }) => {
    const first = JSON.stringify(body.RequestItems).slice(0, 200)
    if (operation !== 'BatchGetItem' || once.has(first) || once.size === 2) return null
    once.add(first)
    return { leave: 15 }
  })
  t.equal((await store.latest(assets)).size, 120)
  t.equal(of('BatchGetItem').length, 4)
  t.equal(counts['latest unprocessed'], 2)
})

t.test('throttling and outages are retryable, an invalid entry is not', async (t) => {
  const store = await openStore(t)
  const hasty = await openSame(t, store, { deadlineMs: 300 })
  for (const [status, type] of /** @type {[number, string][]} */ ([
    [400, 'ProvisionedThroughputExceededException'], [400, 'ThrottlingException'], [500, 'InternalServerError'], [503, 'ServiceUnavailable']
  ])) {
    proxy.fail(() => ({ error: [status, type] }))
    await t.rejects(store.history('btc-usd', 0, 1, 1), { code: 'DYNAMODB_DOWN', message: new RegExp(type) })
    t.equal(of('Query').length, 1, 'a request of a reader is one attempt')
    await t.rejects(hasty.write([entryOf('btc-usd', 1)]), { code: 'DYNAMODB_DOWN', retryable: true })
  }
  let left = 3
  proxy.fail(({ operation }) => operation === 'BatchWriteItem' && left-- > 0 ? { error: [400, 'ThrottlingException'] } : null)
  await store.write([entryOf('btc-usd', 1)])
  t.ok(of('BatchWriteItem').length >= 4)
  await t.rejects(store.write([entryOf('btc-usd', 1, { soft: 'soon' })]), { code: 'DYNAMODB_REFUSED', retryable: false })
  await t.rejects(store.write([entryOf('', 1)]), { code: 'DYNAMODB_REFUSED' })
  t.equal((await store.latest(['btc-usd'])).size, 1)
})

t.test('a reader gets what there is within its deadline, and failures are counted', async (t) => {
  const store = await openStore(t)
  await store.write([entryOf('btc-usd', 1), entryOf('eth-usd', 1)])
  const hasty = await openSame(t, store, { latestMs: 50, historyMs: 50 })
  proxy.fail(() => ({ delayMs: 600_000 }))
  t.equal((await hasty.latest(['btc-usd'])).size, 0)
  await t.rejects(hasty.history('btc-usd', 0, 1, 1), { code: 'DYNAMODB_DOWN' })
  t.match(counts, { 'latest failed': 1, 'history failed': 1 })
  proxy.fail(() => ({ error: [400, 'ProvisionedThroughputExceededException'] }))
  t.equal((await store.latest(['btc-usd'])).size, 0)
  t.equal(of('BatchGetItem').length, 1, 'no second attempt')
  proxy.fail(() => ({ leave: 1 }))
  const partial = await openSame(t, store, { latestMs: 2000 })
  t.same([...(await partial.latest(['btc-usd', 'eth-usd'])).keys()], ['btc-usd'], 'what was not left unprocessed')
})

t.test('expired rows are not read, though DynamoDB still has them', async (t) => {
  const store = await openStore(t, { keepMs: 70_000 })
  const now = Date.now()
  await store.write([
    entryOf('btc-usd', 1, { at: String(now - 80_000) }), entryOf('btc-usd', 2, { at: String(now - 75_000), hard: String(now - 1) }),
    entryOf('btc-usd', 3, { at: String(now - 10_000), hard: String(now - 1) })
  ])
  t.equal((await store.latest(['btc-usd'])).size, 0)
  t.same((await store.history('btc-usd', 0, now, 1)).map(({ seq }) => seq), [3], 'it goes on to the next page')
})

t.test('check says how a missing table is created, and what is wrong with another', async (t) => {
  const missing = await createPriceStore({ table: 'absent', location })
  t.teardown(() => missing.close())
  await t.rejects(missing.check(), {
    code: 'DYNAMODB_TABLE_UNUSABLE',
    exitStatus: 2,
    message: /^there is no DynamoDB table absent; .*\n +aws dynamodb create-table --table-name absent --region eu-central-1 .*\n +aws dynamodb update-time-to-live .*AttributeName=ttl$/
  })
  await missing.make()
  await missing.make()
  await missing.check()
  proxy.fail(() => ({ error: [400, 'ExpiredTokenException'] }))
  await t.rejects(missing.check(), { code: 'DYNAMODB_DENIED', exitStatus: 2, message: /ExpiredTokenException.*credentials/ })
  await t.rejects(missing.write([entryOf('btc-usd', 1)]), { code: 'DYNAMODB_DENIED', retryable: true })
})

t.test('partitions that write the same assets at once: each row is there, and no write fails', async (t) => {
  const store = await openStore(t)
  const of = (/** @type {number} */ seq) => Array.from({ length: 60 }, (_, i) => entryOf(`same-${i}`, seq))
  await Promise.all([store.write(of(1)), store.write(of(2)), store.write(of(3))])
  const rows = await store.history('same-7', 0, Date.now() + 60_000, 10)
  t.same(rows.map(({ seq }) => seq), [1, 2, 3])
})
