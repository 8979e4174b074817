/** Items as text: the bytes are those of JSON.stringify, whatever ids and values are. */
import fc from 'fast-check'
import t from 'tap'
import { base64Bytes, ENCODINGS, itemWriter, TextBuffer } from '../../src/replies/encode-items.js'
import { readId } from '../../src/item/id.js'
import { MAX_TS } from '../../src/item/order.js'
import { holds } from '../properties.js'

/** The expected text, without optimizations. */
function plainly (encoding, id, ts, value) {
  const text = value.toString()
  const isText = Buffer.from(text).equals(value)
  const head = `{"id":${JSON.stringify(id.toString())},"ts":${ts},"value":`
  if (encoding === 'utf8' && isText) return `${head}${JSON.stringify(text)}}`
  if (encoding === 'json' && isText && isJson(text)) return `${head}${text.replace(/[\r\n]+/g, ' ')}}`
  return `${head}"${value.toString('base64')}"${encoding === 'base64' ? '' : ',"encoding":"base64"'}}`
}

function isJson (text) {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const ids = fc.oneof(fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }), fc.string({ minLength: 1, maxLength: 128 }),
  fc.constantFrom('"', '\\', 'a"b', 'é', '語'.repeat(42), '👾', '"'.repeat(128)))
  .filter((id) => typeof readId(id) !== 'string').map((id) => Buffer.from(id))
const times = fc.oneof(fc.integer({ min: 0, max: MAX_TS }), fc.constantFrom(0, 9, 10, 999_999_999_999, 1_000_000_000_000, 1_000_000_000_001,
  1_700_000_000_000, 1_800_000_009_999_999 % MAX_TS, MAX_TS))
const values = fc.oneof(fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)), fc.json().map((text) => Buffer.from(text)),
  fc.constantFrom('{\n "a": 1,\r\n "b": [1.0]\n}', '1e400', '', '"\u2028"').map((text) => Buffer.from(text)))

t.test('an item is written as JSON.stringify would, from the middle of any buffer', async (t) => {
  for (const encoding of ENCODINGS) {
    const write = itemWriter(encoding)
    const out = new TextBuffer()
    await holds(t, fc.property(fc.array(fc.tuple(ids, times, values, fc.nat(9)), { minLength: 1, maxLength: 20 }), (items) => {
      for (const [id, ts, value, before] of items) {
        const bytes = Buffer.concat([Buffer.alloc(before, 0xff), id, value, Buffer.alloc(3, 0xff)])
        write(out, bytes, before, before + id.length, ts, bytes, before + id.length, before + id.length + value.length)
      }
      const expected = items.map(([id, ts, value]) => plainly(encoding, id, ts, value)).join('')
      const written = out.take().toString()
      if (written !== expected) throw new Error(`${encoding}: ${written}\n${expected}`)
    }), { runs: 300 })
  }
})

t.test('base64 has every byte and every length', (t) => {
  const out = new TextBuffer()
  for (let length = 0; length <= 300; length++) {
    const bytes = Buffer.from(Array.from({ length }, (_, i) => (i * 7 + length) & 255))
    out.reserve(base64Bytes(length))
    out.base64(bytes, 0, length)
    t.equal(out.length, base64Bytes(length))
    t.equal(out.take().toString(), bytes.toString('base64'))
  }
  t.end()
})

t.test('a buffer grows for large text, and shrinks afterwards', (t) => {
  const out = new TextBuffer()
  const small = out.bytes.length
  out.text('語'.repeat(1_000_000))
  out.byte(0x0a)
  t.equal(out.take().toString(), '語'.repeat(1_000_000) + '\n')
  t.equal(out.bytes.length, small)
  t.equal(out.take().length, 0)
  t.end()
})

t.test('a taken copy does not change with later writes', (t) => {
  const out = new TextBuffer()
  out.text('first')
  const first = out.take()
  out.text('second')
  t.equal(first.toString(), 'first')
  t.end()
})
