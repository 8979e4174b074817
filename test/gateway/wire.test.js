/** Requests that client libraries do not send, and the responses of a gateway. */
import t from 'tap'
import { MAX_BODY_BYTES, isProblem, startBoth } from './requests.js'
import { eventually } from '../servers.js'
import { headOf, openWire, postOf } from './wire.js'

const ITEMS = '/v1/feeds/one/items'

/** @param {import('./wire.js').Answer} answer as `isProblem` takes it */
const asFetched = (answer) => ({ ...answer, headers: new Headers(answer.headers) })

t.test('requests written on a socket', async (t) => {
  const { gateway, reader } = await startBoth(t)
  const { url } = gateway
  const ask = async (/** @type {string | Buffer} */ text, to = url) => {
    const wire = await openWire(t, to)
    wire.write(text)
    return asFetched(await wire.answer())
  }
  t.match(await gateway.post(ITEMS, [{ id: 'é', value: 1 }, { id: 'Ã©', value: 1 }, { id: 'a', value: 1 }]), { status: 200 })

  await t.test('a path or query with non-ASCII bytes is refused, and changes no other id', async (t) => {
    for (const [path, to] of [['/items/é', url], ['/items/é', reader.url], ['/items?id=é', reader.url], ['/items/a?ts=é', url], ['/é', url],
      ['/items/é?encoding=json', reader.url]]) {
      const method = to === url ? 'DELETE' : 'GET'
      const { detail } = isProblem(t, await ask(Buffer.from(headOf(method, `/v1/feeds/one${path}`)), to), 400, 'REQUEST_INVALID')
      t.match(detail, 'of other text, such as %C3%A9')
    }
    await eventually(async () => (await reader.ask('/v1/feeds/one/count')).json.count === 3)
    t.match(await gateway.remove(`${ITEMS}/%C3%A9`), { status: 200 })
    await eventually(async () => (await reader.ask(`${ITEMS}/%C3%A9`)).status === 404)
    t.equal((await reader.ask(`${ITEMS}/%C3%83%C2%A9`)).status, 200)
  })

  await t.test('a body that is not wanted is refused while it is sent: its client meets the answer, and the connection ' +
    'goes on', async (t) => {
    const large = 8 * MAX_BODY_BYTES
    /** @type {[string, number, Record<string, string | number>][]} */
    const refused = [['PAYLOAD_TOO_LARGE', 413, { 'Content-Type': 'application/json', 'Content-Length': large }],
      ['MEDIA_TYPE_UNSUPPORTED', 415, { 'Content-Type': 'text/csv', 'Content-Length': large }],
      ['MEDIA_TYPE_UNSUPPORTED', 415, { 'Content-Type': 'application/json', 'Content-Encoding': 'br', 'Content-Length': large }],
      ['MEDIA_TYPE_UNSUPPORTED', 415, { 'Content-Length': large }],
      ['FEED_NAME_INVALID', 400, { 'Content-Type': 'application/json', 'Content-Length': 2 }],
      ['NOT_FOUND', 404, { 'Content-Type': 'application/json', 'Content-Length': large }]]
    for (const [code, status, headers] of refused) {
      const wire = await openWire(t, url)
      const path = code === 'NOT_FOUND' ? '/v1/nothing' : code === 'FEED_NAME_INVALID' ? '/v1/feeds/ONE/items' : ITEMS
      wire.write(headOf('POST', path, headers))
      for (let left = Number(headers['Content-Length']); left > 0; left -= MAX_BODY_BYTES) {
        wire.write(Buffer.alloc(Math.min(left, MAX_BODY_BYTES), ' '))
      }
      wire.write(postOf(ITEMS, '[]'))
      isProblem(t, asFetched(await wire.answer(0)), status, code)
      t.match(await wire.answer(1), { status: 200, json: { accepted: 0 } }, 'the next request of the same connection')
      t.equal(wire.error, null)
    }
  })

  await t.test('a client that sends Expect: 100-continue gets 100 Continue', async (t) => {
    const wire = await openWire(t, url)
    wire.write(headOf('POST', ITEMS, { Expect: '100-continue', 'Content-Type': 'application/json', 'Content-Length': 2 }))
    t.equal((await wire.answer(0)).status, 100)
    wire.write('[]')
    t.match(await wire.answer(1), { status: 200, json: { accepted: 0 } })
  })

  await t.test('a request without Host is refused, and the connection goes on; HTTP/1.0 needs none', async (t) => {
    for (const to of [url, reader.url]) {
      const wire = await openWire(t, to)
      wire.write(postOf(ITEMS, '[{"id":"homeless","value":1}]', { Host: '' }) + headOf('GET', '/livez'))
      t.match(isProblem(t, asFetched(await wire.answer(0)), 400, 'REQUEST_INVALID').detail, 'no Host header')
      t.equal((await wire.answer(1)).status, 200)
      t.equal((await ask('GET /livez HTTP/1.0\r\n\r\n', to)).status, 200)
    }
    t.equal((await reader.ask(`${ITEMS}/homeless`)).status, 404)
    t.equal((await ask(headOf('GET', `${ITEMS}?limit=1`, { Host: '' }), reader.url)).status, 400)
  })

  await t.test('pipelined requests are answered in order', async (t) => {
    const wire = await openWire(t, url)
    wire.write([1, 2, 3].map((n) => postOf(ITEMS, `[{"id":"piped-${n}","value":${n}}]`)).join('') + headOf('DELETE', `${ITEMS}/piped-1`) +
      postOf(ITEMS, 'nonsense') + headOf('GET', '/livez'))
    await wire.answer(5)
    t.same(wire.answers.map(({ status }) => status), [200, 200, 200, 200, 400, 200])
  })

  await t.test('types are read in any case, with parameters; a deletion may have a body', async (t) => {
    for (const type of ['APPLICATION/JSON', 'application/json;charset=utf-8', 'Application/Json ; charset="UTF-8"']) {
      t.equal((await ask(postOf(ITEMS, '[]', { 'Content-Type': type }))).status, 200, type)
    }
    isProblem(t, await ask(postOf(ITEMS, '[]', { 'Content-Type': 'application/jsonx' })), 415, 'MEDIA_TYPE_UNSUPPORTED')
    isProblem(t, await ask(postOf(ITEMS, '[]', { 'Content-Type': ';' })), 415, 'MEDIA_TYPE_UNSUPPORTED')
    isProblem(t, await ask(postOf(ITEMS, '[]', { 'Content-Type': '' })), 415, 'MEDIA_TYPE_UNSUPPORTED')
    t.equal((await ask(headOf('DELETE', `${ITEMS}/a`, { 'Content-Type': 'application/json', 'Content-Length': 2 }) + '{}')).status, 200)
    t.equal((await ask(headOf('DELETE', `${ITEMS}/a`, { 'Content-Type': 'application/json' }))).status, 200)
  })

  await t.test('a body may come in a thousand chunks', async (t) => {
    const items = Array.from({ length: 1000 }, (_, n) => ({ id: `piece-${n}`, value: 'é' }))
    const body = JSON.stringify(items)
    const wire = await openWire(t, url)
    wire.socket.setNoDelay(true)
    wire.write(headOf('POST', ITEMS, { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }))
    const bytes = Buffer.from(body)
    for (let at = 0; at < bytes.length; at += 41) {
      const piece = bytes.subarray(at, at + 41)
      wire.write(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]))
    }
    wire.write('0\r\n\r\n')
    t.match(await wire.answer(), { status: 200, json: { accepted: 1000 } })
  })

  await t.test('escapes that are not UTF-8, and invalid ids, are refused', async (t) => {
    for (const id of ['%ZZ', '%', '%FF', '%C3']) isProblem(t, await ask(headOf('DELETE', `${ITEMS}/${id}`)), 400, 'REQUEST_INVALID')
    for (const id of ['%00', '%0A', '%7F']) isProblem(t, await ask(headOf('DELETE', `${ITEMS}/${id}`)), 400, 'ITEM_ID_INVALID')
  })
})
