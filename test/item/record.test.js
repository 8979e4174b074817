import t from 'tap'
import fc from 'fast-check'
import { RECORD_HEAD_BYTES, readRecord, writeRecordHead } from '../../src/item/record.js'
import { anySeq, anyTs, holds } from '../properties.js'

/** @param {number} ts @param {number} seq @param {Buffer} value @param {boolean} [deleted] */
function record (ts, seq, value, deleted) {
  const head = Buffer.alloc(RECORD_HEAD_BYTES, 0xff)
  writeRecordHead(head, 0, ts, seq, deleted)
  return Buffer.concat([head, value])
}

t.test('a record gives back its order and its value', (t) =>
  holds(t, fc.property(anyTs, anySeq, fc.uint8Array({ maxLength: 40 }), fc.boolean(), (ts, seq, bytes, deleted) => {
    const value = Buffer.from(bytes)
    const id = Buffer.from('a')
    const read = readRecord(id, record(ts, seq, value, deleted))
    return read.ts === ts && read.seq === seq && read.value.equals(value) && read.id === id && read.deleted === deleted
  }), { runs: 1000 }))

t.test('records sort as their order does', (t) =>
  holds(t, fc.property(anyTs, anySeq, anyTs, anySeq, (tsA, seqA, tsB, seqB) => {
    const nothing = Buffer.alloc(0)
    return Math.sign(Buffer.compare(record(tsA, seqA, nothing), record(tsB, seqB, nothing))) === Math.sign(tsA - tsB || seqA - seqB)
  })))

t.test('the bytes of a record are these', async (t) => {
  t.equal(record(0, 0, Buffer.alloc(0)).toString('hex'), '0000000000000000')
  t.equal(record(1_700_000_000_123, 5, Buffer.from('hi')).toString('hex'), '018bcfe5687b0050' + '6869')
  t.equal(record(2 ** 41 - 1, 4095, Buffer.from([0])).toString('hex'), '01fffffffffffff0' + '00')
  t.equal(record(1_700_000_000_123, 5, Buffer.alloc(0), true).toString('hex'), '018bcfe5687b0051')
})

t.test('the four bits of flags do not reach the seq, and only the lowest is a deletion', async (t) => {
  const place = { ts: 1_700_000_000_123, seq: 5 }
  t.match(readRecord(Buffer.from('a'), Buffer.from('018bcfe5687b005f', 'hex')), { ...place, deleted: true })
  t.match(readRecord(Buffer.from('a'), Buffer.from('018bcfe5687b005e', 'hex')), { ...place, deleted: false })
})

t.test('a key that is too short for a record holds something else', async (t) => {
  t.throws(() => readRecord(Buffer.from('bus-7'), Buffer.from('1234567')), { code: 'KEY_HOLDS_OTHER', message: /item bus-7 holds 7 bytes/ })
})
