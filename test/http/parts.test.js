/** The parts of an answer one by one: tags, what a client takes, compressing, work done once, the cache. */
import { randomBytes } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { Registry } from 'prom-client'
import t from 'tap'
import { createAnswerCache } from '../../src/http/answer-cache.js'
import { Flights } from '../../src/http/flights.js'
import { isKnown, tagOf } from '../../src/http/tag.js'
import { acceptsGzip, zip } from '../../src/http/zip.js'
import { counted } from '../readers/view-reader.js'

t.test('a tag is of the bytes, however they are cut', async (t) => {
  t.equal(tagOf(['ab', 'c']), tagOf([Buffer.from('a'), 'bc']))
  t.not(tagOf(['abc']), tagOf(['abd']))
  t.not(tagOf(['']), tagOf([' ']))
})

t.test('If-None-Match compares weakly, over lists', async (t) => {
  const tag = tagOf(['content'])
  for (const header of [tag, tag.slice(2), `"a", ${tag}`, `${tag},"a"`, '*', ' * ']) t.ok(isKnown(header, tag), header)
  for (const header of [undefined, '', '"a"', tag.toLowerCase() + 'x', '"*"', tag.slice(3, -1)]) t.notOk(isKnown(header, tag), header)
})

t.test('Accept-Encoding is read by its weights', async (t) => {
  for (const header of ['gzip', 'GZIP', 'x-gzip', 'deflate, gzip;q=0.001', '*', 'br, *;q=0.5', 'gzip ; q=1.0']) t.ok(acceptsGzip(header), header)
  for (const header of [undefined, '', 'br', 'identity', 'gzip;q=0', 'gzip; q=0.0', '*, gzip;q=0', '*;q=0', 'gzipped', 'gzip;q=x']) t.notOk(acceptsGzip(header), header)
  for (let n = 0; n < 1000; n++) t.ok(acceptsGzip(`x${n}, gzip`))
})

t.test('only what gets smaller by a tenth is compressed', async (t) => {
  const text = Buffer.from('value '.repeat(500))
  t.same(gunzipSync(await zip(text)), text)
  t.equal(await zip(randomBytes(5000)), null, 'as large as before')
  t.equal(await zip(text.subarray(0, 1000)), null, 'fits into a packet')
})

t.test('work is done once for those who come while it is under way, and again for who comes later', async (t) => {
  const flights = new Flights()
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

t.test('the cache lets go of what was made longest ago, by number and by bytes, and counts it', async (t) => {
  const registry = new Registry()
  const cache = createAnswerCache(registry)
  const evicted = () => counted(registry, 'freshet_stale_evicted_total')
  const answer = (question, bytes, zipped) => /** @type {any} */ ({ question, body: Buffer.alloc(bytes), zipped })
  for (let n = 0; n < 200; n++) cache.keep(answer(`/${n}`, 10))
  cache.keep(answer('/0', 20))
  t.equal(await evicted(), 0, 'one question, one answer')
  cache.keep(answer('/200', 10))
  t.equal(await evicted(), 1)
  t.equal(cache.find('/1'), undefined, '/0 was made anew since')
  t.equal(cache.find('/0').body.length, 20)

  const large = Array.from({ length: 8 }, (_, n) => answer(`/large/${n}`, 6 * 1024 * 1024))
  large.forEach((one) => cache.keep(one))
  t.equal(cache.find('/large/7'), large[7])
  t.equal(cache.findLast('/large/7'), undefined)
  t.equal(await evicted(), 1)
  t.equal(cache.find('/200').body.length, 10, 'large ones do not push out small ones')
  for (const one of large) {
    one.zipped = Buffer.alloc(3 * 1024 * 1024)
    cache.grown(one, one.zipped.length)
  }
  t.equal(await evicted(), 2, 'what is compressed counts')
  t.equal(cache.find('/large/0'), undefined)
  cache.keep(answer('/large/1', 10))
  t.equal(cache.find('/large/1').body.length, 10)
  t.equal(cache.findLast('/large/1').body.length, 10, 'it is small now')
})
