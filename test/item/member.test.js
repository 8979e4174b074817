import t from 'tap'
import fc from 'fast-check'
import { MEMBER_HEAD_BYTES, memberBound, readMember, versionKeyText, writeMemberHead } from '../../src/item/record.js'
import { anyId, holds } from '../properties.js'

const anyStamp = fc.oneof(
  fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  fc.constantFrom(1, 255, 256, 2 ** 32 - 1, 2 ** 32, 2 ** 48 - 1, 2 ** 48, 1_750_000_000_000_000, Number.MAX_SAFE_INTEGER))
const anyValue = fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes))
/** without control characters, as item/id.js has it */
const anyPlainId = anyId.filter((id) => !/\p{Cc}/u.test(id.toString()))
const anyNearId = fc.oneof(anyPlainId, fc.constantFrom('a', 'ab', 'b', ' ').map((text) => Buffer.from(text)))
const anyNearStamp = fc.oneof(anyStamp, fc.integer({ min: 1, max: 3 }))

/** @param {Buffer} id @param {number} stamp @param {Buffer} value @param {boolean} [deleted] */
function member (id, stamp, value, deleted = false) {
  const head = Buffer.alloc(MEMBER_HEAD_BYTES, 0xee)
  writeMemberHead(head, 0, stamp, deleted)
  return Buffer.concat([id, head, value])
}

t.test('a member gives back its id, stamp, flag and value', (t) =>
  holds(t, fc.property(anyPlainId, anyStamp, anyValue, fc.boolean(), (id, stamp, value, deleted) => {
    const read = readMember(member(id, stamp, value, deleted))
    return read.id.equals(id) && read.stamp === stamp && read.value.equals(value) && read.deleted === deleted &&
      read.text === versionKeyText({ ts: 0, seq: 0, id, stamp })
  }), { runs: 1000 }))

t.test('members of one score are ordered by id, then by append, not by value', (t) =>
  holds(t, fc.property(anyNearId, anyNearStamp, anyValue, anyNearId, anyNearStamp, anyValue, (idA, stampA, valueA, idB, stampB, valueB) => {
    const order = Buffer.compare(idA, idB) || stampA - stampB
    if (order === 0) return true
    const texts = [versionKeyText({ ts: 1, seq: 0, id: idA, stamp: stampA }), versionKeyText({ ts: 1, seq: 0, id: idB, stamp: stampB })]
    return Math.sign(Buffer.compare(member(idA, stampA, valueA), member(idB, stampB, valueB))) === Math.sign(order) &&
      (texts[0] > texts[1]) === (order > 0)
  }), { runs: 1000 }))

t.test('a place begins at its members, above all older ones', (t) =>
  holds(t, fc.property(anyNearId, anyNearStamp, anyNearId, anyNearStamp, anyValue, fc.boolean(), fc.boolean(), (id, stamp, otherId,
    otherStamp, value, deleted, isExact) => {
    const place = isExact ? { ts: 1, seq: 0, id, stamp } : { ts: 1, seq: 0, id }
    const other = member(otherId, otherStamp, value, deleted)
    const isOlder = (Buffer.compare(otherId, id) || (isExact ? otherStamp - stamp : 0)) < 0
    return (Buffer.compare(other, memberBound(place)) < 0) === isOlder
  }), { runs: 1000 }))

t.test('the bytes of a member are these', async (t) => {
  t.equal(member(Buffer.from('bus-7'), 1_700_000_000_123_456, Buffer.from('hi')).toString('hex'),
    '6275732d37' + '00' + '060a2418202240' + '00' + '6869')
  t.equal(member(Buffer.from('é'), 1, Buffer.alloc(0), true).toString('hex'), 'c3a9' + '00' + '00000000000001' + '01')
  t.equal(memberBound({ ts: 0, seq: 0, id: Buffer.from('a') }).toString('hex'), '61' + '00' + '00000000000000' + '00')
  t.equal(memberBound({ ts: 0, seq: 0, id: Buffer.from('a'), stamp: 258 }).toString('hex'), '61' + '00' + '00000000000102' + '00')
})

t.test('only the lowest flag is a deletion', async (t) => {
  t.equal(readMember(Buffer.from('6100' + '00000000000001' + 'ff', 'hex')).deleted, true)
  t.equal(readMember(Buffer.from('6100' + '00000000000001' + 'fe', 'hex')).deleted, false)
})

t.test('a member that is no version was written by another program', async (t) => {
  const wrong = ['', 'a', 'a\0', 'a\x001234567', '\x00' + '0'.repeat(20), 'x'.repeat(129) + '\0' + '0'.repeat(20)]
  for (const text of wrong) {
    t.throws(() => readMember(Buffer.from(text, 'latin1')),
      { code: 'KEY_HOLDS_OTHER', message: new RegExp(`a member of ${text.length} bytes`) })
  }
  t.equal(readMember(Buffer.from('x'.repeat(128) + '\0' + '0'.repeat(8), 'latin1')).id.length, 128)
})
