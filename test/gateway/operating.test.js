/** What a gateway says of itself, whom it lets in, and which feeds it makes. */
import t from 'tap'
import { startGateway } from '../commands.js'
import { eventually, startServer, testEngines } from '../servers.js'
import { isProblem, MAX_BODY_BYTES, startBoth } from './requests.js'

const [engine] = await testEngines()

t.test('the gateway speaks of itself', async (t) => {
  const { gateway: { send } } = await startBoth(t, { engine })
  t.match(await send('GET', '/livez'), { status: 200 })
  t.match(await send('GET', '/readyz'), { status: 200, json: { ready: true, reasons: [] } })
  const hint = await send('GET', '/')
  t.match(isProblem(t, hint, 404, 'NOT_FOUND').detail, '/docs lists them')
  const { json } = await send('GET', '/docs/json')
  t.same(Object.keys(json.paths).sort(), ['/livez', '/metrics', '/readyz', '/v1/feeds/{feed}/items', '/v1/feeds/{feed}/items/{id}'])
  const { post } = json.paths['/v1/feeds/{feed}/items']
  t.same(Object.keys(post.requestBody.content), ['application/json', 'application/x-ndjson', 'application/jsonl'])
  for (const { schema } of Object.values(post.requestBody.content)) t.ok(schema.type)
  t.same(post.parameters.map(({ name }) => name).sort(), ['encoding', 'feed'])
  t.equal(post.security, undefined, 'no token was asked for')
  t.equal((await send('GET', '/docs')).status, 200)
  t.match((await send('GET', '/metrics')).body, /^freshet_open_feeds 0$/m)
})

t.test('with a token nothing is taken without it, and its body is not read', async (t) => {
  const { gateway, reader } = await startBoth(t, { engine, env: { FRESHET_AUTH_TOKEN: 'correct-horse' } })
  const { post, remove, send } = gateway
  const path = '/v1/feeds/secret/items'
  for (const authorization of [undefined, 'Bearer wrong', 'Basic correct-horse']) {
    const headers = authorization ? { authorization } : {}
    const refused = await post(path, [{ id: 'a', value: 1 }], headers)
    isProblem(t, refused, 401, 'UNAUTHORIZED')
    t.equal(refused.headers.get('www-authenticate'), 'Bearer')
    isProblem(t, await post(path, 'x'.repeat(2 * MAX_BODY_BYTES), headers), 401, 'UNAUTHORIZED')
    isProblem(t, await post(path, 'x', { 'content-type': 'text/plain', ...headers }), 401, 'UNAUTHORIZED')
    isProblem(t, await remove(`${path}/a`, headers), 401, 'UNAUTHORIZED')
  }
  t.equal((await reader.get('/v1/feeds/secret')).status, 404)
  t.equal((await send('GET', '/readyz')).status, 200)
  const authorization = 'Bearer correct-horse'
  t.match(await post(path, [{ id: 'a', value: 1 }], { authorization }), { status: 200, json: { accepted: 1 } })
  t.match(await remove(`${path}/a`, { authorization }), { status: 200 })
  const { json } = await send('GET', '/docs/json')
  t.same(json.paths['/v1/feeds/{feed}/items'].post.security, [{ bearer: [] }])
  t.equal(json.paths['/livez'].get.security, undefined)
  t.notMatch(gateway.command.stderr, 'correct-horse')
})

t.test('feeds are created as the settings say, and adopted as they are', async (t) => {
  const { primary, gateway, reader } = await startBoth(t, { engine, flags: ['--partitions', '3', '--window-ms', '5000', '--max-items', '10'] })
  t.match(await gateway.post('/v1/feeds/mine/items', Array.from({ length: 30 }, (_, n) => ({ id: `${n}`, value: n }))), { json: { accepted: 30 } })
  await eventually(async () => (await reader.ask('/v1/feeds/mine')).status === 200)
  t.match((await reader.ask('/v1/feeds/mine')).json, { partitions: 3, windowMs: 5000, maxItems: 10 })
  const other = await startGateway(t, { redisUrl: primary.url, flags: ['--partitions', '1', '--window-ms', '0'] })
  t.match(await other.post('/v1/feeds/mine/items', [{ id: 'other', value: 1 }]), { json: { accepted: 1 } })
  t.match((await reader.ask('/v1/feeds/mine')).json, { partitions: 3, windowMs: 5000 })
  const old = await other.post('/v1/feeds/mine/items', [{ id: 'old', ts: Date.now() - 10_000, value: 1 }])
  t.match(old, { status: 400, json: { faults: [{ code: 'ITEM_TOO_OLD' }] } })
})

t.test('a gateway whose feed is not acknowledged says so, and comes back when it is', async (t) => {
  const primary = await startServer(t, { engine })
  const { send, post, command } = await startGateway(t, { redisUrl: primary.url, flags: ['--ack', 'replica', '--ack-within-ms', '300', '--deadline-ms', '1000'] })
  t.match(await send('GET', '/readyz'), { status: 200 })
  isProblem(t, await post('/v1/feeds/safe/items', [{ id: 'a', value: 1 }]), 503, 'ACK_UNKNOWN')
  await eventually(async () => (await send('GET', '/readyz')).status === 503)
  t.match((await send('GET', '/readyz')).json, { ready: false, reasons: [/^safe: REPLICAS_GONE: /] })
  t.match((await send('GET', '/metrics')).body, /^freshet_ready 0$/m)
  await startServer(t, { engine, replicaOf: primary })
  await eventually(async () => (await send('GET', '/readyz')).status === 200)
  t.equal((await command.stop()).code, 0)
})
