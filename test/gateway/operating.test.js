/** Health, access and created feeds of a gateway. */
import t from 'tap'
import { endOf, startGateway } from '../commands.js'
import { connectFor, eventually, startServer } from '../servers.js'
import { isProblem, MAX_BODY_BYTES, startBoth } from './requests.js'
import { scopedEngines, wholeTest } from '../scope.js'

const [engine] = await scopedEngines()

t.test('health, metrics and OpenAPI of the gateway', async (t) => {
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
  const { delete: remove } = json.paths['/v1/feeds/{feed}/items/{id}']
  t.same(remove.parameters.map(({ name, in: where, required }) => [name, where, Boolean(required)]).sort(),
    [['feed', 'path', true], ['id', 'path', true], ['ts', 'query', false]])
  t.equal(remove.requestBody, undefined)
  t.match(remove.responses, {
    200: { content: { 'application/json': { schema: { required: ['accepted'] } } } },
    default: { content: { 'application/problem+json': {} } }
  })
  t.same(post.parameters.map(({ name }) => name).sort(), ['encoding', 'feed'])
  t.equal(post.security, undefined, 'no token was asked for')
  t.equal((await send('GET', '/docs')).status, 200)
  t.match((await send('GET', '/metrics')).body, /^freshet_open_feeds 0$/m)
})

t.test('requests without the token are refused, and their bodies are not read', async (t) => {
  const { gateway, reader } = await startBoth(t, { engine, env: { FRESHET_AUTH_TOKEN: 'correct-horse' } })
  const { post, remove, send } = gateway
  const path = '/v1/feeds/secret/items'
  for (const authorization of [undefined, 'Bearer wrong', 'Basic correct-horse']) {
    /** @type {Record<string, string>} */
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

wholeTest('no log line and no response contains the token', async (t) => {
  const server = await startServer(t, { engine })
  const connection = await connectFor(t, server.url)
  const { command, post, remove } = await startGateway(t, {
    redisUrl: server.url,
    flags: ['--log-level', 'trace', '--deadline-ms', '300', '--ack-within-ms', '300'],
    env: { FRESHET_AUTH_TOKEN: 'correct-horse' }
  })
  const headers = { authorization: 'Bearer correct-horse' }
  const answers = []
  await connection.send('SET', 'fr:{broken:0}:ids', 'somebody else\'s')
  answers.push(await post('/v1/feeds/broken/items', [{ id: 'a', value: 1 }], headers))
  answers.push(await post('/v1/feeds/fine/items', [{ id: 'a', value: 1 }], headers))
  server.freeze()
  answers.push(await post('/v1/feeds/fine/items', [{ id: 'a', value: 1 }], headers), await remove('/v1/feeds/fine/items/a', headers),
    await post('/v1/feeds/fine/items', 'x', headers))
  server.thaw()
  t.same(answers.map(({ status }) => status), [500, 200, 503, 503, 400])
  await command.stop()
  for (const text of [command.stderr, command.stdout, ...answers.map(({ body }) => body)]) t.notMatch(text, 'correct-horse')
  t.match(command.stderr, /KEY_HOLDS_OTHER/)
})

t.test('a gateway does not start on an open address without a token, or on a port in use', async (t) => {
  const server = await startServer(t, { engine })
  const open = await endOf(t, ['gateway', '--redis-url', server.url, '--port', '0', '--host', '0.0.0.0'])
  t.equal(open.code, 2)
  t.match(open.stderr, /host: 0\.0\.0\.0 .* --auth-token, or --open/)
  const { url } = await startGateway(t, { redisUrl: server.url })
  const second = await endOf(t, ['gateway', '--redis-url', server.url, '--port', new URL(url).port])
  t.equal(second.code, 1)
  t.match(second.stderr, /port \d+ on 127\.0\.0\.1 is in use; stop the other program, or choose another --port/)
})

wholeTest('feeds are created from the settings, and existing ones adopted', async (t) => {
  const { primary, gateway, reader } = await startBoth(t,
    { engine, flags: ['--partitions', '3', '--window-ms', '5000', '--max-items', '10'] })
  t.match(await gateway.post('/v1/feeds/mine/items', Array.from({ length: 30 }, (_, n) => ({ id: `${n}`, value: n }))),
    { json: { accepted: 30 } })
  await eventually(async () => (await reader.ask('/v1/feeds/mine')).status === 200)
  t.match((await reader.ask('/v1/feeds/mine')).json, { partitions: 3, windowMs: 5000, maxItems: 10 })
  const other = await startGateway(t, { redisUrl: primary.url, flags: ['--partitions', '1', '--window-ms', '0'] })
  t.match(await other.post('/v1/feeds/mine/items', [{ id: 'other', value: 1 }]), { json: { accepted: 1 } })
  t.match((await reader.ask('/v1/feeds/mine')).json, { partitions: 3, windowMs: 5000 })
  const old = await other.post('/v1/feeds/mine/items', [{ id: 'old', ts: Date.now() - 10_000, value: 1 }])
  t.match(old, { status: 400, json: { faults: [{ code: 'ITEM_TOO_OLD' }] } })
})

wholeTest('a gateway is not ready while a feed is not acknowledged', async (t) => {
  const primary = await startServer(t, { engine })
  const { send, post, command } = await startGateway(t,
    { redisUrl: primary.url, flags: ['--ack', 'replica', '--ack-within-ms', '300', '--deadline-ms', '1000'] })
  t.match(await send('GET', '/readyz'), { status: 200 })
  isProblem(t, await post('/v1/feeds/safe/items', [{ id: 'a', value: 1 }]), 503, 'ACK_UNKNOWN')
  await eventually(async () => (await send('GET', '/readyz')).status === 503)
  t.match((await send('GET', '/readyz')).json, { ready: false, reasons: [/^safe: REPLICAS_GONE: /] })
  t.match((await send('GET', '/metrics')).body, /^freshet_ready 0$/m)
  await startServer(t, { engine, replicaOf: primary })
  await eventually(async () => (await send('GET', '/readyz')).status === 200)
  t.equal((await command.stop()).code, 0)
})
