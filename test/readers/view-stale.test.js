/** What is served from a view that is behind, and how it is marked. */
import t from 'tap'
import { createViewReader } from './view-reader.js'
import { isProblem, NOW, overSocket } from './fake-queries.js'

const PATHS = ['/v1/feeds/latest/items', '/v1/feeds/latest/items/item', '/v1/feeds/latest/count']

/** A view that is not up to date from now on. */
function createLost (t, options) {
  const reader = createViewReader(t, options)
  reader.put('item', NOW - 5, 'value')
  reader.put('other', NOW - 6, 'value')
  reader.view.asOf = () => NOW
  const pass = (ms) => {
    reader.time.now += ms
    reader.time.elapsed += ms
  }
  return { ...reader, pass }
}

t.test('up to a second only the age changes', async (t) => {
  const { app, pass } = createLost(t)
  pass(999)
  for (const path of PATHS) {
    const { statusCode, headers } = await overSocket(app, path)
    t.equal(statusCode, 200)
    t.match(headers, { age: '0', 'freshet-as-of': String(NOW), 'freshet-lag-ms': '3' })
    t.equal(headers['freshet-stale'], undefined)
  }
})

t.test('after that replies are marked as stale, cached or not', async (t) => {
  const { app, pass, view, registry } = createLost(t)
  await overSocket(app, PATHS[0])
  pass(3500)
  for (const path of [...PATHS, '/v1/feeds/latest/items?limit=1']) {
    for (const ask of [() => overSocket(app, path), () => app.inject(path)]) {
      const response = await ask()
      t.equal(response.statusCode, 200, path)
      t.match(response.headers,
        { age: '3', 'freshet-as-of': String(NOW), 'freshet-stale': 'true', 'cache-status': 'freshet; hit; ttl=-3; detail=VIEW_BEHIND' })
      t.equal(response.headers['freshet-lag-ms'], undefined, 'nothing is known of the lag now')
    }
  }
  t.match(await registry.metrics(), 'freshet_stale_replies_total 8')
  view.asOf = () => NOW + 3500
  pass(5)
  t.equal((await overSocket(app, PATHS[0])).headers['freshet-stale'], undefined, 'fresh again')
})

t.test('streams are marked too', async (t) => {
  const { app, put, pass } = createLost(t)
  for (let n = 0; n < 12_000; n++) put(`item-${n}`, NOW - n, 'value')
  pass(2000)
  const response = await overSocket(app, '/v1/feeds/latest/items?limit=1000000', { headers: { accept: 'application/x-ndjson' } })
  t.match(response.headers,
    { 'transfer-encoding': 'chunked', age: '2', 'freshet-stale': 'true', 'cache-status': 'freshet; hit; ttl=-2; detail=VIEW_BEHIND' })
})

t.test('from maxStaleMs on replies are 503', async (t) => {
  const { app, pass, view } = createLost(t, { maxStaleMs: 2000 })
  for (const path of PATHS) await overSocket(app, path)
  pass(1999)
  t.equal((await overSocket(app, PATHS[0])).statusCode, 200)
  pass(1)
  // what was given a moment ago is looked at again
  pass(5)
  for (const path of PATHS) {
    const response = await overSocket(app, path)
    t.equal(isProblem(t, response, 503, 'VIEW_BEHIND').retryable, true)
    t.match(response.headers['retry-after'], /^[123]$/)
  }
  view.asOf = () => NOW + 2005
  t.equal((await overSocket(app, PATHS[0])).statusCode, 200)
})

t.test('with maxStaleMs 0 a view is served for a second, and no longer', async (t) => {
  const { app, pass } = createLost(t, { maxStaleMs: 0 })
  pass(999)
  t.equal((await overSocket(app, PATHS[0])).statusCode, 200)
  pass(6)
  isProblem(t, await overSocket(app, PATHS[0]), 503, 'VIEW_BEHIND')
})

t.test('without a ready view requests go to a server', async (t) => {
  const { app, view, state, pass } = createLost(t)
  await overSocket(app, PATHS[0])
  view.isReady = false
  state.feeds.latest.push({ id: Buffer.from('server'), ts: NOW, seq: 0, value: Buffer.from('v') })
  pass(5)
  const response = await overSocket(app, PATHS[0])
  t.equal(response.json().items[0].id, 'server')
  t.equal(response.headers['freshet-stale'], undefined)
})
