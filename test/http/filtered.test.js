/** What a client sees whose token is for some ids only: its own items, and nothing of others, on every route. */
import { Registry } from 'prom-client'
import t from 'tap'
import { createServer } from '../../src/http/index.js'
import { openFeed } from '../../src/index.js'
import { encodeCursor } from '../../src/item/index.js'
import { eventually } from '../servers.js'
import { bearer, openSecurityFor, startGuarded, tokenFileFor } from './guarded.js'

const ALL = { token: 'all-of-it', scopes: ['read', 'write', 'admin'], feeds: ['*'] }
const OWN = { ...ALL, token: 'own-only', ids: ['own-*', 'shared'] }
const NAMED = { ...ALL, token: 'named-only', ids: ['own-1', 'shared'] }
const ELSE = { ...ALL, token: 'else-only', ids: ['other-*'] }
/** Each route that tokens with ids may use; all others that need a token for a feed, a system or metrics refuse them. */
const FILTERED = {
  reader: ['/v1/feeds', '/v1/feeds/:feed', '/v1/feeds/:feed/count', '/v1/feeds/:feed/figures', '/v1/feeds/:feed/items',
    '/v1/feeds/:feed/items/:id', '/v1/feeds/:feed/live', '/v1/feeds/:feed/tail', '/v1/live'],
  gateway: ['/v1/feeds/:feed/items', '/v1/feeds/:feed/items/:id']
}
const NONE = { length: 0 }
const NDJSON = { accept: 'application/x-ndjson' }

const { file, write } = await tokenFileFor(t, [ALL, OWN, NAMED, ELSE])
const { reader, gateway, redisUrl } = await startGuarded(t, { tokens: file })

/** @param {string} token @param {string} path @param {Record<string, string>} [headers] */
const get = (token, path, headers = {}) => reader.ask('GET', path, { headers: { ...bearer(token), ...headers } })
const idsIn = (/** @type {any} */ { json }) => json.items.map((/** @type {any} */ { id }) => id)

/** @param {import('tap').Test} t @param {string} name @param {Record<string, any>} [options] */
async function openWritten (t, name, options) {
  const feed = await openFeed(name, { redisUrl, ...options })
  t.teardown(() => feed.close())
  const nowMs = Date.now()
  return {
    /** @param {string[]} ids */
    async put (...ids) {
      for (const id of ids) feed.append({ id, ts: nowMs - Number(id.replace(/\D/g, '')), value: id })
      await feed.flush()
      await eventually(async () => {
        const found = new Set(idsIn(await get(ALL.token, `/v1/feeds/${name}/items?limit=1000`)))
        return ids.every((id) => found.has(id))
      })
    }
  }
}

for (const [name, { routes, ask }] of Object.entries({ reader, gateway })) {
  t.test(`${name}: a route filters, or refuses tokens with ids and says why`, async (t) => {
    for (const { method, url } of routes) {
      const path = url.replace('v1/live', 'v1/live?feed=latest').replace(':feed', 'latest').replace(':id', 'shared')
        .replace('*', 'swagger-ui.css')
      const send = (/** @type {string} */ token) => ask(method, path, {
        headers: { ...bearer(token), ...method === 'POST' && { 'content-type': 'application/json' } },
        ...method === 'POST' && { body: '[{"id":"shared","value":1}]' }
      })
      const { status, json } = await send(OWN.token)
      const isOpen = FILTERED[name].includes(url) || !(url.startsWith('/v1/') || url === '/metrics')
      if (isOpen) t.ok(status < 400 || status === 404, `${method} ${url} is open: ${status}`)
      else {
        t.equal(status, 403, `${method} ${url} is refused`)
        if (method !== 'HEAD') t.match(json, { code: 'FORBIDDEN', detail: /this token is for some ids only, and .* does not filter by id/ })
      }
    }
  })
}

const FEEDS = { one: { layout: 'ids' }, view: { layout: 'segments' }, three: { layout: 'ids', partitions: 3 } }
for (const [name, options] of Object.entries(FEEDS)) {
  t.test(`${name}: whatever others have, replies are the same`, async (t) => {
    const { put } = await openWritten(t, name, options)
    await put('own-1', 'own-2', 'own-30', 'shared5')
    await put('shared')
    const paths = ['items', 'items?limit=2', 'items?id=own-1&id=other-1&id=shared', 'items?id=other-1', 'items/own-1', 'items/other-1',
      'items/nothing', 'tail', 'tail?limit=2&encoding=utf8', 'count', 'figures', ''].map((path) => `/v1/feeds/${name}${path && '/'}${path}`)
    /** @param {string} token */
    async function world (token) {
      const seen = []
      for (const path of [...paths, '/v1/feeds', '/readyz']) {
        for (const headers of [{}, NDJSON]) {
          // whose reply is of all ids, and may be shared with others of its kind
          await get(ALL.token, path, headers)
          const { status, json, body, headers: got } = await get(token, path, headers)
          const shown = Object.fromEntries([...got].filter(([name]) => !['date', 'freshet-as-of', 'age', 'freshet-next'].includes(name)))
          seen.push({ path, status, shown, hasNext: got.has('freshet-next'), body: withoutTimes(json ?? body) })
          const asOf = got.get('freshet-as-of')
          if (asOf && path !== '/v1/feeds' && path !== paths.at(-1)) t.equal(Number(asOf) % 1000, 0, 'as of a whole second')
        }
      }
      return seen
    }
    const before = await world(OWN.token)
    const named = await world(NAMED.token)
    await put(...Array.from({ length: 300 }, (_, i) => `other-${i}`))
    await new Promise((resolve) => setTimeout(resolve, 1100))
    t.same(await world(OWN.token), before)
    t.same(await world(NAMED.token), named)
    t.notMatch(JSON.stringify(before), /other-[02]/)

    const items = await get(OWN.token, paths[0])
    t.same(idsIn(items).sort(), ['own-1', 'own-2', 'own-30', 'shared'])
    t.equal(items.headers.get('cache-control'), 'private, max-age=0, stale-if-error=10')
    t.same(idsIn(await get(NAMED.token, paths[0])).sort(), ['own-1', 'shared'])
    t.same(idsIn(await get(ELSE.token, `${paths[0]}?limit=2`)), ['other-0', 'other-1'])
    t.match((await get(OWN.token, `/v1/feeds/${name}/count`)).json, { count: 4, exact: true })
    t.match((await get(NAMED.token, `/v1/feeds/${name}/count`)).json, { count: 2, exact: true })
    t.match((await get(ALL.token, `/v1/feeds/${name}/count`)).json, { count: 305 })
    t.match((await get(OWN.token, `/v1/feeds/${name}/figures`)).json,
      { count: 4, exact: true, itemsPerSecond: null, writers: null, lastWriteAt: null, keptMs: null, nodes: NONE, history: NONE })

    const tag = String(items.headers.get('etag'))
    t.equal((await get(OWN.token, paths[0], { 'if-none-match': tag })).status, 304)
    t.equal((await get(ALL.token, paths[0], { 'if-none-match': tag })).status, 200)
    await put('own-2', 'other-1')
    const ofNamed = String((await get(NAMED.token, paths[0])).headers.get('etag'))
    t.equal((await get(NAMED.token, paths[0], { 'if-none-match': ofNamed })).status, 304)
  })
}

t.test('systems refuse tokens with ids, whatever their feeds are', async (t) => {
  const app = createServer({ registry: new Registry(), security: await openSecurityFor(t, { tokens: file }) })
  t.teardown(() => app.close())
  app.get('/v1/auctions', { config: /** @type {any} */ ({ access: 'read', system: 'auctions' }) }, async () => ({}))
  t.equal((await app.inject({ url: '/v1/auctions', headers: bearer(ALL.token) })).statusCode, 200)
  const refused = await app.inject({ url: '/v1/auctions', headers: bearer(OWN.token) })
  t.match(refused.json(), { status: 403, code: 'FORBIDDEN', detail: /GET \/v1\/auctions does not filter by id; use a token without ids/ })
})

t.test('pages follow by cursors that are sealed, and no other cursor is taken', async (t) => {
  const { put } = await openWritten(t, 'cursors')
  await put(...Array.from({ length: 50 }, (_, i) => [`own-${2 * i}`, `other-${2 * i + 1}`]).flat())
  const path = '/v1/feeds/cursors/items?limit=20'
  for (const token of [OWN.token, ELSE.token]) {
    const found = []
    let next = ''
    do {
      const page = await get(token, `${path}${next && `&after=${next}`}`)
      found.push(...idsIn(page))
      next = page.json.next
      if (next) t.notMatch(Buffer.from(next, 'base64url').toString('latin1'), /own-|other-/)
    } while (next)
    t.equal(new Set(found).size, 50)
  }
  const lines = await get(OWN.token, path, NDJSON)
  const sealed = lines.headers.get('freshet-next')
  t.equal((await get(OWN.token, `${path}&after=${sealed}`)).status, 200)
  const made = encodeCursor('cursors', { ts: Date.now(), seq: 0, id: Buffer.from('own-1') })
  for (const [token, after] of [[OWN.token, made], [ELSE.token, sealed], [ALL.token, sealed], [OWN.token, 'AAAA']]) {
    t.match(await get(String(token), `${path}&after=${after}`), { status: 400, json: { code: 'CURSOR_INVALID' } })
  }
  t.equal((await get(ALL.token, '/v1/feeds/cursors/count?after=x')).status, 400)
  t.match(await get(OWN.token, '/v1/feeds/cursors/count?after=x'), { status: 400, json: { code: 'CURSOR_INVALID' } })
})

t.test('an id of others is as one that does not exist: same reply, and nothing is looked up', async (t) => {
  const { put } = await openWritten(t, 'lookups')
  await put('other-1')
  const [there, absent] = await Promise.all(['other-1', 'other-2'].map((id) => get(OWN.token, `/v1/feeds/lookups/items/${id}`)))
  const withoutId = (/** @type {string} */ body) => body.replaceAll(/other-\d/g, 'id')
  t.equal(there.status, 404)
  t.equal(withoutId(there.body), withoutId(absent.body))
  t.same([...there.headers].filter(([name]) => name !== 'date'), [...absent.headers].filter(([name]) => name !== 'date'))
  t.equal((await get(OWN.token, '/v1/feeds/lookups/items/other-1', { 'if-none-match': '*' })).status, 404)
})

t.test('POST and DELETE are refused as a whole for ids of others, and name the id', async (t) => {
  const { put } = await openWritten(t, 'written')
  await put('other-1')
  const post = (/** @type {string} */ token, /** @type {any[]} */ items, type = 'application/json') =>
    gateway.ask('POST', '/v1/feeds/written/items', {
      headers: { ...bearer(token), 'content-type': type },
      body: type === 'application/json' ? JSON.stringify(items) : items.map((one) => JSON.stringify(one)).join('\n')
    })
  const own = { id: 'own-7', value: 1 }
  for (const type of ['application/json', 'application/x-ndjson']) {
    for (const id of ['other-1', 'own', 'Own-1', ' own-1', 'ö']) {
      const detail = `this token is not for the id ${JSON.stringify(id)}; nothing was taken: send only its ids`
      t.match(await post(OWN.token, [own, { id, value: 2 }], type), { status: 403, json: { code: 'FORBIDDEN', detail } })
    }
  }
  t.equal((await post(OWN.token, [{ id: 'other-1', value: 1 }, { id: 7 }])).status, 403, 'also where the body has faults')
  t.same(idsIn(await get(ALL.token, '/v1/feeds/written/items')), ['other-1'])
  t.match(await post(OWN.token, [own, { id: 'shared', value: 1 }]), { status: 200, json: { accepted: 2 } })
  const remove = (/** @type {string} */ id) => gateway.ask('DELETE', `/v1/feeds/written/items/${id}`, { headers: bearer(OWN.token) })
  t.match(await remove('other-1'), { status: 403, json: { code: 'FORBIDDEN', detail: /not for the id "other-1"/ } })
  t.match(await remove('nothing'), { status: 403 })
  t.match(await remove('own-7'), { status: 200, json: { accepted: 1 } })
  t.same(idsIn(await get(ALL.token, '/v1/feeds/written/items')).sort(), ['other-1', 'shared'])
})

t.test('a token gets other ids when its line changes', async (t) => {
  const { put } = await openWritten(t, 'changing')
  await put('own-1', 'other-1')
  await write([ALL, { ...OWN, ids: ['other-*'] }, NAMED, ELSE])
  await eventually(async () => idsIn(await get(OWN.token, '/v1/feeds/changing/items')).join() === 'other-1')
  await write([ALL, OWN, NAMED, ELSE])
  await eventually(async () => idsIn(await get(OWN.token, '/v1/feeds/changing/items')).join() === 'own-1')
})

/** @param {any} body */
const withoutTimes = (body) => typeof body === 'string'
  ? body
  : JSON.parse(JSON.stringify(body, (name, value) => ['asOf', 'next', 'position'].includes(name) && value !== null ? typeof value : value))

t.test('no cache that others use may keep a reply for a token with ids, on any route', async (t) => {
  const { put } = await openWritten(t, 'private')
  await put('own-1')
  const paths = reader.routes.filter(({ method, url }) => method === 'GET' && FILTERED.reader.includes(url) && !url.endsWith('/live'))
    .map(({ url }) => url.replace(':feed', 'private').replace(':id', 'own-1'))
  t.equal(paths.length, 7)
  for (const path of paths) {
    for (const [token, expected] of /** @type {[string, RegExp][]} */ ([
      [OWN.token, /^(private, |no-store)/], [ALL.token, /^(max-age|no-store)/], [OWN.token, /^(private, |no-store)/]
    ])) {
      const { status, headers } = await get(token, path)
      t.match([status, headers.get('cache-control')], [200, expected], `${path}, ${token}`)
    }
  }
})
