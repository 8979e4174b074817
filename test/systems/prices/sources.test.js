/** The sources of prices against local exchanges, with each of their faults, and against servers that no exchange should be. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createExchange } from '../../../demo/exchanges/server.js'
import { aggregate, createSources, exchangesOf, syntheticTick } from '../../../src/systems/prices/index.js'
import { eventually, freePort, silentLog } from '../../servers.js'

const NAMES = ['alpha', 'beta', 'gamma']
const TICK_MS = 1_000
const RESET_MS = 1_000
/** no call of a test that succeeds may take longer, on a busy machine either */
const PATIENT_MS = 20_000
const GOOD = JSON.stringify({ symbol: 'btc-usd', price: '1', volume: '1', ts: 1 })

/** @param {import('tap').Test} t @param {import('node:http').Server} server @returns {Promise<string>} */
async function listen (t, server) {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`
}

/** @param {import('tap').Test} t @param {string[]} urls of alpha, beta, gamma @param {{ callMs?: number }} [options] */
function sourcesAt (t, urls, { callMs = PATIENT_MS } = {}) {
  const exchanges = exchangesOf({ exchanges: ['local'], exchangeUrls: urls.map((url, i) => `${NAMES[i]}=${url}`) })
  const sources = createSources({ exchanges: exchanges.slice(0, urls.length), callMs, resetMs: RESET_MS })
  t.teardown(sources.close)
  return sources
}

/** @param {import('tap').Test} t @param {{ callMs?: number, latencyMs?: number }} [options] */
async function startExchanges (t, { callMs, latencyMs = 0 } = {}) {
  const of = { seed: 1, tickMs: TICK_MS, latencyMs, log: silentLog }
  const urls = await Promise.all(NAMES.map((name) => {
    const exchange = createExchange({ name, ...of })
    t.teardown(() => exchange.close())
    return exchange.listen({ host: '127.0.0.1', port: 0 })
  }))
  /** @param {number} i @param {string} path @param {RequestInit} [init] @returns {Promise<any>} */
  const send = async (i, path, init) => (await fetch(urls[i] + path, init)).json()
  return {
    sources: sourcesAt(t, urls, { callMs }),
    /** @param {number} i @param {object} faults */
    set: (i, faults) => send(i, '/faults', { method: 'PUT', body: JSON.stringify(faults) }),
    /** @param {number} i @returns {Promise<number>} */
    callsOf: async (i) => (await send(i, '/calls')).total
  }
}

/** A server with one reply. @param {import('tap').Test} t @param {import('node:http').RequestListener} listener */
async function startOne (t, listener, { callMs = PATIENT_MS } = {}) {
  return sourcesAt(t, [await listen(t, createServer(listener))], { callMs })
}

/** @param {any[]} ticks */
const outcomes = (ticks) => ticks.map(({ ok, reason }) => ok ? 'ok' : reason)

t.test('all sources are asked, and each tick is what the exchange said', async (t) => {
  const { sources } = await startExchanges(t)
  const ticks = await sources.ticks('btc-usd')
  for (const { latencyMs } of sources.figures()) t.equal(latencyMs, Number(latencyMs?.toFixed(1)), 'to a tenth of a millisecond')
  t.equal(ticks.length, 3)
  for (const [i, tick] of ticks.entries()) {
    if (!tick.ok) return t.fail(tick.reason)
    const { ts } = tick
    const of = { seed: 1, exchange: NAMES[i], symbol: 'btc-usd', tick: ts / TICK_MS, tickMs: TICK_MS }
    t.same(tick, { exchange: NAMES[i], ok: true, ...syntheticTick(of) })
  }
  const [figures] = sources.figures()
  t.match(figures, { exchange: 'alpha', breaker: 'closed', lastError: null, calls: 1, failures: 0, skipped: 0 })
  t.ok(Number(figures.latencyMs) > 0)
})

t.test('they are asked in parallel', async (t) => {
  /** @type {import('node:http').ServerResponse[]} */
  const waiting = []
  const urls = await Promise.all(NAMES.map(() => listen(t, createServer((_, response) => {
    if (waiting.push(response) === 3) for (const one of waiting) one.end(GOOD)
  }))))
  t.same(outcomes(await sourcesAt(t, urls).ticks('btc-usd')), ['ok', 'ok', 'ok'], 'none replies before all were asked')
})

t.test('each fault of one source is a reason, and does not touch the others', async (t) => {
  const { sources, set } = await startExchanges(t)
  for (const [faults, reason] of /** @type {[object, string][]} */ ([
    [{ errorRate: 1 }, 'http_500'], [{ badJson: true }, 'bad_json'], [{ html: true }, 'bad_json'], [{ wrongSymbol: true }, 'wrong_symbol'],
    [{ redirect: true }, 'redirect'], [{ tenMegabytes: true }, 'too_large']
  ])) {
    await set(0, faults)
    t.same(outcomes(await sources.ticks('btc-usd')), [reason, 'ok', 'ok'])
    t.match(sources.figures()[0].lastError, reason)
  }
  await set(0, {})
  t.same(outcomes(await sources.ticks('none-usd')), ['not_found', 'not_found', 'not_found'])
})

t.test('a source that hangs, or sends slowly, ends at the deadline', async (t) => {
  const { sources, set } = await startExchanges(t, { callMs: 400 })
  for (const faults of [{ hang: true }, { slowBody: true }, { latencyMs: 5_000 }]) {
    await set(1, faults)
    const startedMs = performance.now()
    t.equal(outcomes(await sources.ticks('btc-usd'))[1], 'timeout')
    t.ok(performance.now() - startedMs >= 395)
  }
})

t.test('what a fault means for the price', async (t) => {
  const { sources, set } = await startExchanges(t)
  const last = { price: '405', hard: Infinity }
  const get = async () => /** @type {any} */ (aggregate(await sources.ticks('btc-usd'), { nowMs: Date.now(), last, candidate: null }))
  const reasons = (/** @type {any} */ { sources }) => sources.map((/** @type {any} */ { reason }) => reason ?? 'ok')
  const { price } = await get()
  last.price = price
  for (const [faults, reason] of /** @type {[object, string][]} */ ([
    [{ outlier: 1_000 }, 'outlier'], [{ outlier: -1 }, 'negative'], [{ outlier: 0 }, 'negative'], [{ stale: 62_000 }, 'old'],
    [{ skewMs: 3_600_000 }, 'ahead'], [{ skewMs: -3_600_000 }, 'old'], [{ zeroVolume: true }, 'ok']
  ])) {
    await set(2, faults)
    const result = await get()
    t.ok(Math.abs(result.price / price - 1) < 0.05, JSON.stringify(faults))
    t.same(reasons(result), ['ok', 'ok', reason])
  }
  await set(1, { outlier: 1_000 })
  await set(2, { outlier: 1_000 })
  t.match(await get(), { failure: 'moved' })
  for (const i of [0, 1, 2]) await set(i, { errorRate: 1 })
  t.match(await get(), { failure: 'all_failed' })
})

t.test('replies that no exchange should send', async (t) => {
  const good = JSON.parse(GOOD)
  for (const [body, reason] of [
    ['null', 'bad_json'], ['[]', 'wrong_symbol'], ['', 'bad_json'], ['"a"', 'wrong_symbol'], ['{"symbol":"btc-usd"}', 'bad_json'],
    [JSON.stringify({ ...good, price: 1 }), 'bad_json'], [JSON.stringify({ ...good, price: '1'.repeat(65) }), 'bad_json'],
    [JSON.stringify({ ...good, ts: '1' }), 'bad_json'], [JSON.stringify({ ...good, ts: 1.5 }), 'bad_json'],
    [JSON.stringify({ ...good, price: 'NaN' }), 'ok'], ['\xff\xfe', 'bad_json']
  ]) {
    const sources = await startOne(t, (_, response) => response.end(body))
    t.same(outcomes(await sources.ticks('btc-usd')), [reason], body)
  }
  const statuses = /** @type {[number, string][]} */ ([[500, 'http_500'], [403, 'http_403'], [204, 'http_204'], [304, 'redirect']])
  for (const [status, reason] of statuses) {
    const sources = await startOne(t, (_, response) => response.writeHead(status).end())
    t.same(outcomes(await sources.ticks('btc-usd')), [reason])
  }
})

t.test('a body of exactly 64 KiB is read, a larger one is not, whatever its length says', async (t) => {
  const body = (/** @type {number} */ bytes) => GOOD.padEnd(bytes)
  for (const [bytes, outcome] of /** @type {[number, string][]} */ ([[65_536, 'ok'], [65_537, 'too_large']])) {
    const sources = await startOne(t, (_, response) => {
      response.writeHead(200)
      response.write(body(bytes).slice(0, 100))
      response.end(body(bytes).slice(100))
    })
    t.same(outcomes(await sources.ticks('btc-usd')), [outcome])
  }
})

t.test('a source that cannot be reached', async (t) => {
  const port = await freePort()
  const broken = await listen(t, createServer((request) => request.socket.destroy()))
  const half = await listen(t, createServer((request, response) => {
    response.writeHead(200, { 'content-length': 100 }).write('{')
    setImmediate(() => request.socket.destroy())
  }))
  const sources = sourcesAt(t, [`http://127.0.0.1:${port}`, broken, half])
  t.same(outcomes(await sources.ticks('btc-usd')), ['unreachable', 'unreachable', 'unreachable'])
  const nameless = sourcesAt(t, ['http://no-such-host.invalid'])
  t.same(outcomes(await nameless.ticks('btc-usd')), ['unreachable'])
})

t.test('connections are kept, and one that the exchange closed at that moment is replaced', async (t) => {
  let connections = 0
  let calls = 0
  const server = createServer((request, response) => {
    calls++
    // as a server that closes an idle connection when the next request is on its way
    if (calls === 3) request.socket.resetAndDestroy()
    else response.end(GOOD)
  }).on('connection', () => connections++)
  const sources = sourcesAt(t, [await listen(t, server)])
  for (let i = 0; i < 4; i++) t.same(outcomes(await sources.ticks('btc-usd')), ['ok'])
  t.equal(connections, 2)
})

t.test('429 stops the calls for as long as Retry-After says: seconds, a date, or one second without it', async (t) => {
  for (const header of [() => '1', () => new Date(Date.now() + 2_000).toUTCString(), () => undefined]) {
    const retryAfter = header()
    const at = /** @type {number[]} */ ([])
    const sources = await startOne(t, (_, response) => {
      at.push(performance.now())
      if (at.length > 1) return response.end(GOOD)
      response.writeHead(429, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end()
    })
    t.same(outcomes(await sources.ticks('btc-usd')), ['rate_limited'])
    t.equal(sources.figures()[0].breaker, 'open')
    t.same(outcomes(await sources.ticks('btc-usd')), ['breaker_open'])
    t.match(sources.figures(), [{ calls: 1, failures: 1, skipped: 1 }])
    await eventually(async () => outcomes(await sources.ticks('btc-usd'))[0] === 'ok')
    t.ok(at[1] - at[0] > 800, `${at[1] - at[0]} ms`)
    t.equal(sources.figures()[0].breaker, 'closed')
  }
})

t.test('a dead source gets its threshold of calls, one probe per reset period, and is back within one period and one probe', async (t) => {
  const { sources, set, callsOf } = await startExchanges(t, { callMs: 100 })
  await set(0, { hang: true })
  const startedMs = performance.now()
  const waves = await Promise.all(Array.from({ length: 100 }, () => sources.ticks('btc-usd')))
  t.ok(waves.every(([first]) => !first.ok))
  t.ok(sources.figures()[0].skipped >= 100 - sources.threshold)
  while (performance.now() - startedMs < 3.5 * RESET_MS) {
    await sources.ticks('btc-usd')
    await sleep(10)
  }
  const periods = Math.ceil((performance.now() - startedMs) / RESET_MS)
  const calls = await callsOf(0)
  t.ok(calls <= sources.threshold + periods, `${calls} calls, threshold ${sources.threshold}, ${periods} periods`)
  t.ok(sources.figures()[0].calls > sources.threshold, 'probes were sent; on a busy machine some end before they arrive')
  await set(0, {})
  const healthyMs = performance.now()
  await eventually(async () => outcomes(await sources.ticks('btc-usd'))[0] === 'ok')
  t.comment(`back after ${Math.round(performance.now() - healthyMs)} ms`)
  t.equal(sources.figures()[0].breaker, 'closed')
})

t.test('a source that hangs takes nothing from the others, whose deadlines start when their calls start', async (t) => {
  const { sources, set } = await startExchanges(t, { callMs: 8_000, latencyMs: 20 })
  await set(0, { hang: true })
  // many more than may be in flight: most wait
  const all = await Promise.all(Array.from({ length: 400 }, () => sources.ticks('btc-usd')))
  const seen = NAMES.map((_, i) => [...new Set(all.map((ticks) => outcomes(ticks)[i]))].sort())
  t.same(seen, [['breaker_open', 'timeout'], ['ok'], ['ok']])
  t.ok(sources.figures()[0].calls <= sources.threshold)
})

t.test('no more than a third of 64 calls of a source are in flight, and far more than that are refused', async (t) => {
  const onWarning = (/** @type {Error} */ warning) => t.fail(warning.message)
  process.on('warning', onWarning)
  t.teardown(() => process.off('warning', onWarning))
  let [inFlight, most] = [0, 0]
  const server = createServer(async (_, response) => {
    most = Math.max(most, ++inFlight)
    await sleep(5)
    inFlight--
    response.end(GOOD)
  })
  const url = await listen(t, server)
  const sources = sourcesAt(t, [url, url, url])
  const ticks = await Promise.all(Array.from({ length: 100 }, () => sources.ticks('btc-usd')))
  t.ok(ticks.every((three) => three.every(({ ok }) => ok)))
  t.ok(most <= 63, `${most}`)
  const hanging = await startOne(t, () => {})
  const many = Promise.all(Array.from({ length: 10_100 }, () => hanging.ticks('btc-usd')))
  t.equal(hanging.figures()[0].skipped, 10_100 - 10_000 - 64, 'a bounded number waits')
  hanging.close()
  t.same(new Set((await many).map((ticks) => outcomes(ticks)[0])), new Set(['busy', 'closed']))
})

t.test('closed sources end their calls and keep no connection', async (t) => {
  const server = createServer(() => {})
  const sources = sourcesAt(t, [await listen(t, server)])
  const ticks = sources.ticks('btc-usd')
  await once(server, 'request')
  sources.close()
  t.same(outcomes(await ticks), ['closed'])
  t.same(outcomes(await sources.ticks('btc-usd')), ['closed'])
  await eventually(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count === 0))))
})
