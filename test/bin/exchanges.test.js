import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { syntheticTick } from '../../src/systems/prices/index.js'
import { endOfMain } from './in-process.js'

const FRESHET = fileURLToPath(new URL('../../bin/freshet.js', import.meta.url))
const SEED = 1

/** @param {import('tap').Test} t @param {string[]} flags */
function start (t, flags) {
  const child = fork(FRESHET, ['exchanges', ...flags], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env: { PATH: process.env.PATH } })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

const child = start(t, ['--port', '0'])
const lines = child.stdout?.toArray()
const [{ urls }] = await once(child, 'message')

/** @param {string} path @param {RequestInit} [init] @param {string} [exchange] */
async function send (path, init, exchange = 'alpha') {
  const response = await fetch(urls[exchange] + path, { redirect: 'manual', ...init })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) }
}

/** @param {import('tap').Test} t @param {object} faults */
async function withFaults (t, faults) {
  t.teardown(() => send('/faults', { method: 'DELETE' }))
  const { status, json } = await send('/faults', { method: 'PUT', body: JSON.stringify(faults) })
  t.equal(status, 200)
  t.match(json(), faults)
}

t.test('each exchange serves prices that anyone can compute again', async (t) => {
  t.same(Object.keys(urls), ['alpha', 'beta', 'gamma'])
  for (const exchange of Object.keys(urls)) {
    const { status, json } = await send('/ticker/btc-usd', undefined, exchange)
    t.equal(status, 200)
    const { symbol, ...ticker } = json()
    t.equal(symbol, 'btc-usd')
    t.same(ticker, syntheticTick({ seed: SEED, exchange, symbol, tick: ticker.ts / 1000, tickMs: 1000 }))
    t.ok(Math.abs(Date.now() - ticker.ts) < 60_000)
  }
})

t.test('symbols that begin with none, and those that no asset can have, are not listed', async (t) => {
  for (const symbol of ['none', 'none-usd', 'BTC-USD', 'a'.repeat(65), '%E4', '%2e%2e%2f', 'a/b', '']) {
    t.equal((await send(`/ticker/${symbol}`)).status, 404, symbol)
  }
})

t.test('calls are counted by symbol, and the last ones are listed', async (t) => {
  await send('/calls', { method: 'DELETE' })
  for (const symbol of ['a', 'b', 'a', 'none']) await send(`/ticker/${symbol}`)
  const { total, symbols, calls } = (await send('/calls?since=2')).json()
  t.equal(total, 4)
  t.same(symbols, { a: 2, b: 1, none: 1 })
  t.match(calls, [{ n: 3, symbol: 'a', status: 200 }, { n: 4, symbol: 'none', status: 404 }])
  t.equal(calls.length, 2)
  t.same((await send('/calls?since=9')).json().calls, [])
  t.equal((await send('/calls?since=x')).status, 400)
})

t.test('faults of the reply', async (t) => {
  const get = async (/** @type {object} */ faults) => {
    await withFaults(t, faults)
    return send('/ticker/btc-usd')
  }
  t.throws((await get({ badJson: true })).json)
  t.match((await get({ html: true })).headers.get('content-type'), 'text/html')
  t.not((await get({ wrongSymbol: true })).json().symbol, 'btc-usd')
  t.equal((await get({ zeroVolume: true })).json().volume, '0')
  t.ok(Number((await get({ outlier: 1000 })).json().price) > 10_000)
  t.ok(Number((await get({ outlier: -1 })).json().price) < 0)
  t.ok((await get({ stale: 60_000 })).json().ts < Date.now() - 59_000)
  t.ok((await get({ skewMs: 3_600_000 })).json().ts > Date.now() + 3_500_000)
  const limited = await get({ rateLimited: 7 })
  t.same([limited.status, limited.headers.get('retry-after')], [429, '7'])
  t.equal((await get({ redirect: true })).status, 302)
  t.ok((await get({ tenMegabytes: true })).text.length > 10_000_000)
  t.equal((await send('/ticker/btc-usd', undefined, 'beta')).status, 200, 'of this exchange only')
})

t.test('errors have exactly their share of the calls', async (t) => {
  await withFaults(t, { errorRate: 0.25 })
  const statuses = []
  for (let i = 0; i < 40; i++) statuses.push((await send('/ticker/btc-usd')).status)
  t.equal(statuses.filter((status) => status === 500).length, 10)
})

t.test('an exchange that hangs or sends slowly', async (t) => {
  await withFaults(t, { hang: true })
  await t.rejects(send('/ticker/btc-usd', { signal: AbortSignal.timeout(300) }))
  await withFaults(t, { slowBody: true })
  const { body } = await fetch(`${urls.alpha}/ticker/btc-usd`)
  t.equal((await /** @type {ReadableStream} */ (body).getReader().read()).value.length, 1)
  await withFaults(t, { latencyMs: 200 })
  const startedAt = performance.now()
  await send('/ticker/btc-usd')
  t.ok(performance.now() - startedAt >= 195)
})

t.test('faults that do not exist are refused, and the known ones listed', async (t) => {
  const put = (/** @type {string} */ body) => send('/faults', { method: 'PUT', body })
  for (const [body, wrong] of [
    ['{"hangs": true}', /hangs.*hang/s], ['{"errorRate": 2}', /errorRate: 2; expected a number from 0 to 1/],
    ['{"hang": 1}', /hang: 1; expected true or false/], ['[]', /not an object/], ['hang', /not JSON/]
  ]) {
    const { status, json } = await put(String(body))
    t.equal(status, 400)
    t.match(json().error, wrong)
  }
  t.equal((await put('x'.repeat(20_000))).status, 413)
  t.equal((await send('/faults', { method: 'POST' })).status, 405)
  t.equal((await send('/prices')).status, 404)
})

t.test('pages of this machine may switch faults, others may not', async (t) => {
  const preflight = async (/** @type {string} */ origin) =>
    (await send('/faults', { method: 'OPTIONS', headers: { origin } })).headers.get('access-control-allow-origin')
  t.equal(await preflight('http://127.0.0.1:8080'), 'http://127.0.0.1:8080')
  t.equal(await preflight('http://localhost:8080'), 'http://localhost:8080')
  t.equal(await preflight('https://example.org'), null)
  t.equal(await preflight('null'), null)
})

t.test('a port that is in use, or without room for three', async (t) => {
  for (const [port, status, message] of [[new URL(urls.alpha).port, 1, /in use/], ['65535', 2, /expected room for 3 ports/]]) {
    t.match(await endOfMain(['exchanges', '--port', String(port)]), { code: status, stderr: message })
  }
})

t.test('the command prints a line per exchange and ends with 0 when it is stopped', async (t) => {
  child.send({ event: 'stop' })
  t.same(await once(child, 'exit'), [0, null])
  t.match(Buffer.concat(await lines ?? []).toString(), /^(exchange (alpha|beta|gamma) http:\/\/127\.0\.0\.1:\d+\n){3}$/)
})
