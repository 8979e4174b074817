/** Compressed segments: items survive the round trip, and faults are reported before the first item. */
import { brotliCompressSync } from 'node:zlib'
import t from 'tap'
import fc from 'fast-check'
import {
  METHODS, SEGMENT_HEAD_BYTES, eachVersion, itemBytes, packItems, segmentHead, writeItem, writeSegmentHead
} from '../../src/item/segment.js'
import { anyId, anySeq, anyTs, holds } from '../properties.js'
import { sealed, versionsOf } from './segments.js'

/** @typedef {import('./segments.js').Version} Version */

const ORIGIN = { stamp: 1_750_000_000_000_000, writer: Buffer.from('0123456789abcdef', 'hex'), epoch: 7, sequence: 1 }
const METHOD_AT = 12
const BYTES_AT = 18
const BEFORE = 5
const anyVersion = fc.record({
  id: anyId, ts: anyTs, seq: anySeq, value: fc.nat(999).map((n) => Buffer.from(`{"price":${n},"venue":"somewhere"}`)), deleted: fc.boolean()
})

/** @param {Version[]} versions */
function packed (versions) {
  const bytes = Buffer.alloc(BEFORE + SEGMENT_HEAD_BYTES + versions.reduce((sum, { id, value }) => sum + itemBytes(id, value), 0), 0xee)
  const itemsAt = BEFORE + SEGMENT_HEAD_BYTES
  let end = itemsAt
  for (const { id, ts, seq, value, deleted } of versions) end = writeItem(bytes, end, id, ts, seq, value, deleted)
  const itemsBytes = end - itemsAt
  const { end: packedEnd, method } = packItems(bytes, itemsAt, end)
  const times = versions.map(({ ts }) => ts)
  writeSegmentHead(bytes, BEFORE, packedEnd,
    { count: versions.length, firstTs: Math.min(...times), lastTs: Math.max(...times), ...ORIGIN, method, itemsBytes })
  return bytes.subarray(BEFORE, packedEnd)
}

const many = (count = 200) => Array.from({ length: count }, (_, n) => ({
  id: Buffer.from(`bus-${n}`), ts: 1_700_000_000_000 + n, seq: 0, value: Buffer.from(`{"stop":${n},"line":"M4"}`), deleted: n % 7 === 0
}))

/** @param {Buffer} bytes */
const read = (bytes) => eachVersion(bytes, () => { throw new Error('visited') })

t.test('it is smaller and gives back the same items; where it would be larger, it is left as it is', async (t) => {
  const bytes = packed(many())
  t.equal(bytes[METHOD_AT], METHODS.brotli)
  t.ok(bytes.length < bytes.readUInt32BE(BYTES_AT) / 3, `${bytes.length} bytes of ${bytes.readUInt32BE(BYTES_AT)}`)
  t.same(versionsOf(bytes), many())
  t.match(segmentHead(bytes), { count: 200, firstTs: 1_700_000_000_000, lastTs: 1_700_000_000_199 })
  const one = packed(many(1))
  t.equal(one[METHOD_AT], METHODS.none)
  t.same(versionsOf(one), many(1))
  await holds(t, fc.property(fc.array(anyVersion, { minLength: 1, maxLength: 60 }), (versions) =>
    JSON.stringify(versionsOf(packed(versions))) === JSON.stringify(versions)), { runs: 200 })
})

t.test('cut anywhere, or with one bit changed anywhere, it is no segment', async (t) => {
  const bytes = packed(many(25))
  t.equal(bytes[METHOD_AT], METHODS.brotli)
  let wrong = 0
  const isRefused = (/** @type {Buffer} */ one) => {
    try {
      read(one)
      return false
    } catch (error) {
      return ['SEGMENT_INVALID', 'SEGMENT_VERSION'].includes(error.code)
    }
  }
  for (let end = 0; end < bytes.length; end++) if (!isRefused(bytes.subarray(0, end))) wrong++
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3] ^= 1 << (bit & 7)
    if (!isRefused(changed)) wrong++
  }
  t.equal(wrong, 0)
})

t.test('impossible contents with valid checksums are refused', async (t) => {
  const bytes = packed(many())
  const head = bytes.subarray(0, SEGMENT_HEAD_BYTES)
  const garbage = sealed(Buffer.concat([head, Buffer.from('no brotli at all')]))
  t.throws(() => read(garbage), { code: 'SEGMENT_INVALID', message: /cannot be decompressed/ })
  for (const more of [1, -1]) {
    const lies = Buffer.from(bytes)
    lies.writeUInt32BE(lies.readUInt32BE(BYTES_AT) + more, BYTES_AT)
    t.throws(() => read(sealed(lies)), { code: 'SEGMENT_INVALID' }, 'another length')
  }
  const bomb = sealed(Buffer.concat([head, brotliCompressSync(Buffer.alloc(8 * 1024 * 1024))]))
  t.throws(() => read(bomb), { code: 'SEGMENT_INVALID', message: /cannot be decompressed/ }, 'no more than its head says is taken')
  const huge = Buffer.from(bytes)
  huge.writeUInt32BE(0xffffffff, BYTES_AT)
  t.throws(() => read(sealed(huge)), { code: 'SEGMENT_INVALID', message: /expected at most 536870912/ })
})
