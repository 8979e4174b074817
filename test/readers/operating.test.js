import { readdir } from 'node:fs/promises'
import { Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import pino from 'pino'
import t from 'tap'
import { FreshetError } from '../../src/errors.js'
import { createReader, isProblem, item, NOW, overSocket } from './fake-queries.js'

const feeds = () => ({ latest: [item('a', NOW, 'value')] })

/** A logger whose lines the test reads. */
function createLog () {
  const lines = []
  const logger = pino({ level: 'info' }, new Writable({ write (chunk, _encoding, done) { lines.push(JSON.parse(chunk)); done() } }))
  return { lines, logger }
}

t.test('livez succeeds whatever the servers do; readyz gives reasons', async (t) => {
  const { app, state } = createReader(t, feeds())
  const ready = await app.inject('/readyz')
  t.equal(ready.statusCode, 200)
  t.match(ready.json(), {
    ready: true, reasons: { length: 0 }, nodes: [{ role: 'replica', address: '10.1.2.3:6379', state: 'ok', lagMs: 1 }]
  })
  state.status = { ready: false, reasons: ['no replica answers', 'no primary'], nodes: [] }
  state.failure = new FreshetError('REPLICAS_GONE', 'gone')
  const response = await app.inject('/readyz')
  const problem = isProblem(t, response, 503, 'NOT_READY')
  t.match(problem, { ready: false, reasons: ['no replica answers', 'no primary'], detail: 'no replica answers; no primary' })
  t.match(response.headers['retry-after'], /^[123]$/)
  t.equal((await app.inject('/livez')).statusCode, 200)
})

t.test('metrics count requests by route and status, and their time', async (t) => {
  const { app } = createReader(t, feeds())
  await app.inject('/v1/feeds/latest/items')
  await app.inject('/v1/feeds/latest/items?limit=0')
  await app.inject('/v1/feeds/latest/items/a')
  await app.inject('/v1/feeds/latest/items/b')
  await app.inject('/nowhere')
  await overSocket(app, '/v1/feeds/%zz')
  const response = await app.inject('/metrics')
  t.match(response.headers['content-type'], 'text/plain')
  const text = response.body
  const count = (route, status) => Number(text.split('\n')
    .find((line) => line.startsWith(`freshet_http_requests_total{route="${route}",status="${status}"}`))?.split(' ')[1])
  t.equal(count('/v1/feeds/:feed/items', 200), 1)
  t.equal(count('/v1/feeds/:feed/items', 400), 1)
  t.equal(count('/v1/feeds/:feed/items/:id', 200), 1)
  t.equal(count('/v1/feeds/:feed/items/:id', 404), 1)
  t.equal(count('unmatched', 404), 1)
  t.equal(count('unmatched', 400), 1)
  t.match(text, '# TYPE freshet_http_request_seconds histogram')
  t.match(text, 'freshet_http_request_seconds_bucket{route="/v1/feeds/:feed/items",le="+Inf"} 2')
  t.match(text, 'freshet_http_request_seconds_count{route="/v1/feeds/:feed/items"} 2')
  t.match(text, /freshet_http_request_seconds_sum\{route="\/v1\/feeds\/:feed\/items"\} 0\.\d+/)
  for (const name of ['freshet_stale_replies_total 0', 'freshet_reply_cache_evictions_total 0', 'freshet_http_requests_in_progress 0',
    '# TYPE freshet_http_aborted_responses_total counter']) t.match(text, name)
  const buckets = [...text.matchAll(/items",le="[^"]+"\} (\d+)/g)].map(([, value]) => Number(value))
  t.same(buckets, buckets.toSorted((a, b) => a - b), 'buckets are cumulative')
})

t.test('requests beyond the bound are refused at once, and permits are returned', async (t) => {
  const { app, state } = createReader(t, feeds(), { maxRequests: 2 })
  const waiting = []
  state.delay = () => new Promise((resolve) => waiting.push(resolve))
  const asked = [app.inject('/v1/feeds/latest/items'), app.inject('/v1/feeds/latest/count')]
  while (waiting.length < 2) await setImmediate()
  const refused = await app.inject('/v1/feeds/latest/items')
  isProblem(t, refused, 503, 'OVERLOADED')
  t.match(refused.headers['retry-after'], /^[123]$/)
  t.equal((await app.inject('/livez')).statusCode, 200, 'health is not counted')
  t.equal((await app.inject('/metrics')).statusCode, 200)
  state.delay = async () => {}
  for (const resume of waiting) resume()
  t.same((await Promise.all(asked)).map(({ statusCode }) => statusCode), [200, 200])
  t.equal((await app.inject('/v1/feeds/latest/items')).statusCode, 200)
})

t.test('failures are logged once per second with a count; responses have no commands or addresses', async (t) => {
  const { lines, logger } = createLog()
  const { app, state } = createReader(t, feeds(), { logger })
  state.failure = Object.assign(new Error('boom'), { command: { name: 'auth', args: ['secret'] } })
  const problems = []
  for (let n = 0; n < 5; n++) problems.push(isProblem(t, await app.inject('/v1/feeds/latest/items'), 500, 'INTERNAL'))
  t.equal(lines.length, 1)
  t.match(lines[0], {
    level: 50, code: 'INTERNAL', status: 500, msg: 'boom', requestId: problems[0].requestId, route: '/v1/feeds/:feed/items', stack: /boom/
  })
  t.notMatch(JSON.stringify(lines), 'secret')
  t.equal(new Set(problems.map(({ requestId }) => requestId)).size, 5)
  await app.inject('/v1/feeds/latest/items?limit=0')
  t.equal(lines.length, 1, 'a fault of the request is not logged')
})

t.test('the API describes all its routes', async (t) => {
  const { app } = createReader(t, feeds())
  const document = (await app.inject('/docs/json')).json()
  t.match(document.openapi, /^3\.1/)
  t.same(Object.keys(document.paths).sort(), ['/', '/example', '/livez', '/metrics', '/readyz',
    '/v1/feeds', '/v1/feeds/{feed}', '/v1/feeds/{feed}/count', '/v1/feeds/{feed}/items', '/v1/feeds/{feed}/items/{id}',
    '/v1/feeds/{feed}/tail'])
  const items = document.paths['/v1/feeds/{feed}/items'].get
  t.same(items.parameters.map(({ name }) => name).sort(), ['after', 'encoding', 'feed', 'id', 'if-none-match', 'limit', 'since'])
  t.same(Object.keys(items.responses[200].content).sort(), ['application/json', 'application/x-ndjson'])
  t.same(Object.keys(items.responses), ['200', '304', '400', '404', '408', '414', '431', '500', '501', '503'])
  t.ok(items.responses[400].content['application/problem+json'].schema.properties.code.enum.includes('CURSOR_INVALID'))
  const ready = document.paths['/readyz'].get.responses
  t.same([ready[200], ready[503]].map(({ content }) => Object.values(content)[0].schema.properties.ready.enum), [[true], [false]])
})

t.test('neither page loads anything from another host', async (t) => {
  const { app } = createReader(t, feeds())
  for (const path of ['/', '/example', '/page/page.js', '/page/page.css', '/client.js', '/uplot.js', '/uplot.css', '/icon.svg', '/docs',
    '/docs/static/swagger-ui.css', '/docs/static/swagger-initializer.js']) {
    const response = await app.inject(path)
    t.equal(response.statusCode, 200, path)
    const policy = response.headers['content-security-policy']
    t.match(policy, "default-src 'none'", path)
    t.notMatch(policy, /https?:|\*|unsafe-eval/, path)
    t.match(policy, /script-src 'self';/, path)
  }
  const page = (await app.inject('/')).body
  t.notMatch(page, /https?:\/\//, 'no address in the page')
  t.notMatch(page, /<script(?![^>]*src=)|<style| on\w+=| style=/, 'nothing inline')
  const parts = await readdir(new URL('../../readers/page/', import.meta.url))
  for (const name of parts.filter((name) => name.endsWith('.js'))) {
    const { statusCode, body } = await app.inject(`/page/${name}`)
    t.equal(statusCode, 200, name)
    t.notMatch(body, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/, name)
  }
})

t.test('the page leads to the pages of the systems that this reader serves', async (t) => {
  const links = async (/** @type {Record<string, any>} */ pages) => {
    const { app } = createReader(t, feeds(), { pages })
    return [...(await app.inject('/')).body.matchAll(/<a href="\/(\w+)">(Sales|Prices|Auctions|Orders)</g)].map(([, name, shown]) => [name, shown])
  }
  t.same(await links({ sales: { summary: 'A sale' }, prices: { summary: 'Prices' } }), [['sales', 'Sales'], ['prices', 'Prices']])
  t.same(await links({}), [])
})

t.test('files of the page are 304 for clients that have them, and compressed for clients that accept gzip', async (t) => {
  const { app } = createReader(t, feeds())
  const whole = await app.inject('/uplot.js')
  t.equal(whole.headers['content-encoding'], undefined)
  const zipped = await app.inject({ url: '/uplot.js', headers: { 'accept-encoding': 'gzip' } })
  t.equal(zipped.headers['content-encoding'], 'gzip')
  t.equal(String(gunzipSync(zipped.rawPayload)), whole.body)
  const again = await app.inject({ url: '/uplot.js', headers: { 'if-none-match': /** @type {string} */ (whole.headers.etag) } })
  t.equal(again.statusCode, 304)
  t.equal(again.body, '')
})

t.test('the shared limits of time and size are set', async (t) => {
  const { app } = createReader(t, feeds())
  await app.ready()
  t.match(app.server,
    { requestTimeout: 10_000, headersTimeout: 10_000, timeout: 30_000, keepAliveTimeout: 72_000, connectionsCheckingInterval: 2_000 })
  t.match(app.initialConfig, { bodyLimit: 1024 * 1024, forceCloseConnections: 'idle' })
})
