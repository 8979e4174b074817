/** openPrices: prices in a program of a user. */
import t from 'tap'
import { openPrices } from 'freshet-feed/prices'
import { eventually, freePort } from '../../servers.js'
import { sharedDeployment } from '../../shared.js'
import { startConsumers, startGateway } from '../../services.js'

/** What the source of this test answers, by asset. @type {Record<string, string>} */
const PRICES = {}
Object.assign(globalThis, { pricesOfTest: PRICES })

t.test('a program gets prices, and follows them', async (t) => {
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const folder = t.testdir({
    'mine.js': `export const sources = { mine: async (asset) => asset in pricesOfTest
      ? { price: pricesOfTest[asset], ts: Date.now() }
      : null }`
  })
  const flags = ['--system-partitions', '2']
  const prices = openPrices({ redisUrl, keyPrefix, deadlineMs: 10_000 })
  t.teardown(prices.close)
  await t.rejects(prices.get('btc-usd'), { code: 'ASSET_UNKNOWN', retryable: false }, 'before there is any')

  const place = { redisUrl, keyPrefix }
  const gateway = await startGateway(t, { ...place, flags: [...flags, '--tiers', 'hot=0.3/1/60,medium=30/60/300,cold=300/600/1800'] })
  await startConsumers(t, { ...place, flags: ['--systems', 'prices', '--exchanges', `${folder}/mine.js`, ...flags] })
  const set = (/** @type {string} */ asset, tier = 'hot') =>
    gateway.send('PUT', `/v1/assets/${asset}`, JSON.stringify({ tier, pinned: true }), { 'content-type': 'application/json' })

  PRICES['btc-usd'] = '61234.5678901234567'
  await set('btc-usd')
  const first = await eventually(() => prices.get('BTC-usd').catch(({ code }) => { throw new Error(code) }))
  t.match(first, {
    asset: 'btc-usd',
    price: '61234.5678901234567',
    updatedAt: Number,
    asOf: Number,
    tier: 'hot',
    seq: Number,
    sources: [{ exchange: 'mine', ok: true, ts: Number }]
  })
  await set('unlisted', 'cold')
  await t.rejects(eventually(() => prices.get('unlisted').catch((error) => error.code === 'PRICE_NO_DATA' && error))
    .then((error) => { throw error }), { code: 'PRICE_NO_DATA', retryable: true })
  await t.rejects(prices.get('other'), { code: 'ASSET_UNKNOWN' })

  const stop = new AbortController()
  const seen = /** @type {any[]} */ ([])
  const following = (async () => {
    for await (const change of prices.follow('btc-usd', { signal: stop.signal })) seen.push(change)
  })()
  await eventually(() => seen.length > 0)
  t.match(seen[0], { asset: 'btc-usd', price: '61234.5678901234567', status: /fresh|stale/, tier: 'hot', seq: Number })
  PRICES['btc-usd'] = '61235'
  await eventually(() => seen.at(-1).price === '61235')
  t.ok(seen.every(({ price, status }, i) => i === 0 || price !== seen[i - 1].price || status !== seen[i - 1].status), 'changes only')
  stop.abort()
  await following

  await t.rejects(prices.follow('other').next(), { code: 'ASSET_UNKNOWN' })
  t.throws(() => prices.follow('btc usd'), { code: 'ARGUMENT_INVALID', message: /asset "btc usd"; expected 1-64/ })
  t.throws(() => prices.follow('btc-usd', /** @type {any} */ ({ signal: 1 })), { code: 'ARGUMENT_INVALID' })
  await t.rejects(prices.get(/** @type {any} */ (5)), { code: 'ARGUMENT_INVALID' })

  const other = prices.follow('btc-usd')
  t.notOk((await other.next()).done)
  await prices.close()
  for (let next = await other.next(); !next.done;) next = await other.next()
  await t.rejects(prices.get('btc-usd'), { code: 'PIPELINE_CLOSED' })
})

t.test('options are checked at once; servers are asked by the first call', async (t) => {
  for (const [options, faults] of /** @type {[any, RegExp[]][]} */ ([
    [undefined, [/redisUrl is missing/]],
    [{ redisUrl: 'redis://h', partitions: 4 }, [/partitions is unknown; the options are redisUrl keyPrefix deadlineMs log/]],
    [{ redisUrl: 'redis://h', deadlineMs: 1, keyPrefix: 'A' }, [/keyPrefix/, /deadlineMs/]]
  ])) t.throws(() => openPrices(options), { code: 'SETTINGS_INVALID', faults })
  const prices = openPrices({ redisUrl: `redis://127.0.0.1:${await freePort()}`, deadlineMs: 200 })
  await t.rejects(prices.get('btc-usd'), { code: 'SERVER_UNREACHABLE', retryable: true })
  await prices.close()
})
