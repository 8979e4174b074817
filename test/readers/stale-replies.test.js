import t from 'tap'
import { FreshetError } from '../../src/errors.js'
import { createReader, isProblem, item, NOW } from './fake-queries.js'

const gone = (code = 'SERVER_LOST') => new FreshetError(code, 'redis://user:secret@10.0.0.7:6379 is silent', { address: '10.0.0.7:6379' })

/** A reader whose clock the test moves. */
function createClocked (t, options = {}) {
  const time = { now: NOW }
  const reader = createReader(t, { latest: [item('a', NOW - 5, 'value')] }, { clock: () => time.now, ...options })
  reader.state.asOf = () => time.now
  return { ...reader, time }
}

t.test('while the servers are unavailable the last reply is served, marked with its age', async (t) => {
  const { app, state, time } = createClocked(t)
  const paths = ['/v1/feeds', '/v1/feeds/latest', '/v1/feeds/latest/items', '/v1/feeds/latest/items/a', '/v1/feeds/latest/count']
  const before = await Promise.all(paths.map((path) => app.inject(path)))
  state.failure = gone()
  time.now += 3500
  for (const [i, path] of paths.entries()) {
    const response = await app.inject(path)
    t.equal(response.statusCode, 200, path)
    t.equal(response.body, before[i].body, 'the same body')
    t.match(response.headers,
      { age: '3', 'freshet-stale': 'true', 'cache-status': 'freshet; hit; ttl=-3; detail=SERVER_LOST', 'freshet-as-of': String(NOW) })
    t.equal(response.headers['freshet-lag-ms'], undefined, 'nothing is known of the lag now')
  }
})

t.test('a request without an earlier reply is 503', async (t) => {
  const { app, state } = createClocked(t)
  await app.inject('/v1/feeds/latest/items')
  state.failure = gone('REPLICAS_GONE')
  const problem = isProblem(t, await app.inject('/v1/feeds/latest/items?limit=7'), 503, 'REPLICAS_GONE')
  t.equal(problem.retryable, true)
  const lines = await app.inject({ url: '/v1/feeds/latest/items', headers: { accept: 'application/x-ndjson' } })
  isProblem(t, lines, 503, 'REPLICAS_GONE')
})

t.test('a reply as old as maxStaleMs is not served any more', async (t) => {
  const { app, state, time } = createClocked(t, { maxStaleMs: 2000 })
  await app.inject('/v1/feeds/latest/items')
  state.failure = gone()
  time.now += 1999
  t.equal((await app.inject('/v1/feeds/latest/items')).statusCode, 200)
  time.now += 1
  const response = await app.inject('/v1/feeds/latest/items')
  isProblem(t, response, 503, 'SERVER_LOST')
  t.match(response.headers['retry-after'], /^[123]$/)
  t.notMatch(response.body, /secret|10\.0\.0\.7/, 'neither address nor password')
  state.failure = null
  t.equal((await app.inject('/v1/feeds/latest/items')).headers['freshet-stale'], undefined, 'fresh again')
})

t.test('with maxStaleMs 0 nothing is served stale', async (t) => {
  const { app, state } = createClocked(t, { maxStaleMs: 0 })
  await app.inject('/v1/feeds/latest/items')
  state.failure = gone()
  isProblem(t, await app.inject('/v1/feeds/latest/items'), 503, 'SERVER_LOST')
})

t.test('refusals of servers and internal errors are reported, not hidden by stale replies', async (t) => {
  const { app, state } = createClocked(t)
  await app.inject('/v1/feeds/latest/items')
  for (const code of ['SERVER_REFUSED', 'SERVER_UNTRUSTED']) {
    state.failure = new FreshetError(code, 'WRONGPASS for user reader')
    const response = await app.inject('/v1/feeds/latest/items')
    const problem = isProblem(t, response, 503, 'NOT_READY')
    t.equal(problem.retryable, true, 'until somebody mends it')
    t.match(response.headers['retry-after'], /^[123]$/)
    t.notMatch(response.body, /WRONGPASS|user reader/)
  }
  state.failure = new TypeError('a bug')
  t.notMatch(isProblem(t, await app.inject('/v1/feeds/latest/items'), 500, 'INTERNAL').detail, 'a bug')
})

t.test('cached replies are bounded in number; evictions are counted', async (t) => {
  const { app, state, registry } = createClocked(t)
  for (let since = 0; since < 210; since++) await app.inject(`/v1/feeds/latest/items?since=${since}`)
  state.failure = gone()
  isProblem(t, await app.inject('/v1/feeds/latest/items?since=9'), 503, 'SERVER_LOST')
  t.equal((await app.inject('/v1/feeds/latest/items?since=10')).statusCode, 200)
  const text = await registry.metrics()
  t.match(text, 'freshet_reply_cache_evictions_total 10')
  t.match(text, 'freshet_stale_replies_total 1')
})

t.test('cached replies are bounded in bytes, and large ones are not served stale', async (t) => {
  const half = Buffer.alloc(700 * 1024, 'x')
  const { app, state, registry } = createReader(t, { latest: [item('large', NOW, Buffer.alloc(900 * 1024)), item('half', NOW - 1, half)] })
  await app.inject('/v1/feeds/latest/items/large')
  for (let n = 0; n < 50; n++) await app.inject(`/v1/feeds/latest/items?id=half&since=${n}`)
  state.failure = gone()
  isProblem(t, await app.inject('/v1/feeds/latest/items/large'), 503, 'SERVER_LOST')
  isProblem(t, await app.inject('/v1/feeds/latest/items?id=half&since=0'), 503, 'SERVER_LOST')
  t.equal((await app.inject('/v1/feeds/latest/items?id=half&since=49')).statusCode, 200)
  const evicted = Number(/^freshet_reply_cache_evictions_total (\d+)$/m.exec(await registry.metrics())?.[1])
  t.ok(evicted >= 14 && evicted < 25, `${evicted} of 50 answers of 0.9 MiB forgotten with 32 MiB allowed`)
})
