/** Prices as clients see them, over HTTP, on real servers and local exchanges. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { isProblem } from '../../gateway/requests.js'
import { nightly } from '../../scope.js'
import { eventually } from '../../servers.js'
import { sharedDeployment } from '../../shared.js'
import { EXCHANGES, startPrices } from './pricing.js'

const REQUESTS = nightly(1000, 300)

t.test('prices', async (t) => {
  const { gateway, readers, reader, exchanges } = await startPrices(t, { ...await sharedDeployment(t), readers: 2 })

  await t.test('an asset is created, refreshed at once, and served with its age', async (t) => {
    isProblem(t, await reader.price('btc-usd'), 404, 'ASSET_UNKNOWN')
    t.same((await reader.get('/v1/assets')).json, { items: [], next: null }, 'there is no system yet')
    t.match(await gateway.asset('BTC-usd', { tier: 'hot' }), { status: 201, json: { asset: 'btc-usd', tier: 'hot', pinned: false } })
    // a busy machine may ask when it is stale again
    const first = await eventually(async () => {
      const reply = await reader.price('btc-usd')
      return reply.json.status === 'fresh' && reply
    })
    t.match(first, {
      status: 200,
      json: { asset: 'btc-usd', price: /^\d+(\.\d{1,13})?$/, updatedAt: Number, tier: 'hot', status: 'fresh', seq: Number }
    })
    t.match(first.json.sources.map(({ exchange, ok }) => [exchange, ok]), [['alpha', true], ['beta', true], ['gamma', true]])
    t.match(first.headers.get('cache-control'), /^public, max-age=1, stale-while-revalidate=3$/)
    await eventually(async () => (await reader.price('btc-usd')).headers.get('freshet-cache') === 'local')
    await eventually(async () => (await reader.price('Btc-Usd')).json.seq > first.json.seq)
    t.match(await gateway.asset('btc-usd', { tier: 'hot' }), { status: 200 })
    t.match(await gateway.send('PUT', '/v1/assets/bare', undefined, { 'idempotency-key': 'k1' }), { status: 201 }, 'no field is required')
    t.match(await reader.get('/v1/assets/Bare/by-request/k1'), { status: 201, json: { asset: 'bare', tier: 'cold', pinned: false } })
    isProblem(t, await reader.get('/v1/assets/bare/by-request/k2'), 404, 'REQUEST_NOT_ACCEPTED')
  })

  await t.test('a reply that has not changed is 304, with its age', async (t) => {
    await gateway.asset('etag')
    const { headers } = await reader.price('etag')
    const again = await reader.price('etag', { 'if-none-match': headers.get('etag') })
    t.match(again, { status: 304, body: '' })
    t.match(again.headers.get('age'), /^\d+$/)
  })

  await t.test('many requests for an asset without a price, at two readers, cost one refresh', async (t) => {
    const asset = 'storm'
    await exchanges.faults([...EXCHANGES], { latencyMs: 100 })
    await gateway.asset(asset)
    const replies = await Promise.all(Array.from({ length: REQUESTS }, (_, i) => readers[i % 2].price(asset)))
    await exchanges.faults([...EXCHANGES], null)
    t.ok(replies.every(({ status }) => status === 200 || status === 503))
    const { seq } = await eventually(async () => (await reader.price(asset)).json)
    // one, unless the machine was so busy that a source was late, and the refresh repeated
    for (const calls of await exchanges.calls(asset)) t.ok(calls <= seq, `${calls} calls, ${seq} refreshes`)
    t.ok(seq < 100, 'far fewer than those who asked')
  })

  await t.test('several prices at once, each with its own status', async (t) => {
    await gateway.asset('eth-usd')
    await gateway.asset('none-such')
    await reader.price('eth-usd')
    const { json } = await reader.get('/v1/prices?assets=eth-usd,none-such,ETH-USD,missing')
    t.match(json.items, [
      { asset: 'eth-usd', status: 'fresh' }, { asset: 'none-such', status: 'no_data' }, { asset: 'missing', status: 'unknown' }])
    t.equal(json.items.length, 3)
    isProblem(t, await reader.get('/v1/prices'), 400, 'REQUEST_INVALID')
    for (const assets of ['', 'a,,b', '../x', 'ü', Array(101).fill('a').join(',')]) {
      isProblem(t, await reader.get(`/v1/prices?assets=${encodeURIComponent(assets)}`), 400, 'REQUEST_INVALID')
    }
  })

  await t.test('a refresh on demand', async (t) => {
    await gateway.asset('forced')
    const first = await reader.price('forced')
    await sleep(Math.max(0, first.json.updatedAt + 1050 - Date.now()))
    const forced = await gateway.refresh('forced', { 'idempotency-key': 'f1' })
    t.match(forced, { status: 200, json: { status: 'refreshed', price: String, seq: Number } })
    t.ok(forced.json.seq > first.json.seq)
    t.match(await gateway.refresh('forced'), { status: 202, json: { status: /too_soon|in_progress/ } })
    isProblem(t, await gateway.refresh('missing'), 404, 'ASSET_UNKNOWN')
    await gateway.asset('none-forced')
    await eventually(async () => (await gateway.refresh('none-forced')).status === 502)
  })

  await t.test('history and candles', async (t) => {
    await gateway.asset('candles', { tier: 'hot' })
    await eventually(async () => (await reader.price('candles')).json?.seq >= 4)
    const { json: { items } } = await reader.history('candles', '')
    t.ok(items.length >= 4)
    t.ok(items.every(({ at }, i) => i === 0 || at > items[i - 1].at))
    const from = items[0].at
    const [candle] = (await reader.history('candles', `?from=${from}&to=${from + 60_000}&step=60000`)).json.items
    t.match(candle, { at: Number, open: items[0].price, high: String, low: String, close: String })
    isProblem(t, await reader.history('candles', '?from=10&to=9'), 400, 'REQUEST_INVALID')
    isProblem(t, await reader.history('missing', ''), 404, 'ASSET_UNKNOWN')
  })

  await t.test('tiers: set, pinned, raised by demand, listed', async (t) => {
    await gateway.asset('popular')
    await gateway.asset('pinned', { tier: 'cold', pinned: true })
    for (let i = 0; i < 120; i++) await Promise.all([reader.price('popular'), reader.price('pinned')])
    const tierOf = async (/** @type {string} */ asset) => (await reader.price(asset)).json.tier
    await eventually(async () => await tierOf('popular') === 'hot')
    t.equal(await tierOf('pinned'), 'cold')
    const { json: { seq }, ...moved } = await gateway.asset('popular', { tier: 'medium', pinned: true })
    t.match(moved, { status: 200 })
    t.match((await reader.get(`/v1/prices/popular?minSeq=${seq}&waitMs=5000`)).json, { tier: 'medium' })
    const pages = []
    for (let next = ''; next !== null;) {
      const { json } = await reader.get(`/v1/assets?limit=3${next && `&after=${next}`}`)
      pages.push(...json.items)
      next = json.next
    }
    t.match(pages.find(({ asset }) => asset === 'popular'), { tier: 'medium', pinned: true })
    t.same(pages.map(({ asset }) => asset), pages.map(({ asset }) => asset).sort())
  })

  await t.test('what is malformed is refused and creates nothing', async (t) => {
    for (const id of ['..%2Fx', 'a'.repeat(200), '%C3%BC', 'a%20b', 'a{b']) {
      isProblem(t, await reader.price(id), 400, 'REQUEST_INVALID')
      isProblem(t, await gateway.asset(id), 400, 'REQUEST_INVALID')
    }
    isProblem(t, await gateway.asset('x', { tier: 'warm' }), 422, 'FIELD_INVALID')
    isProblem(t, await gateway.asset('x', { pinned: 'yes' }), 422, 'FIELD_INVALID')
    isProblem(t, await gateway.asset('x', { tears: 1 }), 400, 'REQUEST_INVALID')
    t.notMatch((await reader.get('/v1/assets?limit=1000')).body, '"x"')
  })

  await t.test('sources are shown', async (t) => {
    const { json } = await eventually(async () => {
      const answer = await reader.get('/v1/sources')
      return answer.json.items.length === 3 && answer
    })
    t.match(json.items[0], { exchange: 'alpha', breaker: 'closed', latencyMs: Number, url: exchanges.urls.alpha })
  })

  await t.test('a price is as old as its sources say; sources that stand still are not healthy', async (t) => {
    const staleMs = 30_000
    await exchanges.faults([...EXCHANGES], { stale: staleMs })
    await gateway.asset('aged', { tier: 'cold', pinned: true })
    await gateway.asset('expired', { tier: 'hot', pinned: true })
    const { headers, json } = await eventually(async () => {
      const answer = await reader.price('aged')
      return answer.status === 200 && answer
    })
    t.ok(Number(headers.get('age')) >= staleMs / 1000, 'not since the refresh')
    t.ok(json.updatedAt - json.asOf >= staleMs)
    t.equal(json.status, 'fresh', 'its soft expiry is after two minutes')
    await eventually(async () => (await reader.get('/v1/sources')).json.items.every((/** @type {any} */ one) => one.lastError === 'old'))
    isProblem(t, await reader.price('expired'), 503, 'PRICE_NO_DATA')
    const sources = EXCHANGES.map((exchange) => ({ exchange, ok: false, reason: 'old' }))
    t.match((await reader.get('/v1/prices?assets=expired')).json.items,
      [{ asset: 'expired', status: 'no_data', failed: { at: Number, reason: 'all_failed', sources } }], 'why there is no price')
    await exchanges.faults([...EXCHANGES], null)
    await eventually(async () => (await reader.price('expired')).status === 200)
  })
})
