import t from 'tap'
import fc from 'fast-check'
import { crc32 } from 'node:zlib'
import { decodeCursor, encodeCursor } from '../../src/item/cursor.js'
import { anyPlace, holds } from '../properties.js'

const PLACE = { ts: 1_700_000_000_123, seq: 5, id: Buffer.from('bus-7') }
const TEXT = 'Aa33_ywBi8_laHsAUGJ1cy03'
const refused = { code: 'CURSOR_INVALID' }

t.test('a cursor gives back its place', (t) => holds(t, fc.property(anyPlace, (place) => {
  const back = decodeCursor('latest', encodeCursor('latest', place))
  return back.ts === place.ts && back.seq === place.seq && back.id.equals(place.id)
})))

t.test('the text of a cursor is this', async (t) => {
  t.equal(encodeCursor('latest', PLACE), TEXT)
  t.equal(forged({ head: '018bcfe5687b0050', id: 'bus-7' }), TEXT)
  t.same(decodeCursor('latest', TEXT), PLACE)
})

t.test('an id of 128 bytes fits', async (t) => {
  const place = { ...PLACE, id: Buffer.alloc(128, 'x') }
  t.same(decodeCursor('latest', encodeCursor('latest', place)), place)
})

t.test('a cursor of another feed is refused', (t) => holds(t, fc.property(anyPlace, (place) => {
  const text = encodeCursor('latest', place)
  return isRefused('latest2', text) && isRefused('other', text)
})))

t.test('a cursor that lost or gained characters is refused', async (t) => {
  for (let length = 0; length < TEXT.length; length++) t.throws(() => decodeCursor('latest', TEXT.slice(0, length)), refused)
  for (const more of ['A', '=', ' ', '\n', 'AAAA']) t.throws(() => decodeCursor('latest', TEXT + more), refused)
})

t.test('a cursor with one bit changed is refused', (t) => holds(t, fc.property(anyPlace, fc.nat(), (place, at) => {
  const bytes = Buffer.from(encodeCursor('latest', place), 'base64url')
  bytes[Math.floor(at / 8) % bytes.length] ^= 1 << at % 8
  return isRefused('latest', bytes.toString('base64url'))
})))

t.test('any text that is no cursor is refused', (t) => holds(t, fc.property(fc.string(), (text) => isRefused('latest', text))))

t.test('the same bytes spelt otherwise are refused', async (t) => {
  const plain = Buffer.from(TEXT, 'base64url').toString('base64')
  t.notOk(plain === TEXT)
  t.throws(() => decodeCursor('latest', plain), refused)
})

t.test('a place that cannot be, with a right checksum, is refused', async (t) => {
  t.throws(() => decodeCursor('latest', forged({ head: 'ffffffffffff0000', id: 'a' })), refused, 'ts of 2^48 - 1')
  t.throws(() => decodeCursor('latest', forged({ head: '018bcfe5687b0050', id: '' })), refused, 'no id')
  t.throws(() => decodeCursor('latest', forged({ head: '018bcfe5687b0050', id: 'x'.repeat(129) })), refused, '129 bytes')
  t.throws(() => decodeCursor('latest', forged({ version: 2, head: '018bcfe5687b0050', id: 'a' })), refused, 'another version')
})

/** @param {{ version?: number, head: string, id: string }} parts */
function forged ({ version = 1, head, id }) {
  const place = Buffer.concat([Buffer.from(head, 'hex'), Buffer.from(id)])
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(place, crc32('latest')))
  return Buffer.concat([Buffer.from([version]), sum, place]).toString('base64url')
}

/** @param {string} feed @param {string} text */
function isRefused (feed, text) {
  try {
    decodeCursor(feed, text)
    return false
  } catch (error) {
    return error.code === 'CURSOR_INVALID'
  }
}
