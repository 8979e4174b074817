/** What every HTTP service of ours answers to requests that no client library sends, and to methods and paths it does not have. */
import { Registry } from 'prom-client'
import t from 'tap'
import { FreshetError } from '../../src/errors.js'
import { bodyOf, createBodyBudget, createServer, describeRoutes, healthRoutes, takeBodies } from '../../src/http/index.js'
import { headOf, openWire } from '../gateway/wire.js'
import { eventually } from '../servers.js'

/** @param {import('tap').Test} t */
async function startService (t) {
  const registry = new Registry()
  const app = createServer({ registry })
  /** @type {(() => void)[]} */
  const waiting = []
  describeRoutes(app, { title: 'Service', description: 'For this test.' })
  app.register(healthRoutes, { status: () => ({ ready: true, reasons: [] }), registry })
  app.get('/slow/:id', async (request) => {
    await new Promise((resolve) => waiting.push(() => resolve(null)))
    return request.params
  })
  app.register(async (items) => {
    takeBodies(items, { types: ['application/json'], maxBytes: 1000, budget: createBodyBudget(10_000) })
    items.post('/items', async (request) => ({ bytes: bodyOf(request).bytes.length }))
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => {
    app.server.closeAllConnections()
    return app.close()
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (app.server.address())
  return {
    url: `http://127.0.0.1:${port}`,
    /** Lets /slow be answered, once it was asked. */
    async release () {
      await eventually(() => waiting.length > 0)
      waiting.pop()?.()
    }
  }
}

/** @param {import('tap').Test} t @param {import('../gateway/wire.js').Answer} answer @param {number} status @param {string} code */
function isProblem (t, { status: got, headers, json }, status, code) {
  t.equal(got, status, code)
  t.match(headers['content-type'], 'application/problem+json')
  t.match(json, { type: `urn:freshet:error:${code}`, title: String, status, detail: String, code, retryable: false })
  return json
}

const NEXT = headOf('GET', '/livez')

/** Another connection is answered: what was written before has been read. @param {import('tap').Test} t @param {string} url */
async function readByServer (t, url) {
  const wire = await openWire(t, url)
  wire.write(NEXT)
  await wire.answer()
}

t.test('a start may take long on a busy machine', async (t) => {
  t.equal(createServer({ registry: new Registry() }).initialConfig.pluginTimeout, 0)
})

t.test('no Host, and two, are a problem; the connection goes on', async (t) => {
  const { url } = await startService(t)
  for (const [head, detail] of [
    ['GET /livez HTTP/1.1\r\n\r\n', 'no Host header'],
    ['GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', '2 Host headers'],
    ['GET /livez HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nHOST: a\r\n\r\n', '2 Host headers'],
    ['GET /livez HTTP/1.0\r\nHost: a\r\nhost: b\r\nConnection: keep-alive\r\n\r\n', '2 Host headers'],
    ['GET /nowhere HTTP/1.1\r\n\r\n', 'no Host header'],
    ['POST /items HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]', 'no Host header']
  ]) {
    const wire = await openWire(t, url)
    wire.write(NEXT + head + NEXT)
    t.equal((await wire.answer(0)).status, 200)
    t.match(isProblem(t, await wire.answer(1), 400, 'REQUEST_INVALID').detail, detail, head)
    t.equal((await wire.answer(2)).status, 200, 'the next request of the same connection')
    wire.write(NEXT)
    t.equal((await wire.answer(3)).status, 200)
  }
  const wire = await openWire(t, url)
  wire.write('GET /livez HTTP/1.0\r\n\r\n')
  t.equal((await wire.answer()).status, 200, 'HTTP/1.0 needs none')
})

t.test('transfer codings other than chunked are a problem', async (t) => {
  const { url } = await startService(t)
  const post = (/** @type {string} */ codings, /** @type {string} */ body) =>
    headOf('POST', '/items', { 'Content-Type': 'application/json', 'Transfer-Encoding': codings }) + body
  const chunked = '2\r\n[]\r\n0\r\n\r\n'
  for (const codings of ['gzip, chunked', 'identity, chunked', 'xchunked, chunked', 'br,gzip,chunked']) {
    const wire = await openWire(t, url)
    wire.write(post(codings, chunked) + NEXT)
    t.match(isProblem(t, await wire.answer(0), 400, 'REQUEST_INVALID').detail, `Transfer-Encoding: ${codings};`)
    t.equal((await wire.answer(1)).status, 200, 'the next request of the same connection')
  }
  for (const codings of ['gzip', 'identity', 'chunked, gzip', 'chunked\r\nTransfer-Encoding: chunked', 'chunked\r\nContent-Length: 2']) {
    const wire = await openWire(t, url)
    wire.write(post(codings, chunked) + NEXT)
    isProblem(t, await wire.answer(0), 400, 'REQUEST_INVALID')
    await wire.closed()
    t.equal(wire.answers.length, 1, `${JSON.stringify(codings)}: one answer, since the end of the request is unknown`)
  }
  const wire = await openWire(t, url)
  wire.write(post('Chunked', chunked))
  t.match((await wire.answer()).json, { bytes: 2 })
})

t.test('what is not HTTP is refused after the answers to the requests before it', async (t) => {
  const { url, release } = await startService(t)
  const wire = await openWire(t, url)
  wire.write(headOf('GET', '/slow/a') + NEXT + 'nonsense\r\n\r\n')
  wire.write('more nonsense')
  await readByServer(t, url)
  t.same(wire.answers, [])
  await release()
  t.match((await wire.answer(0)).json, { id: 'a' })
  t.match((await wire.answer(1)).json, { status: 'ok' })
  t.match(isProblem(t, await wire.answer(2), 400, 'REQUEST_INVALID').detail, 'not a valid HTTP/1.1 request')
  await wire.closed()
  t.equal(wire.answers.length, 3)
})

t.test('a body that is not HTTP is refused, once, after the answers to the requests before it', async (t) => {
  const { url, release } = await startService(t)
  const head = headOf('POST', '/items', { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' })
  const alone = await openWire(t, url)
  alone.write(head + '2\r\n[1,2]\r\n')
  isProblem(t, await alone.answer(0), 400, 'REQUEST_INVALID')
  await alone.closed()

  const behind = await openWire(t, url)
  behind.write(headOf('GET', '/slow/a') + head + '2\r\n[1,2]\r\n')
  await readByServer(t, url)
  await release()
  t.match((await behind.answer(0)).json, { id: 'a' })
  isProblem(t, await behind.answer(1), 400, 'REQUEST_INVALID')
  await behind.closed()

  const unwanted = await openWire(t, url)
  unwanted.write(headOf('POST', '/nowhere', { 'Transfer-Encoding': 'chunked' }) + '2\r\n[1,2]\r\n')
  isProblem(t, await unwanted.answer(0), 404, 'NOT_FOUND')
  await unwanted.closed()
  t.equal(unwanted.answers.length, 1)
})

t.test('an unknown expectation is ignored', async (t) => {
  const { url } = await startService(t)
  const wire = await openWire(t, url)
  wire.write(headOf('GET', '/livez', { Expect: 'miracles' }))
  t.match(await wire.answer(), { status: 200, json: { status: 'ok' } })
})

t.test('another method of a known path is 405 with Allow, whatever its body is; other paths are 404', async (t) => {
  const { url } = await startService(t)
  const ask = async (/** @type {string} */ text) => {
    const wire = await openWire(t, url)
    wire.write(text)
    return wire.answer()
  }
  for (const [method, path, allow] of [
    ['POST', '/livez', 'GET, HEAD'], ['TRACE', '/livez?a=1', 'GET, HEAD'], ['PROPFIND', '/slow/x%2Fy', 'GET, HEAD'],
    ['DELETE', '/slow/', 'GET, HEAD'], ['OPTIONS', '/items', 'POST'], ['GET', '/items', 'POST'],
    ['QUERY', '/livez', 'GET, HEAD'], ['PUT', '/docs/static/index.css', 'GET, HEAD'], ['PATCH', '/docs/json', 'GET, HEAD']
  ]) {
    const answer = await ask(headOf(method, path))
    t.equal(answer.headers.allow, allow, `${method} ${path}`)
    t.same(isProblem(t, answer, 405, 'METHOD_NOT_ALLOWED').allow, allow.split(', '))
  }
  t.equal((await ask(headOf('POST', '/livez', { 'Content-Type': 'text/csv', 'Content-Length': 3 }) + 'a,b')).status, 405)
  t.equal((await ask(headOf('POST', '/livez', { 'Content-Type': 'application/json', 'Content-Length': 3 }) + 'a,b')).status, 405)
  for (const [method, path] of [['GET', '/'], ['POST', '/nowhere'], ['POST', '/slow/a/b'], ['DELETE', '/slowly/a'],
    ['GET', '/docs/static/none']]) {
    const answer = await ask(headOf(method, path))
    t.equal(answer.headers.allow, undefined)
    isProblem(t, answer, 404, 'NOT_FOUND')
  }
})

t.test('/docs forbids browsers to guess types, and its redirects end', async (t) => {
  const { url } = await startService(t)
  for (const path of ['/docs', '/docs/', '/docs/json', '/docs/yaml', '/docs/static/', '/docs/static/index.html?a=1',
    '/docs/static/index.html', '/docs/static/swagger-initializer.js', '/docs/static/swagger-ui.css']) {
    const seen = []
    let response
    for (let at = path; seen.length < 5 && at; at = response.headers.get('location') ?? '') {
      response = await fetch(url + at, { redirect: 'manual' })
      t.equal(response.headers.get('x-content-type-options'), 'nosniff', at)
      seen.push(at)
      await response.arrayBuffer()
    }
    t.equal(response?.status, 200, seen.join(' -> '))
  }
})

t.test('an error that replaces content has none of its headers', async (t) => {
  const app = createServer({ registry: new Registry() })
  t.teardown(() => app.close())
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (reply.statusCode === 200) done(new FreshetError('OVERLOADED', 'no room'))
    else done()
  })
  app.get('/content', async (_request, reply) => {
    reply.headers({ 'content-encoding': 'gzip', etag: '"a"', age: '1', 'freshet-as-of': '1' })
    return Buffer.from('compressed')
  })
  const { statusCode, headers, json } = await app.inject('/content')
  t.equal(statusCode, 503)
  t.same(['content-encoding', 'etag', 'age', 'freshet-as-of'].filter((name) => name in headers), [])
  t.equal(json().code, 'OVERLOADED')
})
