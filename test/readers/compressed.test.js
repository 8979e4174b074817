/** gzip: the same content for clients that accept it, compressed once, and only where it saves enough. */
import { request } from 'node:http'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { createReader, item, NOW } from './fake-queries.js'
import { counted, createViewReader } from './view-reader.js'

const ITEMS = '/v1/feeds/latest/items?encoding=utf8'
const GZIP = { 'accept-encoding': 'gzip, deflate, br' }
const MADE = 'freshet_gzip_replies_total{compressed="yes"}'

/** Over a socket, the body as it came. @returns {Promise<{ headers: import('node:http').IncomingHttpHeaders, bytes: Buffer }>} */
async function raw (app, path, headers = {}) {
  if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' })
  return new Promise((resolve, reject) => {
    request({ port: app.server.address().port, host: '127.0.0.1', path, headers, agent: false }, async (response) => {
      resolve({ headers: response.headers, bytes: Buffer.concat(await response.toArray()) })
    }).on('error', reject).end()
  })
}

const fill = (put, count = 300) => {
  for (let n = 0; n < count; n++) put(`item-${n}`, NOW - n, JSON.stringify({ line: 'M10', state: 'moving', n }))
}

t.test('compressed replies have the same content and go only to clients that accept gzip', async (t) => {
  const { app, put } = createViewReader(t)
  fill(put)
  for (const headers of [{}, { accept: 'application/x-ndjson' }]) {
    const plain = await raw(app, ITEMS, headers)
    for (let n = 0; n < 2; n++) {
      const zipped = await raw(app, ITEMS, { ...headers, ...GZIP })
      t.equal(zipped.headers['content-encoding'], 'gzip')
      t.equal(zipped.headers['content-length'], String(zipped.bytes.length))
      t.ok(zipped.bytes.length < plain.bytes.length / 2, `${zipped.bytes.length} of ${plain.bytes.length} bytes`)
      t.equal(gunzipSync(zipped.bytes).toString(), plain.bytes.toString())
      t.equal(zipped.headers.etag, plain.headers.etag)
    }
    for (const coding of [undefined, 'identity', 'br', 'gzip;q=0', 'gzip;q=0, *', '*;q=0', '']) {
      const other = await raw(app, ITEMS, { ...headers, ...coding === undefined ? {} : { 'accept-encoding': coding } })
      t.equal(other.headers['content-encoding'], undefined, String(coding))
      t.equal(other.bytes.toString(), plain.bytes.toString(), String(coding))
      t.match(other.headers.vary, 'accept-encoding', 'and caches know that it differs')
    }
    for (const coding of ['GZIP', 'x-gzip', '*', 'br;q=1, gzip;q=0.1']) {
      t.equal((await raw(app, ITEMS, { ...headers, 'accept-encoding': coding })).headers['content-encoding'], 'gzip', coding)
    }
  }
})

t.test('a reply is compressed once, and again when it changes', async (t) => {
  const { app, put, time, registry } = createViewReader(t)
  fill(put)
  const all = await Promise.all(Array.from({ length: 20 }, () => raw(app, ITEMS, GZIP)))
  for (const { bytes } of all) t.same(bytes, all[0].bytes)
  t.equal(await counted(registry, MADE), 1)
  put('new', NOW + 1, 'value')
  time.elapsed += 60
  t.match(gunzipSync((await raw(app, ITEMS, GZIP)).bytes).toString(), '"id":"new"')
  await raw(app, ITEMS)
  t.equal(await counted(registry, MADE), 2)
})

t.test('replies that fit into a packet are not compressed', async (t) => {
  const { app, put } = createViewReader(t)
  fill(put, 5)
  t.equal((await raw(app, ITEMS, GZIP)).headers['content-encoding'], undefined)
})

t.test('compression that did not save enough is not tried again for a while', async (t) => {
  const { app, put, time, registry } = createViewReader(t)
  const NOT = 'freshet_gzip_replies_total{compressed="no"}'
  for (let n = 0; n < 5; n++) {
    put('small', NOW + n, `value ${n}`)
    time.elapsed += 60
    await raw(app, ITEMS, GZIP)
  }
  t.equal(await counted(registry, NOT), 1)
  fill(put)
  t.equal((await raw(app, ITEMS, GZIP)).headers['content-encoding'], undefined)
  time.elapsed += 10_000
  t.equal((await raw(app, ITEMS, GZIP)).headers['content-encoding'], 'gzip')
})

t.test('replies without a view, and single items, are compressed too', async (t) => {
  const { app } = createReader(t, { latest: [item('a', NOW, 'x'.repeat(5000))] })
  for (const url of [ITEMS, '/v1/feeds/latest/items/a?encoding=utf8']) {
    const plain = await raw(app, url)
    const zipped = await raw(app, url, GZIP)
    t.equal(zipped.headers['content-encoding'], 'gzip')
    t.equal(gunzipSync(zipped.bytes).toString(), plain.bytes.toString())
  }
})
