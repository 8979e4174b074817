/** The bound on request bodies that are being received or wait. */
import { Registry } from 'prom-client'
import t from 'tap'
import { sendTo } from '../commands.js'
import { eventually } from '../servers.js'
import { FreshetError } from '../../src/errors.js'
import { createGatewayApp } from '../../writers/gateway/app.js'
import { MAX_BODY_BYTES, isProblem } from './requests.js'
import { headOf, openWire } from './wire.js'

const PATH = '/v1/feeds/one/items'
const ITEM = '[{"id":"a","value":1}]'

/** @param {import('tap').Test} t @param {object} options */
async function startApp (t, options) {
  const app = createGatewayApp({
    feeds: /** @type {any} */ ({ use: async () => {} }),
    status: () => ({ ready: true, reasons: [], nodes: [] }),
    stopping: new AbortController().signal,
    settings: { whenFull: 'block', ackWithinMs: 1000, inFlightBytes: 1000 },
    registry: new Registry(),
    ...options
  })
  t.teardown(() => {
    app.server.closeAllConnections()
    return app.close()
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const { post, send } = sendTo(url)
  const inProgress = async () => Number(/^freshet_http_requests_in_progress (\d+)$/m.exec((await send('GET', '/metrics')).body)?.[1])
  return { url, post, send, inProgress }
}

const head = (/** @type {number} */ bytes) => headOf('POST', PATH, { 'Content-Type': 'application/json', 'Content-Length': bytes })

t.test('bodies are bounded together, count as they arrive, and return their bytes', async (t) => {
  const { url, post, send, inProgress } = await startApp(t, { maxBodiesBytes: 5000 })
  t.equal((await post(PATH, '[]')).status, 200)
  const slow = await openWire(t, url)
  slow.write(head(4999))
  await eventually(async () => await inProgress() === 1)
  t.equal((await post(PATH, '[] ')).status, 200, 'what is announced and does not come takes no place')
  slow.write('[')
  const second = await openWire(t, url)
  second.write(head(4998) + '[')
  const refused = await eventually(() => slow.answers[0] ?? second.answers[0] ?? null)
  t.match(refused, { status: 503, json: { code: 'INGEST_FULL', detail: /^499[89] bytes of bodies are in progress, of 5000 allowed/ } })
  t.equal((await send('GET', '/livez')).status, 200)

  const unannounced = await openWire(t, url)
  unannounced.write(headOf('POST', PATH, { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }) + '2\r\n[]\r\n')
  isProblem(t, { ...await unannounced.answer(), headers: new Headers((await unannounced.answer()).headers) }, 503, 'INGEST_FULL')
  unannounced.write('0\r\n\r\n')

  slow.socket.destroy()
  second.socket.destroy()
  await eventually(async () => (await post(PATH, '[] ')).status === 200)
  t.equal((await post(PATH, '[' + ' '.repeat(9000) + ']')).status, 200, 'one that can never fit is taken when there is no other')
  unannounced.write(headOf('GET', '/livez'))
  t.equal((await unannounced.answer(1)).status, 200, 'a connection goes on behind a body that was refused')
})

t.test('two hundred clients that announce a body and send none do not block others', async (t) => {
  const { url, post, inProgress } = await startApp(t, {})
  const idle = await Promise.all(Array.from({ length: 200 }, () => openWire(t, url)))
  for (const wire of idle) wire.write(head(MAX_BODY_BYTES))
  await eventually(async () => await inProgress() === idle.length)
  const chunked = await Promise.all(Array.from({ length: 200 }, () => fetch(url + PATH, /** @type {any} */ ({
    method: 'POST', headers: { 'content-type': 'application/json' }, duplex: 'half', body: new Blob(['[]']).stream()
  }))))
  t.same([...new Set(chunked.map(({ status }) => status))], [200], 'small ones that are not announced')
  t.equal((await post(PATH, '[' + ' '.repeat(500_000) + ']')).status, 200)
})

t.test('a body that has arrived takes the room of those that are arriving, the oldest first', async (t) => {
  const { url, post } = await startApp(t, { maxBodiesBytes: 20_000 })
  const slow = []
  for (const bytes of [9000, 9001]) {
    const wire = await openWire(t, url)
    wire.write(head(bytes) + '[')
    slow.push(wire)
    await eventually(async () => (await post(PATH, '[]')).status === 200)
  }
  t.equal((await post(PATH, '[' + ' '.repeat(9000) + ']')).status, 200)
  t.match(await eventually(() => slow[0].answers[0] ?? slow[1].answers[0] ?? null), { status: 503, json: { code: 'INGEST_FULL' } })
})

t.test('bodies that are arriving take no place of requests; at the bound on requests another one is refused', async (t) => {
  /** @type {(() => void)[]} */
  const waiting = []
  const busy = () => new FreshetError('NOT_READY', 'as ordered')
  const feeds = { use: () => new Promise((_resolve, reject) => waiting.push(() => reject(busy()))) }
  const { url, post, send, inProgress } = await startApp(t, { maxRequests: 3, feeds })
  const idle = await Promise.all(Array.from({ length: 20 }, () => openWire(t, url)))
  for (const wire of idle) wire.write(head(10) + '[')
  await eventually(async () => await inProgress() === 20)
  const begun = [0, 1, 2].map(() => post(PATH, ITEM))
  await eventually(() => waiting.length === 3)
  t.match(isProblem(t, await post(PATH, ITEM), 503, 'OVERLOADED').detail, /^3 requests are in progress, which is the limit/)
  t.equal((await send('GET', '/livez')).status, 200)
  for (const go of waiting.splice(0)) go()
  t.same((await Promise.all(begun)).map(({ json }) => json.code), ['NOT_READY', 'NOT_READY', 'NOT_READY'], 'they were begun')
})

t.test('bodies that are nested deep are refused with the place', async (t) => {
  const { post, send } = await startApp(t, {})
  const half = (MAX_BODY_BYTES - 30) / 2
  const deep = ['['.repeat(half) + ']'.repeat(half), '{"a":'.repeat(half / 4)]
  const refused = await Promise.all([0, 1, 2].flatMap(() => deep.map((value) => post(PATH, `[{"id":"a","value":${value}}]`))))
  for (const answer of refused) {
    t.match(isProblem(t, answer, 400, 'REQUEST_INVALID').detail, /^the body is nested more than 64 deep at byte \d+, in item 0/)
  }
  const lines = await send('POST', PATH, `{"id":"a","value":1}\n{"id":"b","value":${'['.repeat(65)}}`,
    { 'content-type': 'application/x-ndjson' })
  t.match(isProblem(t, lines, 400, 'REQUEST_INVALID').faults, [{ line: 2, reason: /^nested more than 64 deep/ }])
})

t.test('a body that does not arrive in time is refused', async (t) => {
  const { url } = await startApp(t, {})
  const slow = await openWire(t, url)
  slow.write(head(10) + '[')
  t.match(await slow.answer(), { status: 408, json: { code: 'REQUEST_TIMEOUT', detail: /within 10 s/ } })
  await slow.closed()
})
