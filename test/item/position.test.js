import t from 'tap'
import fc from 'fast-check'
import { checkCreation, decodeOffsets, decodeSeveral, encodeOffsets, encodeSeveral, isPositionOf } from '../../src/item/position.js'
import { holds } from '../properties.js'

const FEED = 'latest'
const NONE = {
  code: 'POSITION_INVALID', message: /^not a position of feed (latest|other); expected the "position" of an earlier change, unchanged$/
}

const anyPosition = fc.record({
  readMs: fc.integer({ min: 0, max: 2 ** 41 - 1 }),
  offsets: fc.array(fc.record({
    ms: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
    n: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    versions: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
    isEnd: fc.boolean()
  }), { minLength: 1, maxLength: 8 })
})

t.test('positions have these bytes', async (t) => {
  const bytes = (/** @type {string} */ text) => Buffer.from(text, 'base64url').toString('hex')
  t.equal(bytes(encodeOffsets(FEED, {
    readMs: 1_800_000_000_001,
    offsets: [{ ms: 1_800_000_000_000, n: 7, versions: 3, isEnd: true }, { ms: 0, n: 0, versions: 0, isEnd: false }]
  }, 1_800_000_000_002)),
  '02' + '69419bd2' + '01a3185c5002' + '01a3185c5001' + '01a3185c5000' + '00000007' + '80000003' + '000000000000' + '00000000' +
      '00000000')
})

t.test('what was spelt is read', (t) => holds(t, fc.property(anyPosition, (position) => {
  if (JSON.stringify(decodeOffsets(FEED, encodeOffsets(FEED, position), position.offsets.length)) !== JSON.stringify(position)) {
    throw new Error('places differ')
  }
})))

t.test('a position of another feed, kind or number of partitions is invalid, and so is a changed one', (
  t
) => holds(t, fc.property(anyPosition, fc.nat(), fc.integer({ min: 1, max: 255 }), (position, at, change) => {
  const byTime = Buffer.from(encodeOffsets(FEED, position), 'base64url')
  byTime[0] = 1
  const byOffset = encodeOffsets(FEED, position)
  const changed = Buffer.from(byOffset, 'base64url')
  changed[at % changed.length] ^= change
  const none = [
    () => decodeOffsets(FEED, byTime.toString('base64url'), position.offsets.length),
    () => decodeOffsets('other', byOffset, position.offsets.length),
    () => decodeOffsets(FEED, byOffset, position.offsets.length + 1),
    () => decodeOffsets(FEED, changed.toString('base64url'), position.offsets.length),
    () => decodeOffsets(FEED, byOffset + 'A', position.offsets.length),
    () => decodeOffsets(FEED, '', position.offsets.length)
  ]
  for (const read of none) {
    try {
      read()
    } catch (error) {
      if (error.code === NONE.code && NONE.message.test(error.message)) continue
      throw error
    }
    throw new Error(`read as a position: ${read}`)
  }
})))

t.test('a position expires when its feed is dropped and created again', async (t) => {
  const definition = {
    feed: FEED, layout: 'ids', partitions: 1, windowMs: 0, maxItems: 0, format: 1, createdAt: '2027-01-15T08:00:00.002Z'
  }
  const position = encodeOffsets(FEED, { readMs: 0, offsets: [{ ms: 7, n: 0, versions: 0, isEnd: true }] }, 1_800_000_000_002)
  checkCreation(definition, position)
  t.throws(() => checkCreation({ ...definition, createdAt: '2027-01-15T08:00:00.003Z' }, position),
    { code: 'POSITION_EXPIRED', message: /dropped and created again/ })
  t.ok(isPositionOf(FEED, position))
  t.notOk(isPositionOf('other', position))
  for (let bit = 0; bit < 8; bit++) {
    const turned = Buffer.from(position, 'base64url')
    turned[0] ^= 1 << bit
    t.notOk(isPositionOf(FEED, turned.toString('base64url')), `kind ${turned[0]}`)
  }
})

t.test('a position of several feeds tells one that does not exist from one that has none yet', (t) => {
  const position = encodeOffsets('a', { readMs: 9, offsets: [{ ms: 5, n: 1, versions: 0, isEnd: true }] })
  const subjects = [
    { name: 'a', isFeed: true, position }, { name: 'b', isFeed: true, position: null, isWaiting: true },
    { name: 'c', isFeed: true, position: null }, { name: 'sale:d', isFeed: false, position: null }
  ]
  const positions = decodeSeveral(subjects, encodeSeveral(subjects), new Map())
  t.same([...positions ?? []], [['a', position], ['b', null], ['sale:d', null]])
  t.end()
})
