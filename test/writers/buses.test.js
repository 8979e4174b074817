/** The values of the synthetic source: positions of buses. */
import t from 'tap'
import fc from 'fast-check'
import { BUS_BYTES, makeBuses } from '../../demo/buses.js'
import { holds } from '../properties.js'

const METRES_PER_DEGREE = 111_000

/** @param {number} bytes @param {Parameters<typeof makeBuses>[1]} writer @param {number} items @returns {string[]} */
function valuesOf (bytes, writer, items) {
  const { value, change } = makeBuses(bytes, writer)
  return Array.from({ length: items }, () => {
    change()
    return String(value)
  })
}

t.test('a value is the position of a bus as JSON, of exactly the requested size, and ends with its number', async (t) => {
  const [first] = valuesOf(128, { index: 0, buses: 100, isMoving: true }, 1)
  t.match(JSON.parse(first), {
    line: /^M\d\d$/, lat: Number, lon: Number, speedKmh: Number, notice: 'No stop at Zoo until 6 pm', trip: /^[0-9a-f]+$/, n: 1
  })
  t.notMatch(first, / {2}/, 'no padding')
  const lines = valuesOf(128, { index: 0, buses: 16, isMoving: true }, 16).map((text) => JSON.parse(text))
  t.equal(new Set(lines.map(({ notice }) => notice)).size, 5, 'lines have notices of their own')
  await holds(t, fc.property(fc.integer({ min: BUS_BYTES, max: 400 }), fc.integer({ min: 0, max: 70 }), fc.integer({ min: 1, max: 150 }),
    fc.boolean(), (bytes, index, buses, isMoving) =>
      valuesOf(bytes, { index, buses, isMoving }, 230).every((text, i) => {
        const { lat, lon, speedKmh, n } = JSON.parse(text)
        return Buffer.byteLength(text) === bytes && n === (isMoving ? i : i % buses) + 1 &&
          Math.abs(lat - 52.52) < 0.1 && Math.abs(lon - 13.405) < 0.1 && speedKmh >= 10 && speedKmh < 50
      })))
})

t.test('a bus stays on its line and moves on by a short distance, also from the last stop to the first', async (t) => {
  const BUSES = 50
  const ROUNDS = 600
  const values = valuesOf(128, { index: 3, buses: BUSES, isMoving: true }, BUSES * ROUNDS).map((text) => JSON.parse(text))
  for (let bus = 0; bus < BUSES; bus++) {
    const mine = values.filter((_, i) => i % BUSES === bus)
    t.equal(new Set(mine.map(({ line }) => line)).size, 1)
    const metres = mine.slice(1).map(({ lat, lon }, i) => Math.hypot((lat - mine[i].lat) * METRES_PER_DEGREE,
      (lon - mine[i].lon) * METRES_PER_DEGREE * Math.cos(lat * Math.PI / 180)))
    t.ok(metres.every((one) => one > 5 && one < 250), `bus ${bus}: ${Math.min(...metres)} to ${Math.max(...metres)} m`)
  }
})

t.test('values repeat after a round if they must not change', async (t) => {
  const texts = valuesOf(BUS_BYTES, { index: 1, buses: 120, isMoving: false }, 360)
  t.equal(new Set(texts).size, 120)
  t.same(texts.slice(120, 240), texts.slice(0, 120))
  t.same(texts.slice(240), texts.slice(0, 120))
})

t.test('values that are too short for a position contain the number only', async (t) => {
  t.match(JSON.parse(valuesOf(BUS_BYTES - 1, { index: 2, buses: 10, isMoving: true }, 12)[11]), { writer: 2, n: '000000000012' })
  t.same(valuesOf(12, { index: 0, buses: 2, isMoving: false }, 3), ['000000000001', '000000000002', '000000000001'])
})
