import fc from 'fast-check'
import t from 'tap'
import { holds } from '../properties.js'
import { read, readEveryWay } from './feeding.js'

const options = { format: 'ndjson' }
const faults = (entries) => entries.filter((entry) => entry.fault).map(({ place, fault }) => [place, fault])
const records = (entries) => entries.filter((entry) => !entry.fault).map(({ place, record }) => [place, record])

t.test('a record is the object of a line, its text the bytes of the line', async (t) => {
  const { entries } = await readEveryWay(t, '{"id": "a", "n": 12345678901234567890}\n  {"id":"é😀"}\t\n', options)
  t.same(entries, [
    { place: 1, record: { id: 'a', n: 12345678901234567000 }, text: '{"id": "a", "n": 12345678901234567890}', fault: null },
    { place: 2, record: { id: 'é😀' }, text: '{"id":"é😀"}', fault: null }
  ])
})

t.test('line ends may be LF or CRLF, the last one may be missing, and blank lines count without being records', async (t) => {
  const { entries } = await readEveryWay(t, '\r\n{"n":1}\r\n\n   \n{"n":2}\n{"n":3}', options)
  t.same(records(entries), [[2, { n: 1 }], [5, { n: 2 }], [6, { n: 3 }]])
  t.same(faults(entries), [])
})

t.test('a byte order mark at the start is skipped, elsewhere it is a fault', async (t) => {
  const { entries } = await readEveryWay(t, '\ufeff{"n":1}\n\ufeff{"n":2}\n', options)
  t.same(records(entries), [[1, { n: 1 }]])
  t.same(faults(entries).map(([place]) => place), [2])
})

t.test('empty input, or input shorter than a byte order mark, is read correctly', async (t) => {
  t.same((await readEveryWay(t, '', options)).entries, [])
  t.same((await readEveryWay(t, '\ufeff', options)).entries, [])
  t.same(records((await readEveryWay(t, '{}', options)).entries), [[1, {}]])
})

t.test('a line that is not UTF-8, JSON or an object is a fault, and other lines are read', async (t) => {
  const document = Buffer.concat([
    Buffer.from('{"n":1}\n{"n":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}\n{"n":\n[1]\nnull\n"x"\n{"n":7}\n')
  ])
  const { entries } = await readEveryWay(t, document, options)
  t.same(records(entries), [[1, { n: 1 }], [7, { n: 7 }]])
  t.same(faults(entries).map(([place]) => place), [2, 3, 4, 5, 6])
  t.equal(faults(entries)[0][1], 'not valid UTF-8')
  t.match(faults(entries)[1][1], /^not JSON: /)
  t.equal(faults(entries)[2][1], 'not a JSON object')
})

t.test('a line over the limit is one fault, and other lines are read', async (t) => {
  const long = '{"n":"' + 'x'.repeat(200) + '"}'
  const { entries } = await readEveryWay(t, `{"n":1}\n${long}\n{"n":3}\n${long}`, { ...options, maxRecordBytes: 64 })
  t.same(records(entries), [[1, { n: 1 }], [3, { n: 3 }]])
  t.same(faults(entries), [[2, 'longer than 64 bytes'], [4, 'longer than 64 bytes']])
})

t.test('a line of exactly the limit is read', async (t) => {
  const { entries } = await readEveryWay(t, '{"n":12}\n{"n":123}\n{"n":12}', { ...options, maxRecordBytes: 8 })
  t.same(records(entries), [[1, { n: 12 }], [3, { n: 12 }]])
  t.same(faults(entries).map(([place]) => place), [2])
})

t.test('a key called __proto__ is a plain key', async (t) => {
  const { entries } = await read('{"__proto__":{"id":"x"},"constructor":1}\n', options)
  t.same(Object.keys(entries[0].record), ['__proto__', 'constructor'])
  t.equal(Object.getPrototypeOf(entries[0].record), Object.prototype)
})

t.test('any lines of objects are read back from any chunks', async (t) => {
  const object = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue())
  const property = fc.asyncProperty(fc.array(object, { maxLength: 20 }), fc.integer({ min: 1, max: 64 }), async (objects, chunkBytes) => {
    const lines = objects.map((one) => JSON.stringify(one))
    for (const size of [chunkBytes, Infinity]) {
      const { entries } = await read(lines.join('\n'), options, size)
      if (JSON.stringify(entries.map((entry) => entry.text)) !== JSON.stringify(lines)) return false
      if (entries.some((entry, at) => entry.place !== at + 1 || JSON.stringify(entry.record) !== JSON.stringify(JSON.parse(lines[at])))) {
        return false
      }
    }
    return true
  })
  await holds(t, property, { runs: 100 })
})
