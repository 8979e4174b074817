/** Health, access and created feeds of a gateway. */
import t from 'tap'
import { main } from '../../writers/gateway.js'
import { runGateway } from '../commands.js'
import { connectFor, eventually, startServer } from '../servers.js'
import { startGateway } from '../services.js'
import { bearer, tokenFileFor } from '../http/guarded.js'
import { isProblem, MAX_BODY_BYTES, startBoth } from './requests.js'
import { scopedEngines, wholeTest } from '../scope.js'

const [engine] = await scopedEngines()

t.test('health, metrics and OpenAPI of the gateway', async (t) => {
  const { gateway: { send } } = await startBoth(t)
  t.match(await send('GET', '/livez'), { status: 200 })
  t.match(await send('GET', '/readyz'), { status: 200, json: { ready: true, reasons: { length: 0 } } })
  t.match(await send('GET', '/'), { status: 200, body: /^This is a gateway of Freshet[^]*\/docs lists all routes/ })
  t.match(isProblem(t, await send('GET', '/v1'), 404, 'NOT_FOUND').detail, '/docs lists them')
  const { json } = await send('GET', '/docs/json')
  t.same(Object.keys(json.paths).sort(), ['/livez', '/metrics', '/readyz', '/v1/assets/{asset}',
    ...['', '/bids', '/buy-now', '/close'].map((rest) => `/v1/auctions/{id}${rest}`),
    '/v1/customers', '/v1/feeds/{feed}', '/v1/feeds/{feed}/items', '/v1/feeds/{feed}/items/{id}', '/v1/orders', '/v1/orders/{id}/cancel',
    '/v1/payments/callbacks', '/v1/prices/{asset}/refresh',
    ...['', '/release', '/reserve', '/restock'].map((rest) => `/v1/products/{sku}${rest}`),
    ...['', '/claims', '/claims/{claim}', '/claims/{claim}/confirm', '/close', '/pause', '/queue', '/queue/{userId}', '/restock', '/resume',
      '/tokens'].map((rest) => `/v1/sales/{id}${rest}`),
    ...['auctions', 'orders', 'prices', 'sales'].flatMap((system) =>
      ['', '/{id}', '/{id}/replay'].map((rest) => `/v1/systems/${system}/dead-letters${rest}`))
  ])
  const { post } = json.paths['/v1/feeds/{feed}/items']
  t.same(Object.keys(post.requestBody.content), ['application/json', 'application/x-ndjson', 'application/jsonl'])
  for (const { schema } of Object.values(post.requestBody.content)) t.ok(schema.type)
  const { ts } = post.requestBody.content['application/json'].schema.items.properties
  t.same(ts.anyOf.map(({ type }) => type), ['integer', 'integer', 'string'])
  const { delete: remove } = json.paths['/v1/feeds/{feed}/items/{id}']
  t.same(remove.parameters.map(({ name, in: where, required }) => [name, where, Boolean(required)]).sort(),
    [['feed', 'path', true], ['id', 'path', true], ['ts', 'query', false]])
  t.equal(remove.requestBody, undefined)
  const isRequired = (path, method) => json.paths[path][method].requestBody.required
  t.equal(isRequired('/v1/assets/{asset}', 'put'), false, 'all fields are optional')
  t.equal(isRequired('/v1/auctions/{id}/close', 'post'), false, 'there are no fields')
  for (const [path, method] of [['/v1/auctions/{id}', 'put'], ['/v1/feeds/{feed}/items', 'post'], ['/v1/payments/callbacks', 'post']]) {
    t.equal(isRequired(path, method), true, path)
  }
  t.match(remove.responses, {
    200: { content: { 'application/json': { schema: { required: ['accepted'] } } } },
    400: { content: { 'application/problem+json': { schema: { properties: { code: { enum: Array } } } } } }
  })
  t.same(post.parameters.map(({ name }) => name).sort(), ['encoding', 'feed'])
  t.equal(post.security, undefined, 'no token was asked for')
  t.equal((await send('GET', '/docs')).status, 200)
  t.match((await send('GET', '/metrics')).body, /^freshet_open_feeds 0$/m)
})

const TOKEN = 'correct-horse'

/** @param {import('tap').Test} t @param {string[]} feeds */
async function tokenFlags (t, feeds) {
  const { file } = await tokenFileFor(t, [{ token: TOKEN, scopes: ['write', 'admin'], feeds }])
  return ['--tokens', file]
}

t.test('bodies of requests without a valid token are not read', async (t) => {
  const { gateway } = await startBoth(t, { flags: await tokenFlags(t, ['secret']) })
  const { post, send } = gateway
  const { json: { paths } } = await send('GET', '/docs/json', undefined, bearer(TOKEN))
  t.match(paths['/v1/feeds/{feed}/items'].post, { security: [{ bearer: { length: 0 } }], responses: { 401: Object, 403: Object } })
  t.equal(paths['/livez'].get.responses[401], undefined)
  const { 401: refused } = paths['/v1/sales/{id}/claims'].post.responses
  t.same(refused.content['application/problem+json'].schema.properties.code.enum, ['UNAUTHORIZED', 'TICKET_MISSING', 'TICKET_INVALID'])
  const path = '/v1/feeds/secret/items'
  for (const headers of [{}, bearer('wrong-token'), { authorization: `Basic ${TOKEN}` }]) {
    for (const [body, type] of /** @type {[any, string][]} */ ([[[{ id: 'a', value: 1 }], 'application/json'],
      ['x'.repeat(2 * MAX_BODY_BYTES), 'application/json'], ['x', 'text/plain']])) {
      isProblem(t, await post(path, body, { 'content-type': type, ...headers }), 401, 'UNAUTHORIZED')
    }
  }
  isProblem(t, await post('/v1/feeds/other/items', 'x'.repeat(2 * MAX_BODY_BYTES), bearer(TOKEN)), 403, 'FORBIDDEN')
  t.match(await post(path, [{ id: 'a', value: 1 }], bearer(TOKEN)), { status: 200, json: { accepted: 1 } })
  t.notMatch(gateway.service.log, TOKEN)
})

wholeTest('no log line and no response contains the token', async (t) => {
  const server = await startServer(t, { engine })
  const connection = await connectFor(t, server.url)
  const { command, post, remove } = await runGateway(t, {
    redisUrl: server.url,
    flags: ['--log-level', 'trace', '--deadline-ms', '300', '--ack-within-ms', '300', ...await tokenFlags(t, ['*'])]
  })
  const headers = bearer(TOKEN)
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
  for (const text of [command.stderr, command.stdout, ...answers.map(({ body }) => body)]) t.notMatch(text, TOKEN)
  t.match(command.stderr, /KEY_HOLDS_OTHER/)
})

t.test('a gateway does not start on an open address without tokens, or on a port in use', async (t) => {
  const { gateway, primary } = await startBoth(t)
  const start = (/** @type {string[]} */ ...flags) => main({ argv: ['--redis-url', primary.url, ...flags], env: {} })
  await t.rejects(start('--port', '0', '--host', '0.0.0.0'),
    { exitStatus: 2, message: /host: 0\.0\.0\.0 .* or --tokens, or --jwt-keys, or --open/ })
  await t.rejects(start('--port', new URL(gateway.url).port),
    { exitStatus: 1, message: /port \d+ on 127\.0\.0\.1 is in use; stop the other program, or choose another --port/ })
})

wholeTest('feeds are created from the settings, and existing ones adopted', async (t) => {
  const { primary, keyPrefix, gateway, reader } = await startBoth(t,
    { flags: ['--partitions', '3', '--window-ms', '5000', '--max-items', '10'] })
  t.match(await gateway.post('/v1/feeds/mine/items', Array.from({ length: 30 }, (_, n) => ({ id: `${n}`, value: n }))),
    { json: { accepted: 30 } })
  await eventually(async () => (await reader.ask('/v1/feeds/mine')).status === 200)
  t.match((await reader.ask('/v1/feeds/mine')).json, { partitions: 3, windowMs: 5000, maxItems: 10 })
  const other = await startGateway(t, { redisUrl: primary.url, keyPrefix, flags: ['--partitions', '1', '--window-ms', '0'] })
  t.match(await other.post('/v1/feeds/mine/items', [{ id: 'other', value: 1 }]), { json: { accepted: 1 } })
  t.match((await reader.ask('/v1/feeds/mine')).json, { partitions: 3, windowMs: 5000 })
  const old = await other.post('/v1/feeds/mine/items', [{ id: 'old', ts: Date.now() - 10_000, value: 1 }])
  t.match(old, { status: 400, json: { faults: [{ code: 'ITEM_TOO_OLD' }] } })
})

wholeTest('a gateway is not ready while a feed is not acknowledged', async (t) => {
  const primary = await startServer(t, { engine })
  const { send, post, service } = await startGateway(t,
    { redisUrl: primary.url, flags: ['--ack', 'replica', '--ack-within-ms', '300', '--deadline-ms', '1000'] })
  t.match(await send('GET', '/readyz'), { status: 200 })
  isProblem(t, await post('/v1/feeds/safe/items', [{ id: 'a', value: 1 }]), 503, 'ACK_UNKNOWN')
  await eventually(async () => (await send('GET', '/readyz')).status === 503)
  t.match((await send('GET', '/readyz')).json, { ready: false, reasons: [/^safe: REPLICAS_GONE: /] })
  t.match((await send('GET', '/metrics')).body, /^freshet_ready 0$/m)
  await startServer(t, { engine, replicaOf: primary })
  await eventually(async () => (await send('GET', '/readyz')).status === 200)
  t.equal(await service.stop(), 0)
})
