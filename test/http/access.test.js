/** Every route of reader and gateway, by every kind of token. */
import pino from 'pino'
import { Registry } from 'prom-client'
import t from 'tap'
import { createServer, healthRoutes } from '../../src/http/index.js'
import { bearer, openSecurityFor, startGuarded, tokenFileFor } from './guarded.js'
import { eventually } from '../servers.js'

const HEALTH = { 'GET /livez': 'public', 'GET /readyz': 'public', 'GET /metrics': 'metrics' }
const DOCS = {
  'GET /docs': 'any',
  'GET /docs/': 'any',
  'GET /docs/json': 'any',
  'GET /docs/yaml': 'any',
  'GET /docs/static/*': 'any',
  'GET /docs/static/index.html': 'any',
  'GET /docs/static/swagger-initializer.js': 'any',
  'GET /docs/static/theme/docs.css': 'any',
  'GET /docs/static/theme/dark.js': 'any'
}
const PAGE = ['/', '/example', '/client.js', '/icon.svg', '/uplot.js', '/uplot.css',
  '/page/page.js', '/page/page.css']
/** What each route needs; HEAD as GET. @type {Record<string, Record<string, string>>} */
const NEEDS = {
  reader: {
    ...HEALTH,
    ...DOCS,
    ...Object.fromEntries(PAGE.map((path) => [`GET ${path}`, 'public'])),
    'GET /v1/feeds': 'list',
    'GET /v1/feeds/:feed': 'read',
    'GET /v1/feeds/:feed/count': 'read',
    'GET /v1/feeds/:feed/figures': 'read',
    'GET /v1/feeds/:feed/items': 'read',
    'GET /v1/feeds/:feed/items/:id': 'read',
    'GET /v1/feeds/:feed/live': 'read',
    'GET /v1/feeds/:feed/tail': 'read',
    'GET /v1/live': 'read'
  },
  gateway: { ...HEALTH, ...DOCS, 'GET /': 'public', 'POST /v1/feeds/:feed/items': 'write', 'DELETE /v1/feeds/:feed/items/:id': 'write' }
}

/** @param {{ method: string, url: string }} route */
const nameOf = ({ method, url }) => `${method === 'HEAD' ? 'GET' : method} ${url}`

/** By what a route needs: tokens that do, tokens without the scope, tokens for other feeds. @type {Record<string, string[][]>} */
const TOKENS = {
  any: [['read-latest', 'write-latest', 'admin-all'], [], []],
  list: [['read-latest', 'read-all', 'read-beginning'], ['write-all', 'admin-all'], []],
  read: [['read-latest', 'read-all', 'read-beginning'], ['write-latest', 'write-all', 'admin-all'], ['read-other']],
  write: [['write-latest', 'write-all'], ['read-latest', 'read-all', 'admin-all'], ['write-other']],
  metrics: [['read-all', 'admin-all'], ['write-all'], ['read-latest']]
}
const ROWS = ['read', 'write', 'admin'].flatMap((scope) => ['latest', 'other', 'all'].map((feed) =>
  ({ token: `${scope}-${feed}`, scopes: [scope], feeds: [feed === 'all' ? '*' : feed] })))
ROWS.push({ token: 'read-beginning', scopes: ['read'], feeds: ['lat*'] })
const REVOKED = { token: 'revoked-token', scopes: ['read', 'write', 'admin'], feeds: ['*'] }

const { file, write } = await tokenFileFor(t, [...ROWS, REVOKED])
const { reader, gateway } = await startGuarded(t, { tokens: file })
const valid = await reader.ask('GET', '/v1/feeds', { headers: bearer(REVOKED.token) })
await write(ROWS)
await eventually(async () => (await reader.ask('GET', '/v1/feeds', { headers: bearer(REVOKED.token) })).status === 401)

t.test('a token works until its line is removed from the file', async (t) => {
  t.equal(valid.status, 200)
})

t.test('what is wrong with a query is for clients with a token', async (t) => {
  const path = '/v1/feeds/latest/items?id=%zz'
  isRefused(t, await reader.ask('GET', path), 'GET', 401, 'UNAUTHORIZED', 'Bearer')
  isRefused(t, await gateway.ask('GET', '/nowhere?%ff'), 'GET', 401, 'UNAUTHORIZED', 'Bearer')
  isRefused(t, await reader.ask('GET', path, { headers: bearer('read-all') }), 'GET', 400, 'REQUEST_INVALID', null)
})

/**
 * @param {import('tap').Test} t @param {any} answer @param {string} method
 * @param {number} status @param {string} code @param {string | null} challenge
 */
function isRefused (t, { status: given, headers, body, json }, method, status, code, challenge) {
  const tokens = [...ROWS, REVOKED].filter(({ token }) => body.includes(token))
  const problem = method === 'HEAD' ? { code, status } : { code: json?.code, status: json?.status }
  // one assertion: there are thousands of refusals
  t.same({ status: given, challenge: headers.get('www-authenticate'), type: headers.get('content-type').split(';')[0], problem, tokens },
    { status, challenge, type: 'application/problem+json', problem: { code, status }, tokens: [] })
}

for (const [name, { routes, ask }] of Object.entries({ reader, gateway })) {
  const needs = NEEDS[name]
  const needOf = (/** @type {{ method: string, url: string }} */ { method, url }) =>
    needs[nameOf({ method, url })] ?? (name === 'reader' && url.startsWith('/page/') ? 'public' : undefined)

  t.test(`${name}: all routes are known here, and no other`, async (t) => {
    t.same(routes.filter((route) => needOf(route) === undefined), [], 'add what it needs to NEEDS')
    const found = routes.map(nameOf)
    t.same(Object.keys(needs).filter((route) => !found.includes(route)), [])
  })

  for (const route of routes) {
    const { method, url } = route
    const need = needOf(route)
    t.test(`${name}: ${method} ${url} needs ${need}`, async (t) => {
      const plain = url.replace(':feed', 'latest').replace(':id', 'a').replace('*', 'swagger-ui.css')
      const path = plain === '/v1/live' ? '/v1/live?feed=latest' : plain
      const send = (/** @type {Record<string, string>} */ headers) => ask(method, path, method === 'POST'
        ? { body: '[{"id":"a","value":1}]', headers: { 'content-type': 'application/json', ...headers } }
        : { headers })
      if (need === 'public') return t.ok([200, 204, 302].includes((await send({})).status))
      const [right, withoutScope, otherFeed] = TOKENS[need]
      for (const token of right) t.ok((await send(bearer(token))).status < 400, token)
      // after replies that may be shared
      isRefused(t, await send({}), method, 401, 'UNAUTHORIZED', 'Bearer')
      isRefused(t, await send({ 'if-none-match': '*' }), method, 401, 'UNAUTHORIZED', 'Bearer')
      for (const headers of [bearer('wrong-token'), bearer(REVOKED.token), bearer('READ-ALL'), bearer('read-all2'),
        { authorization: 'Basic cmVhZC1hbGw6' }, { authorization: 'read-all' }]) {
        isRefused(t, await send(headers), method, 401, 'UNAUTHORIZED', 'Bearer error="invalid_token"')
      }
      const scope = need === 'list' ? 'read' : need
      for (const token of withoutScope) {
        const challenge = need === 'metrics' ? null : `Bearer error="insufficient_scope", scope="${scope}"`
        isRefused(t, await send(bearer(token)), method, 403, 'FORBIDDEN', challenge)
      }
      for (const token of otherFeed) isRefused(t, await send(bearer(token)), method, 403, 'FORBIDDEN', null)
    })
  }

  t.test(`${name}: unknown paths and methods need a token, too`, async (t) => {
    for (const [method, path] of [['GET', '/nowhere'], ['POST', '/v1/feeds'], ['PUT', '/v1/feeds/latest/items'], ['OPTIONS', '/v1/feeds'],
      ['DELETE', '/']]) {
      isRefused(t, await ask(method, path), method, 401, 'UNAUTHORIZED', 'Bearer')
      t.ok([404, 405].includes((await ask(method, path, { headers: bearer('read-latest') })).status), `${method} ${path}`)
    }
  })
}

t.test('the list of feeds has those that the token may read, and is 304 only for clients who have the same one', async (t) => {
  const get = (/** @type {string} */ token, headers = {}) => reader.ask('GET', '/v1/feeds', { headers: { ...bearer(token), ...headers } })
  const [all, latest, other] = await Promise.all(['read-all', 'read-latest', 'read-other'].map((token) => get(token)))
  t.same([all, latest, other].map(({ json }) => json.feeds.map((/** @type {any} */ { feed }) => feed).sort()),
    [['latest', 'other'], ['latest'], ['other']])
  const known = { 'if-none-match': String(all.headers.get('etag')) }
  t.equal((await get('read-all', known)).status, 304)
  t.equal((await get('read-latest', known)).status, 200)
})

t.test('readiness names servers and feeds only to a token for all feeds; the log always has the reasons', async (t) => {
  t.same((await reader.ask('GET', '/readyz')).json, { ready: true, reasons: [] })
  t.match((await reader.ask('GET', '/readyz', { headers: bearer('wrong-token') })).json, { ready: true, nodes: undefined })
  t.match((await reader.ask('GET', '/readyz', { headers: bearer('read-latest') })).json, { ready: true, nodes: undefined })
  t.match((await reader.ask('GET', '/readyz', { headers: bearer('admin-all') })).json, { ready: true, nodes: [{ role: 'primary' }] })
})

t.test('tokens for all feeds get the reasons why a process is not ready; the log has them in any case', async (t) => {
  /** @type {any[]} */
  const logged = []
  const logger = pino({}, { write: (/** @type {string} */ line) => logged.push(JSON.parse(line)) })
  for (const token of [undefined, 'read-latest', 'read-all']) {
    const isTold = token === 'read-all'
    logged.length = 0
    const app = createServer({ registry: new Registry(), logger, security: await openSecurityFor(t, { tokens: file }) })
    t.teardown(() => app.close())
    const status = { ready: false, reasons: ['SERVER_LOST: reconnecting to 10.1.2.3'], nodes: [{ address: '10.1.2.3' }] }
    app.register(healthRoutes, { status: () => status, registry: new Registry() })
    const { statusCode, body } = await app.inject({ url: '/readyz', headers: bearer(token) })
    const reasons = [isTold ? /10\.1\.2\.3/ : /with a token for all feeds/]
    t.match([statusCode, JSON.parse(body)], [503, { code: 'NOT_READY', ready: false, reasons }])
    t.equal(body.includes('10.1.2.3'), isTold)
    t.match(logged, [{ code: 'NOT_READY', msg: /10\.1\.2\.3/ }])
  }
})

t.test('the OpenAPI document says which routes need a token', async (t) => {
  for (const { ask } of [reader, gateway]) {
    const { paths, components } = (await ask('GET', '/docs/json', { headers: bearer('admin-all') })).json
    t.match(components.securitySchemes.bearer, { type: 'http', scheme: 'bearer' })
    t.equal(paths['/livez'].get.security, undefined)
    t.same(paths['/metrics'].get.security, [{ bearer: [] }])
  }
})
