import t from 'tap'
import fc from 'fast-check'
import { SEGMENT_HEAD_BYTES, eachVersion, itemBytes, segmentHead, writeItem, writeSegmentHead } from '../../src/item/segment.js'
import { anyId, anySeq, anyTs, holds } from '../properties.js'
import { sealed, versionsOf } from './segments.js'

/** @typedef {import('./segments.js').Version} Version */

const WRITER = Buffer.from('0123456789abcdef', 'hex')
const ORIGIN = { stamp: 1_750_000_000_000_000, writer: WRITER, epoch: 7, sequence: 4_294_967_296 }
const NOTHING = Buffer.alloc(0)

const anyVersion = fc.record({
  id: anyId, ts: anyTs, seq: anySeq, value: fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)), deleted: fc.boolean()
})
const anyOrigin = fc.record({
  stamp: fc.oneof(fc.nat(), fc.constantFrom(2 ** 53 - 1, 2 ** 32, 2 ** 32 - 1)),
  writer: fc.uint8Array({ minLength: 8, maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
  epoch: fc.oneof(fc.nat(), fc.constant(2 ** 32 - 1)),
  sequence: fc.oneof(fc.nat(), fc.constantFrom(2 ** 32, 2 ** 48 - 1))
})

/** @param {Version[]} versions @param {import('../../src/item/origin.js').Origin} [origin] @param {any} [lies] in its head */
function segment (versions, origin = ORIGIN, lies = {}) {
  const before = 5
  const bytes = Buffer.alloc(before + SEGMENT_HEAD_BYTES + versions.reduce((sum, { id, value }) => sum + itemBytes(id, value), 0), 0xee)
  let end = before + SEGMENT_HEAD_BYTES
  for (const { id, ts, seq, value, deleted } of versions) end = writeItem(bytes, end, id, ts, seq, value, deleted)
  const times = versions.map(({ ts }) => ts)
  writeSegmentHead(bytes, before, end,
    { count: versions.length, firstTs: Math.min(...times), lastTs: Math.max(...times), ...origin, ...lies })
  return bytes.subarray(before, end)
}

const one = (/** @type {Partial<Version>} */ parts = {}) =>
  ({ id: Buffer.from('bus-7'), ts: 1_700_000_000_123, seq: 5, value: Buffer.from('hi'), deleted: false, ...parts })

t.test('the bytes of a segment are these', async (t) => {
  const bytes = segment([one(), one({ id: Buffer.from('é'), ts: 7, seq: 4095, value: NOTHING, deleted: true })])
  t.equal(bytes.toString('hex'), [
    '465347', '01', '32247cf9', '6b822a0b', '00', '00', '00000002', '00000021', '000000000007', '018bcfe5687b',
    '06379da05b6000', '0123456789abcdef', '00000007', '000100000000',
    '018bcfe5687b0050', '05', '000002', '6275732d37', '6869',
    '000000000007fff1', '02', '000000', 'c3a9'
  ].join(''))
})

t.test('a segment gives back its items in order of append, and its head', (t) =>
  holds(t, fc.property(fc.array(anyVersion, { minLength: 1, maxLength: 30 }), anyOrigin, (versions, origin) => {
    const bytes = segment(versions, origin)
    const shown = (/** @type {Version[]} */ all) => JSON.stringify(all)
    const times = versions.map(({ ts }) => ts)
    const { count, firstTs, lastTs, stamp, origin: text } = segmentHead(bytes)
    const { writer, epoch, sequence } = origin
    const words = Buffer.alloc(10)
    words.writeUInt32BE(epoch)
    words.writeUIntBE(sequence, 4, 6)
    return shown(versionsOf(bytes)) === shown(versions) && count === versions.length && stamp === origin.stamp &&
      firstTs === Math.min(...times) && lastTs === Math.max(...times) && text === Buffer.concat([writer, words]).toString('latin1')
  }), { runs: 300 }))

t.test('ids and values of every size that an item may have', async (t) => {
  for (const size of [0, 1, 31, 32, 33, 65_535, 65_536, 1024 * 1024]) {
    const wanted = [one({ value: Buffer.alloc(size, 7) }), one({ id: Buffer.alloc(128, 'x'), value: Buffer.alloc(size, 8) })]
    const found = versionsOf(segment(wanted))
    t.ok(found.every(({ id, value }, i) => id.equals(wanted[i].id) && value.equals(wanted[i].value)), String(size))
  }
})

t.test('origins differ when writer, epoch or sequence do, and not with the stamp', async (t) => {
  const originOf = (/** @type {any} */ other) => segmentHead(segment([one()], { ...ORIGIN, ...other })).origin
  t.equal(originOf({ stamp: 1 }), originOf({}))
  for (const other of [{ writer: Buffer.alloc(8) }, { epoch: 8 }, { sequence: 1 }]) t.not(originOf(other), originOf({}))
  t.ok(originOf({ epoch: 8, sequence: 0 }) > originOf({}), 'and compare as they came')
})

t.test('one changed bit anywhere, and nothing is visited', (t) =>
  holds(t, fc.property(fc.array(anyVersion,
    { minLength: 1, maxLength: 5 }), fc.nat(), fc.integer({ min: 0, max: 7 }), (versions, where, bit) => {
    const bytes = Buffer.from(segment(versions))
    bytes[where % bytes.length] ^= 1 << bit
    return refusal(bytes) !== ''
  }), { runs: 500 }))

t.test('a segment cut at any byte, or with bytes after it, is refused', (t) =>
  holds(t, fc.property(fc.array(anyVersion, { minLength: 1, maxLength: 5 }), fc.nat(), fc.uint8Array({ maxLength: 70 }), (versions, where,
    rest) => {
    const bytes = segment(versions)
    const kept = where % bytes.length
    return refusal(bytes.subarray(0, kept)) === 'SEGMENT_INVALID' && refusal(Buffer.from(rest)) === 'SEGMENT_INVALID' &&
      refusal(Buffer.concat([bytes, Buffer.from('x')])) === 'SEGMENT_INVALID'
  })))

t.test('a newer format version and an unknown compression are named', async (t) => {
  const newer = Buffer.from(segment([one()]))
  newer[3] = 2
  t.throws(() => segmentHead(newer),
    { code: 'SEGMENT_VERSION', message: /format version 2; this version of Freshet reads 1/, retryable: false })
  t.throws(() => eachVersion(newer, () => t.fail('visited')), { code: 'SEGMENT_VERSION' })
  const compressed = Buffer.from(segment([one()]))
  compressed[12] = 3
  t.throws(() => eachVersion(sealed(compressed), () => t.fail('visited')),
    { code: 'SEGMENT_VERSION', message: /compressed by method 3; this version of Freshet reads 0 \(not compressed\), 1 \(brotli\) and 2 \(without/ })
})

t.test('what fits its checksums and is nonsense all the same is refused', async (t) => {
  const at = SEGMENT_HEAD_BYTES
  /** @type {[string, (bytes: Buffer) => unknown][]} */
  const nonsense = [
    ['an id of no bytes', (bytes) => { bytes[at + 8] = 0 }],
    ['an id above 128 bytes', (bytes) => { bytes[at + 8] = 129 }],
    ['a value that ends behind the segment', (bytes) => { bytes[at + 11] = 255 }],
    ['a value above 1 MiB', (bytes) => { bytes[at + 9] = 255 }],
    ['a ts outside its bounds', (bytes) => { bytes[at + 5]++ }]
  ]
  for (const [what, change] of nonsense) {
    const bytes = Buffer.from(segment([one(), one({ id: Buffer.alloc(100, 'x') })]))
    change(bytes)
    t.equal(refusal(sealed(bytes)), 'SEGMENT_INVALID', what)
  }
  for (const lies of [{ count: 1 }, { count: 3 }, { firstTs: 1_700_000_000_124 }, { lastTs: 1 }]) {
    t.equal(refusal(segment([one(), one()], ORIGIN, lies)), 'SEGMENT_INVALID', JSON.stringify(lies))
  }
  const empty = Buffer.alloc(SEGMENT_HEAD_BYTES)
  writeSegmentHead(empty, 0, SEGMENT_HEAD_BYTES, { count: 0, firstTs: 0, lastTs: 0, ...ORIGIN })
  t.equal(refusal(empty), 'SEGMENT_INVALID', 'no items')
})

/** @param {Buffer} bytes @returns {string} its code; '' = none */
function refusal (bytes) {
  let visits = 0
  try {
    eachVersion(bytes, () => { visits++ })
    return ''
  } catch (error) {
    if (visits > 0 || error.name !== 'FreshetError') throw error
    return error.code
  }
}
