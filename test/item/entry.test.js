import { crc32 } from 'node:zlib'
import t from 'tap'
import fc from 'fast-check'
import { ENTRY_HEAD_BYTES, entryHead, visitEntry, writeEntry } from '../../src/item/segment.js'
import { anyId, anySeq, anyTs, holds } from '../properties.js'

const ORIGIN = { stamp: 1_750_000_000_000_000, writer: Buffer.from('0123456789abcdef', 'hex'), epoch: 7, sequence: 4_294_967_296 }

/** @param {Buffer} id @param {number} ts @param {number} seq @param {Buffer} value @param {boolean} [deleted] @param {any} [origin] */
function entry (id, ts, seq, value, deleted = false, origin = ORIGIN) {
  const bytes = Buffer.alloc(3 + ENTRY_HEAD_BYTES + id.length + value.length, 0xee)
  return bytes.subarray(3, writeEntry(bytes, 3, id, ts, seq, value, deleted, origin))
}

t.test('the bytes of an entry are these', async (t) => {
  t.equal(entry(Buffer.from('bus-7'), 1_700_000_000_123, 5, Buffer.from('hi')).toString('hex'), [
    '01', 'ccf94321', '06379da05b6000', '0123456789abcdef', '00000007', '000100000000', '018bcfe5687b0050', '05', '6275732d37', '6869'
  ].join(''))
})

t.test('an entry gives back its version and where it comes from', (t) =>
  holds(t, fc.property(anyId, anyTs, anySeq, fc.uint8Array({ maxLength: 80 }), fc.boolean(), fc.nat(), fc.nat(), (id, ts, seq, value,
    deleted, stamp, sequence) => {
    const bytes = entry(id, ts, seq, Buffer.from(value), deleted, { ...ORIGIN, stamp, sequence })
    const head = entryHead(bytes)
    let fits = head.count === 1 && head.firstTs === ts && head.lastTs === ts && head.stamp === stamp && head.origin.length === 18
    visitEntry(bytes, (from, idAt, idEnd, itsTs, itsSeq, itsDeleted, valueAt, valueEnd) => {
      fits &&= id.equals(from.subarray(idAt, idEnd)) && itsTs === ts && itsSeq === seq && itsDeleted === deleted &&
        Buffer.from(value).equals(from.subarray(valueAt, valueEnd))
    })
    return fits
  }), { runs: 500 }))

t.test('one changed bit, a byte too few or too many, and it is refused', (t) =>
  holds(t, fc.property(anyId, fc.uint8Array({ maxLength: 40 }), fc.nat(), fc.integer({ min: 0, max: 7 }), (id, value, where, bit) => {
    const bytes = Buffer.from(entry(id, 7, 0, Buffer.from(value)))
    const all = [bytes.subarray(0, where % bytes.length), Buffer.concat([bytes, Buffer.from('x')]), Buffer.from(value)]
    const changed = Buffer.from(bytes)
    changed[where % bytes.length] ^= 1 << bit
    return [...all, changed].every((one) => refusal(one) !== '')
  }), { runs: 500 }))

t.test('a newer format version is named, and an impossible item with a valid checksum is refused', async (t) => {
  const newer = Buffer.from(entry(Buffer.from('a'), 7, 0, Buffer.from('v')))
  newer[0] = 2
  t.throws(() => entryHead(newer), { code: 'SEGMENT_VERSION', message: /format version 2; this version of Freshet reads 1/ })
  for (const idBytes of [0, 129, 3]) {
    const bytes = Buffer.from(entry(Buffer.from('a'), 7, 0, Buffer.from('v')))
    bytes[38] = idBytes
    bytes.writeUInt32BE(crc32(bytes.subarray(5)), 1)
    t.equal(refusal(bytes), 'SEGMENT_INVALID', String(idBytes))
  }
})

/** @param {Buffer} bytes @returns {string} its code; '' = none */
function refusal (bytes) {
  try {
    visitEntry(bytes, () => {})
    return ''
  } catch (error) {
    if (error.name !== 'FreshetError') throw error
    return error.code
  }
}
