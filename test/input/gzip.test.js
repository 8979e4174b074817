import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { decompressed } from '../../writers/input/gzip.js'
import { read, readEveryWay, streamOf } from './feeding.js'

const lineOf = (n) => `{"id":"${n}","ts":1,"pad":"${randomBytes(20).toString('hex')}"}\n`
const text = Buffer.from(Array.from({ length: 400 }, (_, n) => lineOf(n)).join(''))
const packed = gzipSync(text)
/** For many small chunks. */
const [short, shortPacked] = [text.subarray(0, 4000), gzipSync(text.subarray(0, 4000))]

/** @param {Buffer} bytes @param {number} [chunkBytes] @param {object} [options] */
async function unpack (bytes, chunkBytes, options) {
  const pieces = []
  let error = null
  try {
    for await (const piece of decompressed(streamOf(bytes, chunkBytes), options)) pieces.push(piece)
  } catch (thrown) {
    error = thrown
  }
  return { bytes: Buffer.concat(pieces), error }
}

t.test('gzip is decompressed however it is cut into chunks, also of several members', async (t) => {
  for (const chunkBytes of [1, 7, 65_536, Infinity]) {
    const [whole, one] = chunkBytes < 100 ? [short, shortPacked] : [text, packed]
    for (const [bytes, expected] of [[one, whole], [Buffer.concat([one, one]), Buffer.concat([whole, whole])]]) {
      const found = await unpack(bytes, chunkBytes)
      t.ok(found.bytes.equals(expected) && found.error === null, `chunks of ${chunkBytes}`)
    }
  }
})

t.test('all formats are read, and a byte order mark inside is skipped', async (t) => {
  for (const [format, document] of [['ndjson', '{"id":"a"}\n{"id":"b"}'], ['csv', 'id\na\nb\n'], ['json', '[{"id":"a"},{"id":"b"}]']]) {
    const { entries, error } = await readEveryWay(t, gzipSync('\ufeff' + document), { format })
    t.equal(error, null)
    t.same(entries.map(({ record }) => record), [{ id: 'a' }, { id: 'b' }])
  }
})

t.test('other input passes as it is', async (t) => {
  for (const bytes of [Buffer.alloc(0), Buffer.from('{'), Buffer.from([0x1f]), Buffer.from([0x1f, 0x8a, 0x08]), short]) {
    for (const chunkBytes of [1, Infinity]) {
      const found = await unpack(bytes, chunkBytes)
      t.ok(found.bytes.equals(bytes) && found.error === null)
    }
  }
})

t.test('gzip that is cut off is a fault, after everything before it', async (t) => {
  for (const bytes of [2, 5, 10, 11, 2000, packed.length >> 1, packed.length - 9, packed.length - 8, packed.length - 1]) {
    const found = await unpack(packed.subarray(0, bytes), 1000)
    t.match(found.error, { code: 'INPUT_INVALID', exitStatus: 1, message: /the gzip input is cut off near byte / }, `${bytes} bytes`)
    t.ok(text.subarray(0, found.bytes.length).equals(found.bytes))
    if (bytes >= packed.length - 8) t.equal(found.bytes.length, text.length)
    else if (bytes >= 2000) t.ok(found.bytes.length > bytes)
  }
  const { entries, error } = await read(packed.subarray(0, packed.length - 4), { format: 'ndjson' })
  t.equal(entries.length, 400)
  t.match(error, { code: 'INPUT_INVALID', message: /^the gzip input is cut off/ })
})

t.test('gzip that is broken is a fault', async (t) => {
  for (const at of [3, packed.length >> 1, packed.length - 6]) {
    const bytes = Buffer.from(packed)
    bytes[at] ^= 0xff
    const found = await unpack(bytes, 1000)
    t.match(found.error, { code: 'INPUT_INVALID', message: /the gzip input is (broken|cut off) near byte / })
  }
})

t.test('a file with the name of gzip must be gzip', async (t) => {
  for (const bytes of [Buffer.alloc(0), Buffer.from('{"id":"a"}\n'), Buffer.from([0x1f])]) {
    t.match((await unpack(bytes, 1, { isGzip: true })).error, { code: 'INPUT_INVALID', message: /ends in \.gz/ })
  }
  t.equal((await unpack(packed, 1000, { isGzip: true })).error, null)
})

t.test('memory does not follow the size of what a few bytes become', async (t) => {
  const bomb = gzipSync(Buffer.alloc(150_000_000), { level: 1 })
  let bytes = 0
  let most = 0
  global.gc?.()
  const before = process.memoryUsage().rss
  for await (const piece of decompressed(streamOf(bomb, 65_536))) {
    bytes += piece.length
    most = Math.max(most, process.memoryUsage().rss - before)
  }
  t.equal(bytes, 150_000_000)
  t.ok(most < 100_000_000, `${Math.round(most / 1e6)} MB`)
})
