/** The parts of a reply: tags, accepted encodings, compression, single flight, the store. */
import { randomBytes } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { Registry } from 'prom-client'
import t from 'tap'
import { createCompressor, gzipped } from '../../src/replies/compress.js'
import { createReplyStore, SingleFlight } from '../../src/replies/reply-cache.js'
import { acceptsGzip, matchesTag, tagOf } from '../../src/replies/headers.js'
import { counted } from '../readers/view-reader.js'

t.test('a tag depends on the bytes, not on how they are split', async (t) => {
  t.equal(tagOf(['ab', 'c']), tagOf([Buffer.from('a'), 'bc']))
  t.not(tagOf(['abc']), tagOf(['abd']))
  t.not(tagOf(['']), tagOf([' ']))
})

t.test('If-None-Match compares weakly, over lists', async (t) => {
  const tag = tagOf(['content'])
  for (const header of [tag, tag.slice(2), `"a", ${tag}`, `${tag},"a"`, '*', ' * ']) t.ok(matchesTag(header, tag), header)
  for (const header of [undefined, '', '"a"', tag.toLowerCase() + 'x', '"*"', tag.slice(3, -1)]) {
    t.notOk(matchesTag(header, tag), String(header))
  }
})

t.test('Accept-Encoding is read by its weights', async (t) => {
  for (const header of ['gzip', 'GZIP', 'x-gzip', 'deflate, gzip;q=0.001', '*', 'br, *;q=0.5', 'gzip ; q=1.0']) {
    t.ok(acceptsGzip(header), header)
  }
  for (const header of [undefined, '', 'br', 'identity', 'gzip;q=0', 'gzip; q=0.0', '*, gzip;q=0', '*;q=0', 'gzipped', 'gzip;q=x']) {
    t.notOk(acceptsGzip(header), String(header))
  }
  for (let n = 0; n < 1000; n++) t.ok(acceptsGzip(`x${n}, gzip`))
})

t.test('only replies that shrink by a tenth are compressed', async (t) => {
  const text = Buffer.from('value '.repeat(500))
  t.same(gunzipSync(/** @type {Buffer} */ (await gzipped(text))), text)
  t.equal(await gzipped(randomBytes(5000)), null, 'as large as before')
  t.equal(await gzipped(text.subarray(0, 1000)), null, 'fits into a packet')
})

t.test('without room a reply is not compressed now, and with room the next time', async (t) => {
  const registry = new Registry()
  let room = 0
  const compressed = createCompressor({
    registry,
    store: /** @type {any} */ ({ grow () {} }),
    budget: /** @type {any} */ ({ enterNow: (/** @type {number} */ bytes) => bytes > room ? null : () => {} }),
    elapsed: () => 0
  })
  const reply = /** @type {any} */ ({ key: 'a', body: Buffer.alloc(100_000), revision: null, retryGzipMs: -Infinity })
  t.equal((await compressed(reply)).gzipped, undefined)
  room = 2 * reply.body.length
  t.ok((await compressed(reply)).gzipped)
})

t.test('concurrent calls share one result; later calls start again', async (t) => {
  const flights = new SingleFlight()
  let done = 0
  let resolve = () => {}
  const work = () => new Promise((_resolve) => { resolve = () => _resolve(++done) })
  const first = flights.join('a', work)
  const second = flights.join('a', work)
  t.same([first.isFirst, second.isFirst], [true, false])
  resolve()
  t.same(await Promise.all([first.result, second.result]), [1, 1])
  const third = flights.join('a', work)
  t.ok(third.isFirst)
  resolve()
  t.equal(await third.result, 2)
  const failing = flights.join('a', async () => { throw new Error('no') })
  const failed = flights.join('a', work)
  await t.rejects(failing.result, /no/)
  await t.rejects(failed.result, /no/)
  t.ok(flights.join('a', async () => 1).isFirst)
})

t.test('the store evicts the oldest replies, by number and by bytes, and counts them', async (t) => {
  const registry = new Registry()
  const store = createReplyStore(registry)
  const evicted = () => counted(registry, 'freshet_reply_cache_evictions_total')
  const reply = (key, bytes, gzipped) => /** @type {any} */ ({ key, body: Buffer.alloc(bytes), gzipped })
  for (let n = 0; n < 200; n++) store.set(reply(`/${n}`, 10))
  store.set(reply('/0', 20))
  t.equal(await evicted(), 0, 'one reply per key')
  store.set(reply('/200', 10))
  t.equal(await evicted(), 1)
  t.equal(store.get('/1'), undefined, '/0 was replaced since')
  t.equal(store.get('/0')?.body.length, 20)

  const large = Array.from({ length: 8 }, (_, n) => reply(`/large/${n}`, 3 * 1024 * 1024))
  large.forEach((one) => store.set(one))
  t.equal(store.get('/large/7'), large[7])
  t.equal(store.getStale('/large/7'), undefined)
  t.equal(await evicted(), 1)
  t.equal(store.get('/200')?.body.length, 10, 'large replies do not evict small ones')
  for (const one of large) {
    one.gzipped = Buffer.alloc(1.5 * 1024 * 1024)
    store.grow(one, one.gzipped.length)
  }
  t.equal(await evicted(), 2, 'compressed bytes count')
  t.equal(store.get('/large/0'), undefined)
  store.set(reply('/large/1', 10))
  t.equal(store.get('/large/1')?.body.length, 10)
  t.equal(store.getStale('/large/1')?.body.length, 10, 'it is small now')
})
