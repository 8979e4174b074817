/**
 * The view store with many items: an order of several levels, a table of several parts, and memory use.
 */
import t from 'tap'
import { newestFirst } from '../../../src/item/order.js'
import { createViewStore } from '../../../src/view/store/index.js'
import { nightly } from '../../scope.js'

const NOW = 1_700_000_000_000
const ARRIVALS = nightly(60_000, 30_000)
const ROOMY = { windowMs: 0, maxItems: 0, boundItems: 1_000_000, boundBytes: 2 ** 30 }

/** @param {number} seed @returns {(below: number) => number} */
function createRandom (seed) {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor(state / 2 ** 32 * below)
  }
}

const seed = Number(process.env.FRESHET_TEST_SEED ?? Date.now() % 2 ** 31)

/**
 * @param {any} store
 * @param {string} id
 * @param {number} ts
 * @param {number} seq
 * @param {number} valueBytes
 * @param {boolean} deleted
 * @param {number} arrival
 */
function put (store, id, ts, seq, valueBytes, deleted, arrival) {
  const bytes = Buffer.alloc(id.length + valueBytes, 120)
  bytes.write(id)
  return store.put(bytes, 0, id.length, ts, seq, 0, deleted, id.length, bytes.length, arrival)
}

/** @param {any} store @param {number} nowMs @param {number} limit @returns {string[]} */
function everything (store, nowMs, limit) {
  /** @type {string[]} */
  const lines = []
  let after = null
  do {
    after = store.latest({ limit, after, sinceMs: null, nowMs }, (/** @type {Buffer} */ bytes, /** @type {number} */ idAt,
      /** @type {number} */ idEnd, /** @type {number} */ ts, /** @type {number} */ seq, /** @type {number} */ valueAt,
      /** @type {number} */ valueEnd) => {
      lines.push(`${bytes.toString('latin1', idAt, idEnd)} ${ts} ${seq} ${valueEnd - valueAt}`)
    }).next
  } while (after)
  return lines
}

for (const { name, ids, spreadMs, windowMs, maxItems } of [
  { name: 'a short window', ids: 20_000, spreadMs: 50, windowMs: ARRIVALS / 150, maxItems: 0 },
  { name: 'no window', ids: 5_000, spreadMs: 1_000_000, windowMs: 0, maxItems: 0 },
  { name: 'one ts for many', ids: 30_000, spreadMs: 1, windowMs: ARRIVALS / 120, maxItems: 0 },
  { name: 'a count of arrivals', ids: 20_000, spreadMs: 200, windowMs: 0, maxItems: 8_000 }
]) {
  t.test(`${name}: tens of thousands of items stay in order, by page and by id`, async (t) => {
    t.comment(`seed ${seed}`)
    const random = createRandom(seed)
    const store = createViewStore({ ...ROOMY, windowMs, maxItems })
    /** @type {Map<string, any>} */
    const held = new Map()
    let nowMs = NOW
    for (let arrival = 0; arrival < ARRIVALS; arrival++) {
      if (arrival % 100 === 0) nowMs += 1
      if (arrival % 3000 === 0) store.advance(nowMs, arrival - 1)
      const name = `item-${random(ids)}`
      const ts = nowMs - (random(3) ? 0 : random(spreadMs))
      const seq = Math.min(4095, random(5000))
      const version = { id: Buffer.from(name), ts, seq, length: random(200), deleted: random(20) === 0, arrival }
      put(store, name, ts, seq, version.length, version.deleted, arrival)
      const before = held.get(name) ?? []
      const versions = maxItems ? [...before, version] : before.length && newestFirst(before[0], version) < 0 ? before : [version]
      held.set(name, versions)
      if (arrival % (ARRIVALS / 2) !== ARRIVALS / 2 - 1) continue
      store.advance(nowMs, arrival)
      const live = [...held.values()].flatMap((versions) => versions
        .filter((/** @type {any} */ one) => (!windowMs || one.ts >= nowMs - windowMs) && (!maxItems || one.arrival > arrival - maxItems))
        .sort((/** @type {any} */ a, /** @type {any} */ b) => newestFirst(a, b) || b.arrival - a.arrival).slice(0, 1))
      const shown = live.filter(({ deleted }) => !deleted).sort(newestFirst)
      const wanted = shown.map(({ id, ts, seq, length }) => `${id} ${ts} ${seq} ${length}`)
      t.ok(wanted.length > 1000, `${wanted.length} items`)
      const got = everything(store, nowMs, 777)
      t.equal(got.findIndex((line, i) => line !== wanted[i]), -1)
      t.equal(got.length, wanted.length)
      t.same(store.stats().tombstones, live.length - shown.length)
      const wrong = shown.filter(({ id, ts, length }) => {
        const item = store.get(id, nowMs)
        return !item || item.ts !== ts || item.value.length !== length
      })
      t.equal(wrong.length, 0)
    }
  })
}

t.test('memory shrinks after a peak', async (t) => {
  const store = createViewStore({ ...ROOMY, windowMs: 100_000, maxItems: 1_000_000 })
  let arrival = 0
  for (let i = 0; i < 75_000; i++) {
    put(store, `item-${i}`, NOW + (i % 50 ? 0 : 100_000), i % 4096, i % 3 ? 100 : 1000, i % 7 === 0, arrival++)
  }
  const peak = store.stats()
  const later = NOW + 100_001
  while (store.advance(later, arrival));
  const wanted = everything(store, later, 10_000)
  // each call moves a little
  for (let i = 0; i < 1000; i++) store.advance(later, arrival)
  const left = store.stats()
  t.equal(left.items + left.tombstones, 1500)
  const content = 1500 * (10 + 400)
  t.ok(left.bytes < 2 * content + 128 * 1500 + 300_000, `${peak.bytes} then ${left.bytes} bytes`)
  t.same(everything(store, later, 10_000), wanted)
  for (const line of wanted) {
    const [id, ts] = line.split(' ')
    if (store.get(Buffer.from(id), later)?.ts !== Number(ts)) t.fail(line)
  }
})

t.test('items keep their content when they are moved together after most ids went', async (t) => {
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const store = createViewStore({ ...ROOMY, maxItems: 1_000_000 })
  const count = 60_000
  const ids = Array.from({ length: count }, (_, i) => `item-${i}`)
  for (let i = 0; i < count; i++) put(store, ids[i], NOW + random(1000), random(4096), random(100), random(10) === 0, i)
  const peak = store.stats().bytes
  for (let i = count - 1; i > 0; i--) {
    const other = random(i + 1)
    const id = ids[i]
    ids[i] = ids[other]
    ids[other] = id
  }
  for (const id of ids.slice(2000)) store.forget(Buffer.from(id), 0, id.length)
  const wanted = everything(store, NOW, 1000)
  for (let i = 0; i < 100; i++) store.advance(NOW, count)
  const { items, tombstones, bytes } = store.stats()
  t.equal(items + tombstones, 2000)
  t.ok(bytes < 2 * 2000 * 60 + 128 * 2000 + 200_000, `${peak} then ${bytes} bytes`)
  t.equal(everything(store, NOW, 3).join(), wanted.join())
  // everything that leads to a moved record, and to a moved node
  for (const id of ids.slice(0, 1000)) put(store, id, NOW + 1000 + random(1000), random(4096), 200, false, count)
  for (const id of ids.slice(1000, 2000)) store.forget(Buffer.from(id), 0, id.length)
  const left = everything(store, NOW, 100)
  t.same(left.map((line) => line.split(' ')[0]).sort(), ids.slice(0, 1000).sort())
  const orders = left.map((line) => Number(line.split(' ')[1]) * 4096 + Number(line.split(' ')[2]))
  t.same(orders, [...orders].sort((a, b) => b - a))
  store.advance(NOW, count + 1_000_000)
  t.match(store.stats(), { items: 0, tombstones: 0 })
})

t.test('hot ids beside cold ones: memory is proportional to live items, however many are put', async (t) => {
  const store = createViewStore({ ...ROOMY, windowMs: 60_000 })
  let content = 0
  for (let i = 0; i < 100_000; i++) {
    if (i % 1000 === 0) store.advance(NOW + i / 100, i)
    const isCold = i % 100 === 0
    put(store, isCold ? `cold-${i}` : `hot-${i % 50}`, NOW + Math.floor(i / 100), i % 100, 128, false, i)
    if (isCold) content += 128 + 10
  }
  const { items, bytes } = store.stats()
  t.equal(items, 1050)
  t.ok(bytes < 2 * content + 128 * items + 100_000, `${bytes} bytes for ${items} items of ${content} bytes`)
})
