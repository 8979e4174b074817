/**
 * What is left of segments of usual values, and what packing and unpacking them takes: node experiments/019-compression/values.js
 *
 * Quotes, positions and readings of sensors as JSON of about 128 bytes, drawn from seeded distributions: names and keys repeat, times go
 * on, numbers are random. Segments of 1,000 items, packed and unpacked in this thread.
 */
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { WRITER_BYTES } from '../../src/item/origin.js'
import { SEGMENT_HEAD_BYTES, itemBytes, writeItem, writeSegmentHead } from '../../src/item/segment.js'
import { METHOD_NAMES, packed, unpacked } from '../../src/lab/packed.js'

const ITEMS = 1000
const SEGMENTS = 100
const ROUNDS = 5
const START_MS = 1_750_000_000_000
const random = xoroshiro128plus(19)
const below = (/** @type {number} */ most) => uniformInt(random, 0, most - 1)
const decimal = (/** @type {number} */ least, /** @type {number} */ most, /** @type {number} */ digits) => (least + (most - least) * below(1e9) / 1e9).toFixed(digits)

/** @type {Record<string, (n: number, ts: number) => [id: string, value: string]>} */
const KINDS = {
  quotes: (_, ts) => {
    const symbol = `SYM${below(5000)}`
    return [symbol, `{"symbol":"${symbol}","bid":${decimal(90, 110, 2)},"ask":${decimal(90, 110, 2)},"bidSize":${below(900)},"askSize":${below(900)},"venue":"X${below(9)}","time":${ts}}`]
  },
  positions: (n) => {
    const id = `bus-${n % 3000}`
    return [id, `{"vehicle":"${id}","lat":${decimal(52.3, 52.7, 5)},"lon":${decimal(13.1, 13.8, 5)},"speed":${decimal(0, 60, 1)},"heading":${below(360)},"line":"M${below(80)}","stops":${below(30)}}`]
  },
  readings: (n, ts) => {
    const id = `sensor-${n % 20_000}`
    return [id, `{"sensor":"${id}","temperature":${decimal(15, 25, 3)},"humidity":${decimal(30, 60, 2)},"pressure":${decimal(990, 1030, 2)},"battery":${decimal(2.9, 4.1, 2)},"at":${ts}}`]
  }
}

/** @param {keyof typeof KINDS} kind @param {number} index @returns {Buffer} */
function segmentOf (kind, index) {
  const items = Array.from({ length: ITEMS }, (_, i) => {
    const n = index * ITEMS + i
    const ts = START_MS + Math.floor(n / 50)
    const [id, value] = KINDS[kind](n, ts).map((text) => Buffer.from(text))
    return { id, ts, seq: n % 50, value }
  })
  const bytes = Buffer.alloc(items.reduce((sum, { id, value }) => sum + itemBytes(id, value), SEGMENT_HEAD_BYTES))
  let end = SEGMENT_HEAD_BYTES
  for (const { id, ts, seq, value } of items) end = writeItem(bytes, end, id, ts, seq, value, false)
  const head = { count: ITEMS, firstTs: items[0].ts, lastTs: items[ITEMS - 1].ts, stamp: 1, writer: Buffer.alloc(WRITER_BYTES), epoch: 1, sequence: index + 1 }
  writeSegmentHead(bytes, 0, end, head)
  return bytes
}

/** @param {string} line */
const print = (line) => process.stdout.write(line + '\n')

/** @template T @param {() => T} work @returns {{ made: T, micros: number }} an item; the median of some rounds */
function timed (work) {
  const micros = []
  let made = work()
  for (let round = 0; round < ROUNDS; round++) {
    const sinceMs = performance.now()
    made = work()
    micros.push((performance.now() - sinceMs) * 1000 / ITEMS / SEGMENTS)
  }
  return { made, micros: micros.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] }
}

print('| values | bytes an item | method | left | packing, us an item | unpacking, us an item |')
print('|---|---|---|---|---|---|')
for (const kind of Object.keys(KINDS)) {
  const segments = Array.from({ length: SEGMENTS }, (_, index) => segmentOf(kind, index))
  const bytes = segments.reduce((sum, { length }) => sum + length, 0)
  for (const method of METHOD_NAMES.filter((name) => name !== 'plain')) {
    const { made, micros: packing } = timed(() => segments.map((segment) => packed(method, segment)))
    const { made: again, micros: unpacking } = timed(() => made.map((one) => unpacked(method, one)))
    if (!again.every((segment, i) => segment.equals(segments[i]))) throw new Error(`${method} does not give back what it got`)
    const left = made.reduce((sum, { length }) => sum + length, 0) / bytes
    print(`| ${kind} | ${Math.round(bytes / ITEMS / SEGMENTS)} | ${method} | ${left.toFixed(2)} | ${packing.toFixed(2)} | ${unpacking.toFixed(2)} |`)
  }
}
