/**
 * Records of an input of any length, and the memory that reading them takes.
 *
 * A process of its own: memory that other files freed would hide growth.
 */
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { readRecords } from '../../writers/input/records.js'
import { memoryInUse } from '../memory.js'
import { endless, read, streamOf } from './feeding.js'
import { nightly, wholeTest } from '../scope.js'

const MIB = 1024 * 1024
const CHUNK_BYTES = 64 * 1024
const MUCH_MIB = nightly(200, 30)
/** Growth over half of the input that is allowed: what garbage collection has not freed yet. */
const MOST_MIB = nightly(16, 9)
const filled = (text) => Buffer.alloc(CHUNK_BYTES, text)

t.test('an unknown format is refused', async (t) => {
  await t.rejects(readRecords(streamOf(''), { format: 'xml' }).next(),
    { name: 'TypeError', message: 'format xml; expected ndjson | csv | json' })
})

t.test('gzip is refused, however it is cut into chunks', async (t) => {
  for (const format of ['ndjson', 'csv', 'json']) {
    for (const chunkBytes of [1, 2, Infinity]) {
      const { entries, error } = await read(gzipSync('{"id":"a"}\n'), { format }, chunkBytes)
      t.same(entries, [])
      t.match(error, { code: 'INPUT_INVALID', exitStatus: 1, message: /zcat FILE \|/ })
    }
    t.not((await read(Buffer.from([0x1f]), { format })).error?.message.includes('zcat'), true)
  }
})

t.test('a refused record has its bytes, of a long one the beginning', async (t) => {
  const long = (text) => text + 'x'.repeat(9000)
  for (const [format, document, raws] of /** @type {[string, string, string[]][]} */ ([
    ['ndjson', `{"id":"a"}\n{"id"\n [1] \r\n${long('{"id":"')}"}\n\xff\n`, ['{"id":"a"}', '{"id"', ' [1] ', long('{"id":"'), '\xff']],
    ['csv', `id,v\na,1\nb\n"c""d,${long('')}",2\n"x,1"y\n`, ['a,1', 'b', long('"c""d,'), '"x,1"y']],
    ['json', `[{"id": "a"}, 7, [1, {"b": 2}], ${JSON.stringify({ id: long('') })}, "${long('')}"]`,
      ['{"id":"a"}', '7', '[1,{"b":2}]', `{"id":"${long('')}`, `"${long('')}`]]
  ])) {
    for (const chunkBytes of [1, Infinity]) {
      const found = []
      for await (const entries of readRecords(streamOf(Buffer.from(document, 'latin1'), chunkBytes), { format, maxRecordBytes: 8000 })) {
        for (const { raw } of entries) found.push(raw?.toString('latin1').slice(0, 4097))
      }
      t.same(found, raws.map((raw) => raw.slice(0, 4097)), `${format} in chunks of ${chunkBytes}`)
    }
  }
})

t.test('the stream is read on demand, and not after the consumer stops', async (t) => {
  let produced = 0
  const stream = endless('', filled('{"n":1}\n'), Infinity, '', () => produced++)
  const records = readRecords(stream, { format: 'ndjson' })
  for (let n = 0; n < 3; n++) await records.next()
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.ok(produced < 10, `${produced} chunks were produced for 3 that were asked for`)
  await records.return()
  const atEnd = produced
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(produced, atEnd)
  t.ok(stream.destroyed)
})

t.test('a signal ends the iteration of an idle stream, without an incomplete record', async (t) => {
  const stop = new AbortController()
  const stream = new Readable({ read () {} })
  stream.push('{"n":1}\n{"n":')
  const seen = []
  for await (const entries of readRecords(stream, { format: 'ndjson', signal: stop.signal })) {
    seen.push(...entries.map((entry) => entry.record))
    setImmediate(() => stop.abort())
  }
  t.same(seen, [{ n: 1 }])
  t.ok(stream.destroyed)
})

t.test('a failing stream yields its records, then INPUT_INVALID with the reason', async (t) => {
  const stream = new Readable({ read () {} })
  stream.push('{"n":1}\n{"n":')
  setImmediate(() => stream.destroy(new Error('EIO: i/o error, read')))
  const records = readRecords(stream, { format: 'ndjson' })
  t.equal(/** @type {any[]} */ ((await records.next()).value).length, 1)
  await t.rejects(records.next(), { code: 'INPUT_INVALID', message: /EIO: i\/o error, read/ })
})

wholeTest(`memory does not grow with ${MUCH_MIB} MiB of any input`, async (t) => {
  const json = { format: 'json', itemsField: 'items' }
  const chunks = MUCH_MIB * MIB / CHUNK_BYTES
  for (const [what, options, before, text, after, good, bad] of /** @type {[string, any, string, string, string, number, number][]} */ ([
    ['many lines', { format: 'ndjson' }, '', '{"id":"a","ts":1700000000000}'.padEnd(127) + '\n', '', MUCH_MIB * MIB / 128, 0],
    ['one line', { format: 'ndjson' }, '{"n":1}\n{"n":"', 'x', '"}\n{"n":3}', 2, 1],
    ['one quoted field of many lines', { format: 'csv' }, 'a,b\n1,2\n"', 'x,\ny', '",3\n4,5\n', 2, 1],
    ['one row of commas', { format: 'csv' }, 'a,b\n1,2\n', ',', '\n4,5\n', 2, 1],
    ['one text in an item', json, '{"items":[{"n":1},{"n":"', 'x', '"},{"n":3}]}', 2, 1],
    ['one number in an item', json, '{"items":[{"n":1},{"n":', '1', '},{"n":3}]}', 2, 1],
    ['one key outside the items', json, '{"', 'k', '":1,"items":[{"n":1}]}', 1, 0],
    ['white space', json, '{"items":[{"n":1},', ' ', '{"n":2}]}', 2, 0]
  ])) {
    let atQuarter = 0
    let later = 0
    const stream = endless(before, filled(text), chunks, after, (n) => {
      if (n === chunks / 4) atQuarter = memoryInUse()
      if (n === chunks * 3 / 4) later = memoryInUse()
    })
    let items = 0
    let faults = 0
    for await (const entries of readRecords(stream, options)) {
      for (const { fault } of entries) fault === null ? items++ : faults++
    }
    t.same([items, faults], [good, bad], what)
    t.ok(later - atQuarter < MOST_MIB * MIB, `${what}: ${Math.round((later - atQuarter) / MIB)} MiB more after ${MUCH_MIB / 2} MiB more`)
  }
})
