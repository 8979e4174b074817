/** Adapters of real exchanges, against local servers that reply as the exchanges document it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import t from 'tap'
import { createSources, exchangesOf } from '../../../src/systems/prices/index.js'
import { resolve } from '../../../settings.js'

const AT = Date.parse('2026-03-20T00:22:57.833Z')
const JSON_TYPE = { 'content-type': 'application/json' }
const KRAKEN_BTC = {
  a: ['30300.10000', '1', '1.000'],
  b: ['30300.00000', '1', '1.000'],
  c: ['30303.20000', '0.00067643'],
  v: ['4083.67001100', '4412.73601799'],
  p: ['30706.77771', '30689.13205'],
  t: [34619, 38907],
  l: ['29868.30000', '29868.30000'],
  h: ['31631.00000', '31631.00000'],
  o: '30502.80000'
}

/** @typedef {{ status?: number, headers?: Record<string, string>, body: unknown }} Reply */

/**
 * @param {import('tap').Test} t @param {string} name of an exchange @param {Record<string, Reply>} replies by URL
 * @returns {Promise<(asset: string) => Promise<any>>} one tick
 */
async function startExchange (t, name, replies) {
  const server = createServer(({ url, headers }, response) => {
    t.ok(headers['user-agent'])
    const { status = 200, headers: own, body } = replies[String(url)] ?? { status: 404, body: { message: 'NotFound' } }
    response.writeHead(status, { ...JSON_TYPE, ...own }).end(typeof body === 'string' ? body : JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${/** @type {any} */ (server.address()).port}/`
  const sources = createSources({ exchanges: exchangesOf({ exchanges: [name], exchangeUrls: [`${name}=${url}`] }), callMs: 20_000 })
  t.teardown(() => {
    sources.close()
    server.close()
    server.closeAllConnections()
  })
  return async (asset) => (await sources.ticks(asset))[0]
}

t.test('Coinbase Exchange', async (t) => {
  const tick = await startExchange(t, 'coinbase', {
    '/products/BTC-USD/ticker': {
      body: {
        trade_id: 86326522,
        price: '6268.48',
        size: '0.00698254',
        time: '2026-03-20T00:22:57.833Z',
        bid: '6265.15',
        ask: '6267.71',
        volume: '53602.03940154',
        rfq_volume: '123.122',
        conversions_volume: '0.00'
      }
    },
    '/products/ETH-USD/ticker': { status: 429, body: { message: 'Public rate limit exceeded' } },
    '/products/SOL-USD/ticker': { body: { message: 'maintenance' } }
  })
  t.same(await tick('btc-usd'), { exchange: 'coinbase', ok: true, price: '6268.48', volume: '53602.03940154', ts: AT })
  t.match(await tick('sol-usd'), { ok: false, reason: 'bad_json' })
  t.match(await tick('abc-usd'), { ok: false, reason: 'not_found' })
  t.match(await tick('eth-usd'), { ok: false, reason: 'rate_limited' })
})

t.test('Kraken', async (t) => {
  const headers = { date: 'Fri, 20 Mar 2026 00:22:57 GMT' }
  const tick = await startExchange(t, 'kraken', {
    '/0/public/Ticker?pair=XBTUSD': { headers, body: { error: [], result: { XXBTZUSD: KRAKEN_BTC } } },
    '/0/public/Ticker?pair=SOLUSD': { headers, body: { error: [], result: { SOLUSD: KRAKEN_BTC } } },
    '/0/public/Ticker?pair=ETHUSD': { headers, body: { error: [], result: { XXBTZUSD: KRAKEN_BTC } } },
    '/0/public/Ticker?pair=ABCUSD': { headers, body: { error: ['EQuery:Unknown asset pair'] } },
    '/0/public/Ticker?pair=ADAUSD': { headers, body: { error: ['EService:Unavailable'] } },
    '/0/public/Ticker?pair=DOTUSD': { headers, body: { error: ['EGeneral:Too many requests'] } }
  })
  const btc = { exchange: 'kraken', ok: true, price: '30303.20000', volume: '4412.73601799', ts: Date.parse(headers.date) }
  t.same(await tick('btc-usd'), btc)
  t.same(await tick('sol-usd'), btc)
  t.match(await tick('eth-usd'), { ok: false, reason: 'wrong_symbol' })
  t.match(await tick('abc-usd'), { ok: false, reason: 'not_found' })
  t.match(await tick('ada-usd'), { ok: false, reason: 'exchange_error' })
  t.match(await tick('dot-usd'), { ok: false, reason: 'rate_limited' })
  t.match(await tick('btc-usd'), { ok: false, reason: 'breaker_open' }, 'an error with status 200 stops the calls, too')
})

t.test('Bitstamp', async (t) => {
  const tick = await startExchange(t, 'bitstamp', {
    '/api/v2/ticker/btcusd/': {
      body: {
        timestamp: '1773966177',
        open: '2211.00',
        high: '2811.00',
        low: '2188.97',
        last: '2211.00',
        volume: '213.26801100',
        vwap: '2189.80',
        bid: '2188.97',
        ask: '2211.00',
        side: '0',
        open_24: '2211.00',
        percent_change_24: '13.57',
        market_type: 'SPOT'
      }
    },
    '/api/v2/ticker/ethusd/': {
      status: 400,
      body: { response_code: '400.002', response_explanation: 'Request rejected due to exceeded rate limit.' }
    },
    '/api/v2/ticker/solusd/': { headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>Bitstamp</title>' }
  })
  t.same(await tick('btc-usd'), { exchange: 'bitstamp', ok: true, price: '2211.00', volume: '213.26801100', ts: 1_773_966_177_000 })
  t.match(await tick('eth-usd'), { ok: false, reason: 'http_400' })
  t.match(await tick('sol-usd'), { ok: false, reason: 'bad_json' })
  t.match(await tick('abc-usd'), { ok: false, reason: 'not_found' })
})

t.test('settings name the exchanges, and their URLs', async (t) => {
  const known = { command: 'consumers', layouts: [], acks: [] }
  const read = (/** @type {string[]} */ ...flags) => exchangesOf(/** @type {any} */ (resolve(flags, {}, known)))
  t.same(read().map(({ name, base }) => [name, base]),
    [['alpha', 'http://127.0.0.1:8090'], ['beta', 'http://127.0.0.1:8091'], ['gamma', 'http://127.0.0.1:8092']])
  t.same(read('--exchanges', 'coinbase,kraken, bitstamp').map(({ base }) => new URL(base).protocol), ['https:', 'https:', 'https:'])
  t.match(read('--exchanges', 'kraken,coinbase', '--exchange-urls', 'kraken=http://127.0.0.1:9/'),
    [{ name: 'kraken', base: 'http://127.0.0.1:9' }, { name: 'coinbase', base: 'https://api.exchange.coinbase.com' }])
  for (const [flags, wrong] of /** @type {[string[], RegExp][]} */ ([
    [['--exchanges', 'mtgox,kraken'], /mtgox.*expected local, or two or more of coinbase, kraken, bitstamp/],
    [['--exchanges', 'kraken'], /fewer than two/], [['--exchanges', 'kraken,kraken'], /one twice/],
    [['--exchange-urls', 'alpha'], /expected NAME=URL/], [['--exchange-urls', 'alpha=ftp://x'], /expected NAME=URL/],
    [['--exchange-urls', 'kraken=http://127.0.0.1:9'], /expected only exchanges in use: alpha, beta, gamma/]
  ])) t.throws(() => read(...flags), { message: wrong })
})
