/** ETag and 304: the tag changes exactly with the content, and a client that has the content gets headers only. */
import fc from 'fast-check'
import t from 'tap'
import { FreshetError } from '../../src/errors.js'
import { createReader, item, NOW, overSocket } from './fake-queries.js'
import { createViewReader } from './view-reader.js'

const ITEMS = '/v1/feeds/latest/items'
const NDJSON = { accept: 'application/x-ndjson' }
const TAG = /^W\/"[\w-]{16}"$/

t.test('a tag changes exactly when the content does', async (t) => {
  const { app, put, store, time } = createViewReader(t)
  const change = fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'd'),
    back: fc.nat(3),
    value: fc.constantFrom('x', 'y'),
    deleted: fc.boolean(),
    limit: fc.constantFrom(1, 2, 100)
  })
  /** @type {Map<string, string>} by tag */
  const contents = new Map()
  let changes = 0
  await fc.assert(fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 20 }), async (steps) => {
    for (const { id, back, value, deleted, limit } of steps) {
      if (deleted) store.forget(Buffer.from(id), 0, id.length)
      else put(id, NOW + ++changes - back, value)
      time.now += 7
      time.elapsed += 60
      const { headers, body } = await app.inject(`${ITEMS}?limit=${limit}`)
      const { asOf: _asOf, ...content } = JSON.parse(body)
      const text = JSON.stringify(content)
      const etag = String(headers.etag)
      t.match(etag, TAG)
      if ((contents.get(etag) ?? text) !== text) throw new Error(`${etag} for ${text} and ${contents.get(etag)}`)
      contents.set(etag, text)
    }
  }), { numRuns: 50 })
  t.equal(new Set(contents.values()).size, contents.size, 'and equal contents have equal tags')
  t.ok(contents.size > 20, `${contents.size} different contents`)
})

t.test('tags depend neither on the time nor on compression', async (t) => {
  const { app, put, time } = createViewReader(t)
  for (let n = 0; n < 300; n++) put(`item-${n}`, NOW - n, 'value '.repeat(10))
  /** @type {[string, Record<string, string>?][]} */
  const questions = [[ITEMS], [ITEMS, NDJSON], [`${ITEMS}/item-7`], [`${ITEMS}?id=item-7`], ['/v1/feeds/latest/count'],
    ['/v1/feeds/latest'], ['/v1/feeds']]
  for (const [url, headers = {}] of questions) {
    const first = await app.inject({ url, headers })
    t.match(first.headers.etag, TAG, url)
    time.now += 5000
    time.elapsed += 5000
    const second = await app.inject({ url, headers: { ...headers, 'accept-encoding': 'gzip' } })
    t.equal(second.headers.etag, first.headers.etag, url)
    t.equal(second.headers['freshet-as-of'], String(time.now))
  }
})

for (const { way, get } of [
  { way: 'through the router', get: (app, url, headers, method = 'GET') => app.inject({ method, url, headers }) },
  { way: 'over a socket', get: (app, url, headers, method) => overSocket(app, url, { headers, method }) }
]) {
  t.test(`${way}: 304 has no body, and headers about freshness`, async (t) => {
    const { app, put, time, view } = createViewReader(t)
    for (let n = 0; n < 5; n++) put(`item-${n}`, NOW - n, 'value')
    const { headers: { etag, vary, 'cache-control': cacheControl } } = await get(app, ITEMS, {})
    time.now += 700
    time.elapsed += 700
    view.lagMs = 9
    for (const known of [etag, etag.slice(2), '*', `"other", ${etag}`, ` ${etag} ,W/"x"`]) {
      const response = await get(app, ITEMS, { 'if-none-match': known })
      t.equal(response.statusCode, 304, known)
      t.equal(response.body, '')
      t.match(response.headers,
        { etag, vary, 'cache-control': cacheControl, 'freshet-as-of': String(NOW + 700), age: '0', 'freshet-lag-ms': '9' })
      t.equal(response.headers['content-type'], undefined)
      t.equal(response.headers['content-encoding'], undefined)
    }
    t.equal(view.visits, 1)
    for (const other of ['"other"', 'W/"other"', etag.slice(0, -1), '']) {
      t.equal((await get(app, ITEMS, { 'if-none-match': other })).statusCode, 200, other)
    }
    put('item-new', NOW + 1, 'value')
    time.elapsed += 5
    const changed = await get(app, ITEMS, { 'if-none-match': etag })
    t.equal(changed.statusCode, 200)
    t.not(changed.headers.etag, etag)
    t.equal((await get(app, ITEMS, { 'if-none-match': changed.headers.etag }, 'HEAD')).statusCode, 304)
  })
}

t.test('304 works without a view', async (t) => {
  const { app, state } = createReader(t, { latest: [item('a', NOW, 'value')] })
  for (const url of [ITEMS, `${ITEMS}/a`, '/v1/feeds/latest/count', '/v1/feeds']) {
    const { headers: { etag } } = await app.inject(url)
    state.asOf = () => NOW - 1000
    const response = await app.inject({ url, headers: { 'if-none-match': etag } })
    t.equal(response.statusCode, 304, url)
    if (url !== '/v1/feeds') t.match(response.headers, { age: '1', 'freshet-as-of': String(NOW - 1000) }, url)
    state.asOf = () => NOW
  }
})

t.test('304 is marked as stale while the servers are unavailable', async (t) => {
  const { app, state } = createReader(t, { latest: [item('a', NOW, 'value')] })
  const { headers: { etag } } = await app.inject(ITEMS)
  state.failure = new FreshetError('SERVER_LOST', 'gone')
  const response = await app.inject({ url: ITEMS, headers: { 'if-none-match': etag } })
  t.equal(response.statusCode, 304)
  t.match(response.headers, { 'freshet-stale': 'true', 'cache-status': /detail=SERVER_LOST/ })
})
