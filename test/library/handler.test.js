/** openReaderHandler: a reader inside of a server of the user's own. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import fastify from 'fastify'
import t from 'tap'
import { openReaderHandler } from '../../readers/handler.js'
import { openFeed } from '../../src/index.js'
import { startFollowing } from '../client/following.js'
import { eventually } from '../servers.js'
import { sharedDeployment } from '../shared.js'

/** @typedef {Parameters<typeof openReaderHandler>[0]} Options */

/** @param {import('tap').Test} t @param {Partial<Options>} [more] */
async function openHandler (t, more) {
  const { primary: { url }, keyPrefix } = await sharedDeployment(t)
  const servers = { redisUrl: url, keyPrefix, readFrom: /** @type {const} */ ('primary'), deadlineMs: 10_000 }
  const handler = await openReaderHandler({ ...servers, ...more })
  t.teardown(handler.close)
  return { handler, servers }
}

/** @param {import('tap').Test} t @param {import('node:http').RequestListener} listener */
async function serve (t, listener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => new Promise((resolve) => {
    server.close(resolve)
    server.closeAllConnections()
  }))
  return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
}

/** @param {import('tap').Test} t @param {any} servers @param {string[]} names */
async function openFeeds (t, servers, ...names) {
  return await Promise.all(names.map(async (name) => {
    const feed = await openFeed(name, { ...servers, encoding: 'json' })
    t.teardown(() => feed.close())
    feed.append({ id: 'bus-7', ts: Date.now(), value: { stop: 12 } })
    await feed.flush()
    return feed
  }))
}

/** @param {string} url @param {RequestInit} [how] @returns {Promise<{ status: number, body: any }>} */
async function ask (url, how) {
  const response = await fetch(url, how)
  return { status: response.status, body: await response.json() }
}

t.test('items, one item, count, definitions and a stream, under a prefix of a plain server; no pages and no figures', async (t) => {
  const { handler, servers } = await openHandler(t, { prefix: '/api/feeds' })
  const [feed] = await openFeeds(t, servers, 'positions')
  const root = await serve(t, handler)
  const url = `${root}/api/feeds/v1/feeds`
  t.match(await ask(`${url}/positions/items?encoding=json`), { status: 200, body: { items: [{ id: 'bus-7', value: { stop: 12 } }] } })
  t.match(await ask(`${url}/positions/items/bus-7?encoding=json`), { status: 200, body: { id: 'bus-7', value: { stop: 12 } } })
  t.match(await ask(`${url}/positions/count`), { status: 200, body: { count: 1 } })
  t.match(await ask(url), { status: 200, body: { feeds: [{ feed: 'positions' }] } })
  const { items } = startFollowing(t, `${root}/api/feeds`, 'positions', { encoding: 'json' })
  await eventually(() => items.get('bus-7')?.value.stop === 12)
  feed.append({ id: 'bus-7', ts: Date.now() + 1, value: { stop: 13 } })
  await feed.flush()
  await eventually(() => items.get('bus-7')?.value.stop === 13)
  for (const path of ['/', '/docs', '/readyz', '/metrics', '/v1/figures', '/v1/feeds/positions/nothing']) {
    t.match(await ask(`${root}/api/feeds${path}`), { status: 404, body: { code: 'NOT_FOUND' } }, path)
  }
  t.match(await ask(`${root}/v1/other`), { status: 404 })
  t.match(await ask(`${url}/positions/items`, { method: 'POST', body: '[]' }), { status: 405 })
  t.match(await ask(`${url}/positions/items?limit=0`), { status: 400, body: { code: 'REQUEST_INVALID' } })
  t.match(await ask(`${url}/none/items`), { status: 404, body: { code: 'FEED_UNKNOWN' } })
  t.ok(handler.status().ready)
  t.match(await handler.metrics(), /freshet_http_requests_total\{.*route="\/v1\/feeds\/:feed\/items"/)
})

t.test('mounted where the path is removed, as Express does, and in a route of Fastify', async (t) => {
  const { handler, servers } = await openHandler(t)
  await openFeeds(t, servers, 'positions')
  const mounted = await serve(t, (request, response) => {
    Object.assign(request, { originalUrl: request.url, url: String(request.url).replace(/^\/feeds/, '') })
    handler(request, response)
  })
  t.match(await ask(`${mounted}/feeds/v1/feeds/positions/count`), { status: 200, body: { count: 1 } })
  const app = fastify()
  t.teardown(() => app.close())
  const { handler: below } = await openHandler(t, { ...servers, prefix: '/feeds' })
  app.get('/feeds/*', (request, reply) => {
    reply.hijack()
    below(request.raw, reply.raw)
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.match(await ask(`${url}/feeds/v1/feeds/positions/count`), { status: 200, body: { count: 1 } })
})

t.test('feeds that are not permitted, for all or by request', async (t) => {
  const { handler, servers } = await openHandler(t, { feeds: ['a', 'b'] })
  await openFeeds(t, servers, 'a', 'b', 'c')
  const url = await serve(t, handler)
  t.match(await ask(`${url}/v1/feeds/a/count`), { status: 200 })
  for (const path of ['items', 'items/bus-7', 'count', 'live']) {
    const { status, body } = await ask(`${url}/v1/feeds/c/${path}`)
    t.same([status, body.code, body.detail], [403, 'FORBIDDEN', 'this request is not for the feed c'])
  }
  t.same((await ask(`${url}/v1/feeds`)).body.feeds.map((/** @type {any} */ { feed }) => feed).sort(), ['a', 'b'])

  /** @param {import('node:http').IncomingMessage} request */
  async function feeds ({ headers: { user } }) {
    if (user === undefined) throw new Error('nobody')
    return [String(user)]
  }
  const { handler: ofUsers } = await openHandler(t, { ...servers, feeds })
  const perUser = await serve(t, ofUsers)
  t.match(await ask(`${perUser}/v1/feeds/a/count`, { headers: { user: 'a' } }), { status: 200 })
  t.match(await ask(`${perUser}/v1/feeds/a/count`, { headers: { user: 'b' } }), { status: 403 })
  t.match(await ask(`${perUser}/v1/feeds`, { headers: { user: 'b' } }), { status: 200, body: { feeds: [{ feed: 'b' }] } })
  t.match(await ask(`${perUser}/v1/feeds/a/count`), { status: 500 }, 'the function of the user failed')
})

t.test('ids that are not permitted, for all or by request: nothing of them shows', async (t) => {
  const { handler, servers } = await openHandler(t, { ids: ['own-*'] })
  const [feed] = await openFeeds(t, servers, 'owned')
  for (const id of ['own-1', 'other-1']) feed.append({ id, value: { stop: 1 } })
  await feed.flush()
  const url = await serve(t, handler)
  const idsAt = async (/** @type {string} */ root, path = 'items', headers = {}) =>
    (await ask(`${root}/v1/feeds/owned/${path}`, { headers })).body.items.map((/** @type {any} */ { id }) => id)
  t.same([await idsAt(url), await idsAt(url, 'tail')], [['own-1'], ['own-1']])
  t.match(await ask(`${url}/v1/feeds/owned/count`), { status: 200, body: { count: 1 } })
  t.match(await ask(`${url}/v1/feeds/owned/items/other-1`), { status: 404, body: { code: 'ITEM_UNKNOWN' } })
  const { items, events } = startFollowing(t, url, 'owned', { encoding: 'json' })
  const several = startFollowing(t, url, ['owned'], { encoding: 'json' })
  await eventually(() => items.has('own-1') && several.items.has('own-1'))
  for (const id of ['other-2', 'own-2']) feed.append({ id, value: { stop: 2 } })
  await feed.flush()
  await eventually(() => items.has('own-2') && several.items.has('own-2'))
  t.notMatch(JSON.stringify([...events, ...several.events]), /other|bus/)

  const { handler: ofUsers } = await openHandler(t, { ...servers, ids: async ({ headers: { user } }) => [`${user}-*`] })
  const perUser = await serve(t, ofUsers)
  t.same(await idsAt(perUser, 'items', { user: 'other' }), ['other-2', 'other-1'])
  t.same(await idsAt(perUser, 'items', { user: 'own' }), ['own-2', 'own-1'])
  for (const ids of [[], 'own', ['']]) await t.rejects(openHandler(t, { ids: /** @type {any} */ (ids) }), { code: 'ARGUMENT_INVALID', message: /^ids: / })
})

t.test('streams end at close, and later requests are refused', async (t) => {
  const { handler, servers } = await openHandler(t, { maxStreams: 1 })
  await openFeeds(t, servers, 'positions')
  const url = await serve(t, handler)
  const stream = await fetch(`${url}/v1/feeds/positions/live`)
  t.equal(stream.status, 200)
  t.match(await ask(`${url}/v1/feeds/positions/live`), { status: 503, body: { code: 'OVERLOADED' } })
  const ended = stream.text()
  await handler.close()
  t.match(await ended, /retry: /)
  t.match(await ask(`${url}/v1/feeds/positions/count`), { status: 503 })
})

t.test('options that are wrong', async (t) => {
  const redisUrl = 'redis://127.0.0.1:1'
  for (const [options, message] of /** @type {[any, RegExp][]} */ ([
    [{ prefix: 'feeds' }, /prefix "feeds"; expected a path such as "\/api\/feeds"/],
    [{ prefix: '/feeds/' }, /prefix/],
    [{ feeds: 'positions' }, /feeds: "positions"; expected an array of names, or a function/],
    [{ feeds: ['No Such'] }, /No Such/],
    [{ maxStreams: -1 }, /maxStreams -1; expected an integer of 0 or more/],
    [{ port: 80 }, /port is unknown/]
  ])) await t.rejects(openReaderHandler({ redisUrl, ...options }), { message })
  await t.rejects(openReaderHandler(/** @type {any} */ (undefined)), { message: /redisUrl is missing/ })
  await t.rejects(openReaderHandler({ redisUrl }), { code: 'SERVER_UNREACHABLE' })
})
