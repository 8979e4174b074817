/** Ids are plain data, whatever their characters mean to routers, paths, JSON or JavaScript. Over a real socket. */
import { connect } from 'node:net'
import t from 'tap'
import { createReader, isProblem, item, NOW, overSocket } from './fake-queries.js'

const IDS = [
  'a/b', '/', '//', 'a/b/c/', '%2F', '100%', '%', '%25', '%zz', 'a%2Fb/c', '%E0%A4%A',
  '{id}', '{}', ':id', '*', '.', '..', '../..', './a', '...',
  '__proto__', 'constructor', 'toString', 'null', 'undefined', '0', '-1', 'NaN',
  'a b', ' ', 'a+b', 'a?b=c', 'a#b', 'a&b', 'a=b', 'a;b', 'a,b', '"', "'", '\\', '<script>', '`', '$(x)', '\u2028',
  'latin é', 'Ελλάδα', 'Україна', 'עברית', 'العربية', 'हिन्दी', '日本語', '한국어', 'ไทย', '👩‍👩‍👧‍👦', 'a\u0301', '\ufeffbom',
  'x'.repeat(128), '/'.repeat(128), '%'.repeat(128), '%2F'.repeat(42), 'é'.repeat(64), '語'.repeat(42), '👾'.repeat(32)
]

/** Each byte escaped: what no client normalises. */
const escaped = (id) => [...Buffer.from(id)].map((byte) => '%' + byte.toString(16).padStart(2, '0')).join('')

const isDots = (id) => /^\.{1,2}$/.test(id)

t.test('every id comes back as it is, by its path and by query', async (t) => {
  const { app } = createReader(t, { latest: IDS.map((id, n) => item(id, NOW - n, `value of ${n}`)) })
  for (const [n, id] of IDS.entries()) {
    const forms = [escaped(id), escaped(id).toUpperCase().replaceAll('%2E', '%2e'), ...isDots(id) ? [] : [encodeURIComponent(id)]]
    for (const form of forms) {
      const response = await overSocket(app, `/v1/feeds/latest/items/${form}?encoding=utf8`)
      t.same(response.json(), { id, ts: NOW - n, value: `value of ${n}` }, `path ${form.slice(0, 40)}`)
      const found = await overSocket(app, `/v1/feeds/latest/items?id=${form}`)
      t.same(found.json().items?.map((one) => one.id), [id], `query ${form.slice(0, 40)}`)
    }
  }
})

t.test('an escaped slash is one segment, an escaped percent sign is a percent sign', async (t) => {
  const { app } = createReader(t, { latest: [item('a/b', NOW, 'slash'), item('a%2Fb', NOW, 'percent')] })
  t.equal((await overSocket(app, '/v1/feeds/latest/items/a%2Fb?encoding=utf8')).json().value, 'slash')
  t.equal((await overSocket(app, '/v1/feeds/latest/items/a%252Fb?encoding=utf8')).json().value, 'percent')
  isProblem(t, await overSocket(app, '/v1/feeds/latest/items/a/b'), 404, 'NOT_FOUND')
})

t.test('dots are ids when escaped, and never walk up', async (t) => {
  const { app } = createReader(t, { latest: [item('..', NOW, 'two'), item('.', NOW, 'one')] })
  t.equal((await overSocket(app, '/v1/feeds/latest/items/%2E%2E?encoding=utf8')).json().value, 'two')
  t.equal((await overSocket(app, '/v1/feeds/latest/items/..?encoding=utf8')).json().value, 'two', 'as written: paths are not resolved')
  t.equal((await overSocket(app, '/v1/feeds/latest/items/%2e?encoding=utf8')).json().value, 'one')
})

t.test('malformed escapes are 400', async (t) => {
  const { app } = createReader(t, { latest: [] })
  for (const path of ['%', '%2', '%zz', 'a%', '%E0%A4%A', '%ff', '%C0%AF', '%ed%a0%80']) {
    isProblem(t, await overSocket(app, `/v1/feeds/latest/items/${path}`), 400, 'REQUEST_INVALID')
  }
})

t.test('ids beyond 128 bytes are refused by the route, very long ones by the router', async (t) => {
  const { app } = createReader(t, { latest: [] })
  isProblem(t, await overSocket(app, `/v1/feeds/latest/items/${escaped('é'.repeat(65))}`), 400, 'ITEM_ID_INVALID')
  isProblem(t, await overSocket(app, `/v1/feeds/latest/items/${'x'.repeat(1025)}`), 414, 'URI_TOO_LONG')
  isProblem(t, await overSocket(app, '/v1/feeds/latest/items/'), 400, 'ITEM_ID_INVALID')
  isProblem(t, await overSocket(app, `/v1/feeds/latest/items?id=${'x'.repeat(20_000)}`), 431, 'HEADERS_TOO_LARGE')
})

t.test('invalid HTTP is refused with a problem too', async (t) => {
  const { app } = createReader(t, {})
  await app.listen({ port: 0, host: '127.0.0.1' })
  const text = await new Promise((resolve, reject) => {
    let received = ''
    connect(/** @type {any} */ (app.server.address()).port, '127.0.0.1').on('data', (data) => { received += data })
      .on('close', () => resolve(received))
      .on('error', reject)
      .write('NONSENSE\r\n\r\n')
  })
  t.match(text, 'HTTP/1.1 400 Bad Request')
  t.match(text, '"code":"REQUEST_INVALID"')
})

t.test('paths and methods are exact', async (t) => {
  const { app } = createReader(t, { latest: [] })
  isProblem(t, await overSocket(app, '/V1/feeds'), 404, 'NOT_FOUND')
  isProblem(t, await overSocket(app, '/v1/feeds/'), 400, 'FEED_NAME_INVALID')
  isProblem(t, await overSocket(app, '/v1/feeds', { method: 'POST' }), 405, 'METHOD_NOT_ALLOWED')
  isProblem(t, await overSocket(app, '/nowhere?a=b'), 404, 'NOT_FOUND')
  t.equal((await overSocket(app, '/v1/feeds/latest/items', { method: 'HEAD' })).statusCode, 200)
})
