/**
 * What is left of segments of usual values, and what packing and unpacking them takes: node experiments/019-compression/values.js
 *
 * Quotes, positions and readings of sensors as JSON of about 128 bytes, drawn from seeded distributions: names and keys repeat, times go
 * on, numbers are random. The items of segments of 1,000, packed and unpacked in this thread by the methods that node brings.
 */
import { brotliCompressSync, brotliDecompressSync, constants, deflateRawSync, inflateRawSync } from 'node:zlib'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import { uniformInt } from 'pure-rand/distribution/uniformInt'

const ITEMS = 1000
const SEGMENTS = 100
const ROUNDS = 5
const START_MS = 1_750_000_000_000
const random = xoroshiro128plus(19)
const below = (/** @type {number} */ most) => uniformInt(random, 0, most - 1)
const decimal = (/** @type {number} */ least, /** @type {number} */ most, /** @type {number} */ digits) =>
  (least + (most - least) * below(1e9) / 1e9).toFixed(digits)

/** @type {Record<string, { pack: (items: Buffer) => Buffer, unpack: (bytes: Buffer) => Buffer }>} */
const METHODS = {
  'deflate 1': { pack: (items) => deflateRawSync(items, { level: 1 }), unpack: (bytes) => inflateRawSync(bytes) },
  'brotli 0': {
    pack: (items) =>
      brotliCompressSync(items, { params: { [constants.BROTLI_PARAM_QUALITY]: 0, [constants.BROTLI_PARAM_SIZE_HINT]: items.length } }),
    unpack: (bytes) => brotliDecompressSync(bytes)
  }
}

/** @type {Record<string, (n: number, ts: number) => [id: string, value: string]>} */
const KINDS = {
  quotes: (_, ts) => {
    const symbol = `SYM${below(5000)}`
    return [symbol, `{"symbol":"${symbol}","bid":${decimal(90, 110, 2)},"ask":${decimal(90, 110, 2)},"bidSize":${below(900)},"askSize":` +
      `${below(900)},"venue":"X${below(9)}","time":${ts}}`]
  },
  positions: (n) => {
    const id = `bus-${n % 3000}`
    return [id, `{"vehicle":"${id}","lat":${decimal(52.3, 52.7, 5)},"lon":${decimal(13.1, 13.8, 5)},"speed":${decimal(0, 60, 1)},` +
      `"heading":${below(360)},"line":"M${below(80)}","stops":${below(30)}}`]
  },
  readings: (n, ts) => {
    const id = `sensor-${n % 20_000}`
    return [id, `{"sensor":"${id}","temperature":${decimal(15, 25, 3)},"humidity":${decimal(30, 60, 2)},"pressure":` +
      `${decimal(990, 1030, 2)},"battery":${decimal(2.9, 4.1, 2)},"at":${ts}}`]
  }
}

/** An item as it lies in a segment. @param {number} ts @param {number} seq @param {string} id @param {string} value */
function itemOf (ts, seq, id, value) {
  const head = Buffer.alloc(12)
  head.writeUIntBE(ts, 0, 6)
  head.writeUInt16BE(seq << 4, 6)
  head[8] = id.length
  head.writeUIntBE(value.length, 9, 3)
  return Buffer.concat([head, Buffer.from(id + value)])
}

/** @param {keyof typeof KINDS} kind @param {number} index @returns {Buffer} the items of a segment */
const segmentOf = (kind, index) => Buffer.concat(Array.from({ length: ITEMS }, (_, i) => {
  const n = index * ITEMS + i
  const ts = START_MS + Math.floor(n / 50)
  return itemOf(ts, n % 50, ...KINDS[kind](n, ts))
}))

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
  for (const [method, { pack, unpack }] of Object.entries(METHODS)) {
    const { made, micros: packing } = timed(() => segments.map(pack))
    const { made: again, micros: unpacking } = timed(() => made.map(unpack))
    if (!again.every((segment, i) => segment.equals(segments[i]))) throw new Error(`${method} does not give back what it got`)
    const left = made.reduce((sum, { length }) => sum + length, 0) / bytes
    print(`| ${kind} | ${Math.round(bytes / ITEMS / SEGMENTS)} | ${method} | ${left.toFixed(2)} | ${packing.toFixed(2)} | ` +
      `${unpacking.toFixed(2)} |`)
  }
}
