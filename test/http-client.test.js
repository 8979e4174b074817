/** Calls of other programs over HTTP: what ends them, and what is sent again. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createHttpClient } from '../src/http-client.js'

/** @param {import('tap').Test} t @param {import('node:http').RequestListener} answer */
async function startServer (t, answer) {
  const server = createServer(answer)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => { server.close(); server.closeAllConnections() })
  return `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`
}

/** @param {import('tap').Test} t @param {Parameters<typeof createHttpClient>[0]} options */
function open (t, options) {
  const client = createHttpClient(options)
  t.teardown(() => client.close())
  return client
}

t.test('method, path below the URL, headers and body are sent, and the whole reply comes back', async (t) => {
  const url = await startServer(t, async (request, response) => {
    const body = await text(request)
    const { method, url, headers: { one, two } } = request
    response.writeHead(201, { 'x-seen': `${method} ${url} ${one} ${two}` }).end(`got ${body}`)
  })
  const client = open(t, { url: `${url}/base/?all`, headers: { one: '1' } })
  t.match(await client.call('POST', '/a?b=c', { body: 'ü', headers: { two: '2' } }),
    { status: 201, text: 'got ü', headers: { 'x-seen': 'POST /base/a?b=c 1 2' } })
  t.match(await client.call('GET', null), { text: 'got ', headers: { 'x-seen': 'GET /base/?all 1 undefined' } })
})

t.test('a call ends with its deadline, its signal, a body that is too large, and the client', async (t) => {
  const url = await startServer(t, (request, response) => {
    if (request.url === '/large') response.end('x'.repeat(1001))
    else if (request.url === '/half') response.write('half')
  })
  const client = open(t, { url, timeoutMs: 100, maxBytes: 1000 })
  for (const path of ['/never', '/half']) await t.rejects(client.call('GET', path), { code: 'ETIMEDOUT', message: 'no reply in time' })
  await t.rejects(client.call('GET', '/large'), { code: 'EMSGSIZE', message: /1,000 bytes/ })
  const patient = open(t, { url })
  await t.rejects(patient.call('GET', '/never', { signal: AbortSignal.abort(new Error('enough')) }), { message: 'enough' })
  await t.rejects(patient.call('GET', '/half', { signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' })
  const last = patient.call('POST', '/never')
  setTimeout(patient.close, 50)
  await t.rejects(last, { code: 'ECONNRESET' })
})

t.test('a closed client sends nothing more: calls that wait for a connection fail, and later ones', async (t) => {
  /** @type {unknown[]} */
  const received = []
  const url = await startServer(t, (request) => { received.push(request.url) })
  const client = open(t, { url, maxSockets: 1 })
  const calls = Array.from({ length: 3 }, () => client.call('POST', '/'))
  const ended = Promise.allSettled(calls)
  while (received.length === 0) await pause(5)
  client.close()
  t.same((await ended).map((call) => call.status === 'rejected' && call.reason.code), Array(3).fill('ECONNRESET'))
  await t.rejects(client.call('POST', '/'), { code: 'ECONNRESET', message: /closed/ })
  t.equal(received.length, 1)
})

t.test('a reply whose body is not wanted ends with its headers', async (t) => {
  const url = await startServer(t, (_request, response) => { response.writeHead(429, { 'retry-after': '7' }).write('without an end') })
  const client = open(t, { url, timeoutMs: 60_000 })
  t.match(await client.call('GET', '/', { readsBody: (status) => status === 200 }),
    { status: 429, text: '', headers: { 'retry-after': '7' } })
})

t.test('a GET on a connection that was kept and closed is sent again, other methods are not', async (t) => {
  const seen = /** @type {string[]} */ ([])
  const url = await startServer(t, (request, response) => {
    seen.push(`${request.method}`)
    // the second request of a connection ends it, as a server does that closes idle connections
    if (/** @type {any} */ (request.socket).isUsed) return request.socket.destroy()
    Object.assign(request.socket, { isUsed: true })
    response.end('well')
  })
  for (const [method, requests] of /** @type {[string, number][]} */ ([['GET', 3], ['POST', 2]])) {
    const client = open(t, { url })
    await client.call(method, '/')
    const second = client.call(method, '/')
    if (method === 'GET') t.match(await second, { text: 'well' })
    else await t.rejects(second, { code: 'ECONNRESET' })
    t.equal(seen.splice(0).length, requests)
  }
})
