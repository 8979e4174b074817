/**
 * Buckets of one size, and the size classes.
 */
import t from 'tap'
import fc from 'fast-check'
import { classBytes, classOf } from '../../../src/view/store/records.js'
import { Chunks, Buckets } from '../../../src/view/store/buckets.js'
import { holds } from '../../properties.js'

t.test('the class of a size is the smallest that fits', async (t) => {
  let wrong = 0
  let unused = 0
  for (let bytes = 1; bytes <= 1_048_576 + 256; bytes++) {
    const index = classOf(bytes)
    const size = classBytes(index)
    if (size < bytes || size % 16 !== 0 || (index > 1 && classBytes(index - 1) >= bytes)) wrong++
    if (bytes > 128) unused = Math.max(unused, (size - bytes) / size)
  }
  t.equal(wrong, 0)
  t.ok(unused < 1 / 9, String(unused))
})

/** Slots whose mark is a number that the test gives out. @param {number} bucketBytes */
function createSlots (bucketBytes) {
  const chunks = new Chunks()
  const buckets = new Buckets(bucketBytes, 1, chunks)
  /** @type {Map<number, { chunk: number, index: number }>} */
  const places = new Map()
  /** @param {number} name */
  const take = (name) => {
    const chunk = buckets.take()
    const index = buckets.taken
    const from = index * chunk.bucketInts
    chunk.ints[from] = chunk.ints[from + 1] = chunk.ints[from + chunk.bucketInts - 1] = name
    places.set(name, { chunk: chunk.number, index })
  }
  /** @param {number} name */
  const release = (name) => {
    const { chunk, index } = /** @type {any} */ (places.get(name))
    places.delete(name)
    buckets.release(chunks.list[chunk], index)
  }
  const isIntact = () => [...places].every(([name, { chunk, index }]) => {
    const { ints, bucketInts } = chunks.list[chunk]
    const from = index * bucketInts
    return ints[from] === name && ints[from + 1] === name && ints[from + bucketInts - 1] === name
  }) && buckets.used === places.size && new Set([...places.values()].map(({ chunk, index }) => `${chunk} ${index}`)).size === places.size
  const drain = (/** @type {number} */ moves) => buckets.drain(moves, (chunk, index) => {
    const name = chunk.ints[index * chunk.bucketInts]
    release(name)
    take(name)
  })
  return { chunks, buckets, places, take, release, isIntact, drain }
}

const anySteps = fc.array(fc.record({
  kind: fc.constantFrom('take', 'release', 'drain'), times: fc.integer({ min: 1, max: 400 }), which: fc.nat()
}), { maxLength: 30 })

for (const bucketBytes of [64, 1024, 100_000]) {
  t.test(`buckets of ${bucketBytes} bytes keep their content when taken, released and drained in any order`, async (t) => {
    await holds(t, fc.property(anySteps, (steps) => {
      const { chunks, buckets, places, take, release, isIntact, drain } = createSlots(bucketBytes)
      let names = 0
      const most = bucketBytes > 10_000 ? 20 : 400
      for (const { kind, times, which } of steps) {
        const count = Math.min(times, most)
        if (kind === 'take') for (let i = 0; i < count; i++) take(names++)
        const held = [...places.keys()]
        if (kind === 'release') for (let i = 0; i < Math.min(count, held.length); i++) release(held[(which + i) % held.length])
        if (kind === 'drain' && buckets.isSparse) drain(count)
        if (!isIntact()) return false
      }
      for (let calls = 0; buckets.isSparse && calls < 1000; calls++) drain(1000)
      const free = buckets.capacity - buckets.used
      return isIntact() && chunks.bytes === buckets.capacity * bucketBytes &&
        free <= buckets.used / 2 + 2 * Math.max(1, Math.floor(4096 / bucketBytes))
    }), { runs: 100 })
  })
}

t.test('no memory is held when everything is released', async (t) => {
  const { chunks, take, release, isIntact } = createSlots(64)
  for (let name = 0; name < 20_000; name++) take(name)
  t.ok(isIntact())
  t.ok(chunks.list.length > 3)
  for (let name = 0; name < 20_000; name++) release(name)
  t.equal(chunks.bytes, 0)
  take(1)
  t.equal(chunks.bytes, 4096)
})
