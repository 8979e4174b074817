/**
 * Slots of one size, and the classes of sizes.
 */
import t from 'tap'
import fc from 'fast-check'
import { classBytes, classOf } from '../../../src/view/store/size-classes.js'
import { Chunks, Slots } from '../../../src/view/store/slots.js'
import { holds } from '../../properties.js'

t.test('a class is the least that has room for so many bytes', async (t) => {
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

/** Slots whose mark is a number that the test gives out. @param {number} slotBytes */
function createSlots (slotBytes) {
  const chunks = new Chunks()
  const slots = new Slots(slotBytes, 1, chunks)
  /** @type {Map<number, { chunk: number, index: number }>} */
  const places = new Map()
  /** @param {number} name */
  const take = (name) => {
    const chunk = slots.take()
    const index = slots.taken
    const from = index * chunk.slotInts
    chunk.ints[from] = chunk.ints[from + 1] = chunk.ints[from + chunk.slotInts - 1] = name
    places.set(name, { chunk: chunk.number, index })
  }
  /** @param {number} name */
  const release = (name) => {
    const { chunk, index } = /** @type {any} */ (places.get(name))
    places.delete(name)
    slots.release(chunks.list[chunk], index)
  }
  const isIntact = () => [...places].every(([name, { chunk, index }]) => {
    const { ints, slotInts } = chunks.list[chunk]
    const from = index * slotInts
    return ints[from] === name && ints[from + 1] === name && ints[from + slotInts - 1] === name
  }) && slots.used === places.size && new Set([...places.values()].map(({ chunk, index }) => `${chunk} ${index}`)).size === places.size
  const drain = (/** @type {number} */ moves) => slots.drain(moves, (chunk, index) => {
    const name = chunk.ints[index * chunk.slotInts]
    release(name)
    take(name)
  })
  return { chunks, slots, places, take, release, isIntact, drain }
}

const anySteps = fc.array(fc.record({ kind: fc.constantFrom('take', 'release', 'drain'), times: fc.integer({ min: 1, max: 400 }), which: fc.nat() }), { maxLength: 30 })

for (const slotBytes of [64, 1024, 100_000]) {
  t.test(`slots of ${slotBytes} bytes keep what is in them, taken, released and drained in any order`, async (t) => {
    await holds(t, fc.property(anySteps, (steps) => {
      const { chunks, slots, places, take, release, isIntact, drain } = createSlots(slotBytes)
      let names = 0
      const most = slotBytes > 10_000 ? 20 : 400
      for (const { kind, times, which } of steps) {
        const count = Math.min(times, most)
        if (kind === 'take') for (let i = 0; i < count; i++) take(names++)
        const held = [...places.keys()]
        if (kind === 'release') for (let i = 0; i < Math.min(count, held.length); i++) release(held[(which + i) % held.length])
        if (kind === 'drain' && slots.isSparse) drain(count)
        if (!isIntact()) return false
      }
      for (let calls = 0; slots.isSparse && calls < 1000; calls++) drain(1000)
      const free = slots.capacity - slots.used
      return isIntact() && chunks.bytes === slots.capacity * slotBytes && free <= slots.used / 2 + 2 * Math.max(1, Math.floor(4096 / slotBytes))
    }), { runs: 100 })
  })
}

t.test('when everything is released nothing is held', async (t) => {
  const { chunks, take, release, isIntact } = createSlots(64)
  for (let name = 0; name < 20_000; name++) take(name)
  t.ok(isIntact())
  t.ok(chunks.list.length > 3)
  for (let name = 0; name < 20_000; name++) release(name)
  t.equal(chunks.bytes, 0)
  take(1)
  t.equal(chunks.bytes, 4096)
})
