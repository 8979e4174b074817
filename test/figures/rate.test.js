/** The rate of a feed out of notes, by a clock of the test. */
import t from 'tap'
import { readNotes } from '../../src/feeds/notes.js'
import { createRate } from '../../src/figures/rate.js'

const START_MS = 1_790_000_000_000

/** @param {Record<string, [items: number, afterMs: number] | null>} notes by writer */
const notesOf = (notes) => new Map(Object.entries(notes).map(([name, note]) => [name, note && { items: note[0], atMs: START_MS + note[1] }]))

/** Reads notes each second. */
function createReader () {
  const rate = createRate()
  let nowMs = 0
  return (/** @type {Parameters<typeof notesOf>[0]} */ notes, isCurrent = true) => {
    nowMs += 1000
    return rate.take(notesOf(notes), { nowMs, isCurrent })
  }
}

t.test('of each writer the newest two notes count, by its own clock, whenever they are read', async (t) => {
  const read = createReader()
  t.equal(read({ a: [1000, 0], b: [50, 90_000] }), null, 'one note of each says nothing yet')
  t.equal(read({ a: [2000, 500], b: [50, 90_000] }), null, 'nor while one of them is not known')
  t.same(read({ a: [2000, 500], b: [150, 92_000] }), { itemsPerSecond: 2050, writers: 2 })
  t.same(read({ a: [2300, 1500], b: [150, 93_000] }), { itemsPerSecond: 300, writers: 2 }, 'who writes nothing says so')
})

t.test('a note that is older than one that was seen is another node\'s', async (t) => {
  const read = createReader()
  read({ a: [100, 1000] })
  t.match(read({ a: [200, 2000] }), { itemsPerSecond: 100 })
  t.match(read({ a: [100, 1000] }), { itemsPerSecond: 100 })
  t.match(read({ a: [300, 3000] }), { itemsPerSecond: 100 })
})

t.test('a clock that is set back costs one rate', async (t) => {
  const read = createReader()
  read({ a: [100, 10_000] })
  t.match(read({ a: [200, 11_000] }), { itemsPerSecond: 100 })
  t.match(read({ a: [500, 2000] }), { itemsPerSecond: 100 }, 'as it was')
  t.match(read({ a: [700, 3000] }), { itemsPerSecond: 200 })
})

t.test('a writer without new notes is gone after three seconds', async (t) => {
  const read = createReader()
  read({ a: [100, 0], b: [100, 0] })
  t.same(read({ a: [200, 1000], b: [300, 1000] }), { itemsPerSecond: 300, writers: 2 })
  for (let n = 2; n <= 4; n++) t.match(read({ a: [n * 100 + 100, n * 1000], b: [300, 1000] }), { itemsPerSecond: 300 })
  t.same(read({ a: [600, 5000], b: [300, 1000] }), { itemsPerSecond: 100, writers: 1 })
  t.same(read({}), { itemsPerSecond: 0, writers: 0 }, 'nobody writes')
})

t.test('what was there before us and stays silent is nobody', async (t) => {
  const read = createReader()
  for (let n = 0; n < 4; n++) t.equal(read({ a: [100, 0] }), null)
  t.same(read({ a: [100, 0] }), { itemsPerSecond: 0, writers: 0 })
})

t.test('a writer that comes later counts from its second note on', async (t) => {
  const read = createReader()
  t.same(read({}), { itemsPerSecond: 0, writers: 0 })
  t.same(read({ a: [5000, 0] }), { itemsPerSecond: 0, writers: 0 })
  t.same(read({ a: [6000, 1000] }), { itemsPerSecond: 1000, writers: 1 })
})

t.test('silence of a node that may be behind says nothing', async (t) => {
  const read = createReader()
  t.equal(read({}, false), null)
  read({ a: [100, 0] })
  t.same(read({ a: [200, 1000] }), { itemsPerSecond: 100, writers: 1 })
  for (let n = 0; n < 3; n++) t.match(read({ a: [200, 1000] }, false), { itemsPerSecond: 100 })
  t.equal(read({ a: [200, 1000] }, false), null)
  t.same(read({ a: [200, 1000] }), { itemsPerSecond: 0, writers: 0 }, 'now it is known')
  t.match(read({ a: [9200, 10_000] }, false), { itemsPerSecond: 1000 }, 'a new note is true whoever tells it')
})

t.test('what is no note is passed over', async (t) => {
  const flat = ['a', '12 1790000000000', 'b', 'x', 'c', '12', 'd', '-1 5', 'e', '1 2 3', 'f', ''].map((text) => Buffer.from(text))
  const notes = readNotes(flat)
  t.same(notes.get('a'), { items: 12, atMs: START_MS })
  t.same([...notes.values()].filter((note) => note === null).length, 5)
  t.same(createRate().take(new Map([['b', null]]), { nowMs: 0, isCurrent: true }), { itemsPerSecond: 0, writers: 0 })
})
