/** Requests of pages of other origins, and more requests than one token or address may make. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import t from 'tap'
import { needsBrowser, openPage, startBrowser } from '../browser.js'
import { wholeTest } from '../scope.js'
import { eventually } from '../servers.js'
import { bearer, startGuarded, tokenFileFor } from './guarded.js'

const ROWS = [['reader', 'read'], ['second', 'read'], ['writer', 'write']].map(([name, scope]) =>
  ({ token: `${name}-token`, scopes: [scope], feeds: ['latest'] }))

/** An empty page of an origin of its own. @param {import('tap').Test} t */
async function startOrigin (t) {
  const server = createServer((_request, response) => response.setHeader('content-type', 'text/html').end('<!doctype html>'))
    .listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
}

wholeTest('pages of the listed origins may use the API, those of others may not', needsBrowser, async (t) => {
  const [listed, unlisted] = [await startOrigin(t), await startOrigin(t)]
  const { file } = await tokenFileFor(t, ROWS)
  const { reader, gateway } = await startGuarded(t, { tokens: file, corsOrigin: ['https://example.org', listed] })
  const browser = await startBrowser(t)
  /** @type {Map<string, import('playwright-core').Page>} */
  const pages = new Map()
  for (const origin of [listed, unlisted]) {
    const { page } = await openPage(t, browser)
    await page.goto(origin)
    pages.set(origin, page)
  }

  /**
   * What a page of that origin gets.
   * @param {string} origin @param {string} url @param {any} init @param {string[]} [names] of headers
   */
  async function fetchFrom (origin, url, init, names = []) {
    const page = /** @type {import('playwright-core').Page} */ (pages.get(origin))
    return page.evaluate(async ({ url, init, names }) => {
      const response = await fetch(url, init).catch(() => null)
      if (!response) return null
      const stream = response.headers.get('content-type')?.startsWith('text/event-stream') ? response.body?.getReader() : null
      const text = stream ? new TextDecoder().decode((await stream.read()).value) : await response.text()
      await stream?.cancel()
      return { status: response.status, text, headers: names.map((name) => response.headers.get(name)) }
    }, { url, init, names })
  }

  const items = `${reader.url}/v1/feeds/latest/items?encoding=json`
  const read = { headers: bearer('reader-token') }
  const answer = await fetchFrom(listed, items, read, ['etag', 'freshet-as-of', 'x-request-id'])
  t.match(answer, { status: 200, text: /"id":"a"/, headers: [/./, /^\d+$/, null] })
  t.match(await fetchFrom(listed, items, {}), { status: 401, text: /UNAUTHORIZED/ }, 'a refusal can be read')
  t.match(await fetchFrom(listed, `${reader.url}/v1/feeds/latest/live`, read), { status: 200, text: /^retry:/ })
  const post = {
    method: 'POST', body: '[{"id":"b","value":1}]', headers: { 'content-type': 'application/json', ...bearer('writer-token') }
  }
  t.match(await fetchFrom(listed, `${gateway.url}/v1/feeds/latest/items`, post), { status: 200 })
  t.match(await fetchFrom(listed, `${gateway.url}/v1/feeds/latest/items/b`, { method: 'DELETE', headers: post.headers }), { status: 200 })
  t.equal(await fetchFrom(unlisted, items, read), null)
  t.equal(await fetchFrom(unlisted, `${gateway.url}/v1/feeds/latest/items`, post), null)
  // else a cache could give one origin the reply for another
  for (const path of ['/v1/feeds/latest/items', '/page/page.js']) {
    t.match((await reader.ask('GET', path, read)).headers.get('vary'), /accept-encoding, Origin/)
  }
})

t.test('a token or address that makes more requests is refused until the next second; health and the page are exempt', async (t) => {
  const { file } = await tokenFileFor(t, ROWS)
  const { reader: { ask } } = await startGuarded(t, { tokens: file, rateLimit: 5 })
  /** @param {string} path @param {string} [token] */
  const burst = async (path, token) => {
    const all = await Promise.all(Array.from({ length: 30 }, () => ask('GET', path, { headers: bearer(token) })))
    return { all, limited: all.filter(({ status }) => status === 429) }
  }
  for (const token of ['reader-token', 'wrong-token', undefined]) {
    // the last two are of the same address
    await eventually(async () => (await ask('GET', '/v1/feeds/latest/items', { headers: bearer(token) })).status !== 429)
    const { all, limited } = await burst('/v1/feeds/latest/items', token)
    t.ok(limited.length > 0 && limited.length < 30, `${limited.length} of 30`)
    for (const { headers, json } of limited) {
      t.match([json.code, json.retryable, headers.get('retry-after')], ['RATE_LIMITED', true, /^[123]$/])
    }
    t.ok(new Set(limited.map(({ headers }) => headers.get('retry-after'))).size > 1, 'they do not all come back at once')
    t.same(new Set(all.map(({ status }) => status)), new Set([429, token === 'reader-token' ? 200 : 401]))
  }
  await burst('/v1/feeds/latest/items', 'reader-token')
  t.equal((await ask('GET', '/v1/feeds/latest/items', { headers: bearer('second-token') })).status, 200, 'another token has its own')
  await eventually(async () => (await ask('GET', '/v1/feeds/latest/items', { headers: bearer('reader-token') })).status === 200)
  for (const path of ['/livez', '/readyz', '/page/page.js']) t.equal((await burst(path)).limited.length, 0, path)
  t.ok((await burst('/readyz', 'wrong-token')).limited.length > 0, 'tokens cannot be guessed by its reply')
})

t.test('without these settings there are no hooks for them', async (t) => {
  const { reader, gateway } = await startGuarded(t, {})
  for (const { app, ask } of [reader, gateway]) {
    t.notOk(app.hasRequestDecorator('grant'))
    const { headers } = await ask('GET', '/livez', { headers: { origin: 'https://example.org' } })
    t.equal(headers.get('access-control-allow-origin'), null)
  }
})
