/** The rate of a feed out of heartbeats, by a clock of the test. */
import t from 'tap'
import { readHeartbeats } from '../../src/feeds/changes.js'
import { createRate } from '../../src/figures/rates.js'

const START_MS = 1_790_000_000_000

/** @param {Record<string, [items: number, afterMs: number] | null>} heartbeats by writer */
const heartbeatsOf = (heartbeats) =>
  new Map(Object.entries(heartbeats).map(([name, heartbeat]) =>
    [name, heartbeat && { items: heartbeat[0], atMs: START_MS + heartbeat[1] }]))

/** Reads heartbeats each second. */
function createReader () {
  const rate = createRate()
  let nowMs = 0
  return (/** @type {Parameters<typeof heartbeatsOf>[0]} */ heartbeats, isCurrent = true) => {
    nowMs += 1000
    return rate.take(heartbeatsOf(heartbeats), { nowMs, isCurrent })
  }
}

t.test('of each writer the newest two heartbeats count, by its own clock, whenever they are read', async (t) => {
  const read = createReader()
  t.equal(read({ a: [1000, 0], b: [50, 90_000] }), null, 'one heartbeat of each is not enough')
  t.equal(read({ a: [2000, 500], b: [50, 90_000] }), null, 'nor while one of them is not known')
  t.same(read({ a: [2000, 500], b: [150, 92_000] }), { itemsPerSecond: 2050, writers: 2 })
  t.same(read({ a: [2300, 1500], b: [150, 93_000] }), { itemsPerSecond: 300, writers: 2 }, 'an idle writer counts, with a rate of 0')
})

t.test('a heartbeat that is older than one that was seen comes from another node', async (t) => {
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

t.test('a writer without new heartbeats is gone after three seconds', async (t) => {
  const read = createReader()
  read({ a: [100, 0], b: [100, 0] })
  t.same(read({ a: [200, 1000], b: [300, 1000] }), { itemsPerSecond: 300, writers: 2 })
  for (let n = 2; n <= 4; n++) t.match(read({ a: [n * 100 + 100, n * 1000], b: [300, 1000] }), { itemsPerSecond: 300 })
  t.same(read({ a: [600, 5000], b: [300, 1000] }), { itemsPerSecond: 100, writers: 1 })
  t.same(read({}), { itemsPerSecond: 0, writers: 0 }, 'there are no writers')
})

t.test('a heartbeat that never changes is not a writer', async (t) => {
  const read = createReader()
  for (let n = 0; n < 4; n++) t.equal(read({ a: [100, 0] }), null)
  t.same(read({ a: [100, 0] }), { itemsPerSecond: 0, writers: 0 })
})

t.test('a writer that comes later wrote all its items since the last reading', async (t) => {
  const read = createReader()
  t.same(read({}), { itemsPerSecond: 0, writers: 0 })
  t.same(read({ a: [2, 0] }), { itemsPerSecond: 2, writers: 1 })
  t.same(read({ a: [2, 1000] }), { itemsPerSecond: 0, writers: 1 })
  t.same(read({ a: [1002, 2000], b: [0, 2000] }), { itemsPerSecond: 1000, writers: 1 })
})

t.test('a writer that another node did not have yet does not count again', async (t) => {
  const read = createReader()
  read({ a: [0, 0] })
  t.same(read({ a: [5000, 1000], b: [7000, 0] }), { itemsPerSecond: 12_000, writers: 2 })
  t.same(read({ a: [6000, 2000] }), { itemsPerSecond: 1000, writers: 1 })
  t.same(read({ a: [7000, 3000], b: [9000, 2000] }), { itemsPerSecond: 1000, writers: 1 })
  t.same(read({ a: [8000, 4000], b: [9500, 3000] }), { itemsPerSecond: 1500, writers: 2 })
})

t.test('the heartbeat after a pause may follow another one at once', async (t) => {
  const read = createReader()
  read({ a: [0, 0] })
  t.same(read({ a: [1, 10] }), { itemsPerSecond: 2, writers: 1 })
})

t.test('all items of a feed that did not exist at the last reading were written since', async (t) => {
  const rate = createRate({ readMs: 1000 })
  t.equal(rate.lastRoseMs, -Infinity)
  t.same(rate.take(heartbeatsOf({ a: [2, 0] }), { nowMs: 2000, isCurrent: true }), { itemsPerSecond: 2, writers: 1 })
  rate.take(heartbeatsOf({ a: [2, 1000] }), { nowMs: 3000, isCurrent: true })
  rate.take(heartbeatsOf({}), { nowMs: 4000, isCurrent: true })
  t.equal(rate.lastRoseMs, 2000, 'known after the writer is gone')
})

t.test('silence of a node that may lag leaves the rate unknown', async (t) => {
  const read = createReader()
  t.equal(read({}, false), null)
  read({ a: [100, 0] })
  t.same(read({ a: [200, 1000] }), { itemsPerSecond: 100, writers: 1 })
  for (let n = 0; n < 3; n++) t.match(read({ a: [200, 1000] }, false), { itemsPerSecond: 100 })
  t.equal(read({ a: [200, 1000] }, false), null)
  t.same(read({ a: [200, 1000] }), { itemsPerSecond: 0, writers: 0 }, 'now it is known')
  t.match(read({ a: [9200, 10_000] }, false), { itemsPerSecond: 1000 }, 'a new heartbeat counts from any node')
})

t.test('invalid heartbeats are skipped', async (t) => {
  const flat = ['a', '12 1790000000000', 'b', 'x', 'c', '12', 'd', '-1 5', 'e', '1 2 3', 'f', ''].map((text) => Buffer.from(text))
  const heartbeats = readHeartbeats(flat)
  t.same(heartbeats.get('a'), { items: 12, atMs: START_MS })
  t.same([...heartbeats.values()].filter((heartbeat) => heartbeat === null).length, 5)
  t.same(createRate().take(new Map([['b', null]]), { nowMs: 0, isCurrent: true }), { itemsPerSecond: 0, writers: 0 })
})
