/**
 * The view store, one guarantee at a time. store.property.test.js mixes them.
 */
import t from 'tap'
import { createViewStore } from '../../../src/view/store/index.js'

const NOW = 1_700_000_000_000
const ROOMY = { windowMs: 0, maxItems: 0, boundItems: 1_000_000, boundBytes: 2 ** 30 }

/**
 * @param {any} store
 * @param {string} id
 * @param {number} ts
 * @param {{ seq?: number, stamp?: number, deleted?: boolean, value?: string | Buffer, arrival?: number }} [more]
 */
function put (store, id, ts, { seq = 0, stamp = 0, deleted = false, value = 'v', arrival = 0 } = {}) {
  const bytes = Buffer.concat([Buffer.from(id), Buffer.from(value)])
  const idEnd = Buffer.byteLength(id)
  return store.put(bytes, 0, idEnd, ts, seq, stamp, deleted, idEnd, bytes.length, arrival)
}

/** @param {any} store @param {{ limit?: number, after?: any, sinceMs?: number | null, nowMs?: number }} [question] @returns {string[]} */
function idsOf (store, { limit = 1_000_000, after = null, sinceMs = null, nowMs = NOW } = {}) {
  /** @type {string[]} */
  const ids = []
  store.latest({ limit, after, sinceMs, nowMs }, (/** @type {Buffer} */ bytes, /** @type {number} */ idAt, /** @type {number} */ idEnd) => {
    ids.push(bytes.toString('utf8', idAt, idEnd))
  })
  return ids
}

/** @param {any} store @param {string} id */
const valueOf = (store, id) => store.get(Buffer.from(id), NOW)?.value.toString() ?? null

t.test('items come newest first: by ts, then seq, then the bytes of the id', async (t) => {
  const store = createViewStore(ROOMY)
  for (const [id, ts, seq] of [['b', 5, 0], ['a', 5, 0], ['ab', 5, 0], ['c', 5, 4095], ['d', 4, 4095], ['é', 5, 0], ['late', 1, 0],
    ['ahead', NOW + 60_000, 0]]) put(store, String(id), Number(ts), { seq: Number(seq) })
  t.same(idsOf(store), ['ahead', 'c', 'é', 'b', 'ab', 'a', 'd', 'late'])
  t.equal(store.count(NOW), 8)
})

t.test('of two versions the newer counts, then the greater stamp, then the later arrival', async (t) => {
  const store = createViewStore(ROOMY)
  t.equal(put(store, 'a', 10, { seq: 3, stamp: 5, value: 'first' }), true)
  t.equal(put(store, 'a', 9, { seq: 9, stamp: 9, value: 'older' }), false)
  t.equal(put(store, 'a', 10, { seq: 2, stamp: 9, value: 'lower seq' }), false)
  t.equal(put(store, 'a', 10, { seq: 3, stamp: 4, value: 'lesser stamp' }), false)
  t.equal(valueOf(store, 'a'), 'first')
  t.equal(put(store, 'a', 10, { seq: 3, stamp: 5, value: 'again', arrival: 1 }), true)
  t.equal(put(store, 'a', 10, { seq: 3, stamp: 5, value: 'arrived earlier', arrival: 0 }), false)
  t.equal(put(store, 'a', 10, { seq: 3, stamp: 6, value: 'again', arrival: 0 }), false, 'a repeat is no visible change')
  t.same(store.versionOf(Buffer.from('a')), { ts: 10, seq: 3, stamp: 6, deleted: false })
  t.equal(store.revision, 2)
})

t.test('a deletion hides late older versions until it leaves the window', async (t) => {
  const store = createViewStore({ ...ROOMY, windowMs: 100 })
  store.advance(NOW)
  put(store, 'a', NOW - 50)
  t.equal(put(store, 'a', NOW - 10, { deleted: true }), true)
  t.equal(put(store, 'a', NOW - 20), false)
  t.equal(put(store, 'never', NOW - 10, { deleted: true }), false)
  t.match(store.stats(), { items: 0, tombstones: 2 })
  t.same(idsOf(store), [])
  t.equal(store.get(Buffer.from('a'), NOW), null)
  const { revision } = store
  store.advance(NOW + 90)
  t.match(store.stats(), { tombstones: 2 })
  store.advance(NOW + 91)
  t.match(store.stats(), { items: 0, tombstones: 0 })
  t.equal(store.revision, revision, 'this changes no result')
  t.equal(put(store, 'a', NOW - 20), false, 'outside the window')
  t.equal(put(store, 'a', NOW), true)
})

t.test('the window ends where ts is nowMs - windowMs, with and without advance', async (t) => {
  const store = createViewStore({ ...ROOMY, windowMs: 86_400_000 })
  put(store, 'a', NOW - 86_400_000)
  put(store, 'b', NOW)
  t.same(idsOf(store), ['b', 'a'])
  t.same(idsOf(store, { nowMs: NOW + 1 }), ['b'])
  t.equal(store.count(NOW + 1), 1)
  t.equal(store.get(Buffer.from('a'), NOW + 1), null)
  const { revision } = store
  store.advance(NOW)
  t.equal(store.revision, revision)
  store.advance(NOW + 1)
  t.equal(store.revision, revision + 1)
  t.match(store.stats(), { items: 1 })
})

t.test('since is inclusive, and next is null at its end', async (t) => {
  const store = createViewStore(ROOMY)
  for (let ts = 1; ts <= 10; ts++) put(store, `i${ts}`, ts)
  t.same(idsOf(store, { sinceMs: 8 }), ['i10', 'i9', 'i8'])
  const read = (/** @type {number} */ limit) => store.latest({ limit, after: null, sinceMs: 8, nowMs: NOW }, () => {})
  t.same(read(2), { next: { ts: 9, seq: 0, id: Buffer.from('i9') }, count: 2 })
  t.same(read(3), { next: null, count: 3 })
  t.same(store.latest({ limit: 5, after: null, sinceMs: null, nowMs: NOW }, () => false),
    { next: { ts: 10, seq: 0, id: Buffer.from('i10') }, count: 1 }, 'the visitor ends the page')
})

t.test('a page continues at a place that was removed', async (t) => {
  const store = createViewStore(ROOMY)
  for (const id of ['a', 'b', 'c', 'd']) put(store, id, 5)
  const { next } = store.latest({ limit: 2, after: null, sinceMs: null, nowMs: NOW }, () => {})
  t.same(next?.id.toString(), 'c')
  put(store, 'c', 6)
  store.forget(Buffer.from('b'), 0, 1)
  put(store, 'bb', 5)
  t.same(idsOf(store, { after: next }), ['bb', 'a'])
})

t.test('only the newest maxItems arrivals are live, in whatever order they were put', async (t) => {
  const store = createViewStore({ ...ROOMY, maxItems: 3 })
  put(store, 'new', 100, { arrival: 0 })
  store.advance(NOW, 0)
  for (const arrival of [-2, -1]) put(store, `h${-arrival}`, 100 + arrival, { arrival })
  t.equal(put(store, 'beyond', 99, { arrival: -3 }), false)
  t.same(idsOf(store), ['new', 'h1', 'h2'])
  put(store, 'next', 50, { arrival: 1 })
  store.advance(NOW, 1)
  t.same(idsOf(store), ['new', 'h1', 'next'], 'the first to arrive goes, not the oldest')
})

t.test('an older version that arrived later counts when the newest is beyond maxItems', async (t) => {
  const store = createViewStore({ ...ROOMY, maxItems: 3 })
  put(store, 'a', 100, { value: 'newest', arrival: 1 })
  t.equal(put(store, 'a', 90, { value: 'late', arrival: 2 }), false)
  t.equal(put(store, 'a', 80, { deleted: true, arrival: 3 }), false)
  t.equal(valueOf(store, 'a'), 'newest')
  store.advance(NOW, 4)
  t.equal(valueOf(store, 'a'), 'late')
  store.advance(NOW, 5)
  t.match(store.stats(), { items: 0, tombstones: 1 })
  store.advance(NOW, 6)
  t.match(store.stats(), { items: 0, tombstones: 0 })
})

t.test('at the bound of items the oldest are evicted, and the floor shows it until the window passes it', async (t) => {
  const store = createViewStore({ ...ROOMY, windowMs: 1000, boundItems: 3 })
  store.advance(NOW)
  for (let i = 0; i < 5; i++) put(store, `i${i}`, NOW + i)
  t.same(idsOf(store), ['i4', 'i3', 'i2'])
  t.same(store.stats().floor, { ts: NOW + 1, seq: 0, id: Buffer.from('i1') })
  t.equal(put(store, 'late', NOW + 1), false, 'there is no room for it, and the floor rises')
  t.same(idsOf(store), ['i4', 'i3', 'i2'])
  store.advance(NOW + 1001)
  t.same(store.stats().floor, { ts: NOW + 1, seq: 0, id: Buffer.from('late') })
  store.advance(NOW + 1002)
  t.equal(store.stats().floor, null)
})

t.test('the floor stays while anything below it is live, waiting versions included', async (t) => {
  const store = createViewStore({ ...ROOMY, maxItems: 10, boundItems: 3 })
  put(store, 'a', 50, { arrival: 1 })
  put(store, 'a', 40, { arrival: 5 })
  put(store, 'b', 60, { arrival: 6 })
  put(store, 'c', 70, { arrival: 7 })
  t.same(idsOf(store), ['c', 'b'])
  for (const newest of [11, 14]) {
    store.advance(NOW, newest)
    t.match(store.stats().floor, { ts: 50 }, 'the version of ts 40 is live')
  }
  store.advance(NOW, 15)
  t.equal(store.stats().floor, null)
})

t.test('at the bound of bytes the oldest are evicted', async (t) => {
  const store = createViewStore({ ...ROOMY, boundBytes: 100_000 })
  for (let i = 0; i < 500; i++) put(store, `i${i}`, i, { value: Buffer.alloc(1000) })
  const { items, floor } = store.stats()
  t.ok(items > 80 && items < 95, String(items))
  t.equal(floor?.ts, 499 - items)
  t.equal(put(store, 'huge', 1000, { value: Buffer.alloc(200_000) }), true, 'everything else had to go')
  t.match(store.stats(), { items: 0, floor: { ts: 1000 } })
})

t.test('at or below the given floor nothing is live', async (t) => {
  const store = createViewStore(ROOMY)
  for (let ts = 1; ts <= 5; ts++) put(store, `i${ts}`, ts)
  store.setFloor({ ts: 3, seq: 0, id: Buffer.from('i3') })
  t.same(idsOf(store), ['i5', 'i4'])
  t.equal(put(store, 'i2', 2), false)
  t.equal(put(store, 'i31', 3), true)
  store.setFloor(null)
  t.equal(put(store, 'i2', 2), true)
  t.same(idsOf(store), ['i5', 'i4', 'i31', 'i2'])
  t.equal(store.stats().floor, null)
})

t.test('values of 0 bytes to 1 MiB keep their bytes when their size changes', async (t) => {
  const store = createViewStore(ROOMY)
  const sizes = [0, 1, 3, 100, 1_048_576, 5000, 0, 200_000, 128, 129, 1_048_576]
  for (const [i, size] of sizes.entries()) {
    put(store, 'a', i, { value: Buffer.alloc(size, 65 + i) })
    put(store, `b${i}`, i, { value: Buffer.alloc(size, 97 + i) })
    const { value } = /** @type {any} */ (store.get(Buffer.from('a'), NOW))
    t.ok(value.equals(Buffer.alloc(size, 65 + i)), `${size} bytes`)
  }
  for (const [i, size] of sizes.entries()) {
    t.ok(store.get(Buffer.from(`b${i}`), NOW)?.value.equals(Buffer.alloc(size, 97 + i)), `${size} bytes, kept`)
  }
})

t.test('put and get copy', async (t) => {
  const store = createViewStore(ROOMY)
  const bytes = Buffer.from('idvalue')
  store.put(bytes, 0, 2, 1, 0, 0, false, 2, 7, 0)
  bytes.fill(0)
  const item = store.get(Buffer.from('id'), NOW)
  put(store, 'id', 2, { value: 'other' })
  t.same(item, { id: Buffer.from('id'), ts: 1, seq: 0, value: Buffer.from('value') })
})

t.test('clear removes everything but retention', async (t) => {
  const store = createViewStore({ ...ROOMY, windowMs: 1000, boundItems: 2 })
  for (let i = 0; i < 3; i++) put(store, `i${i}`, NOW + i)
  store.setFloor({ ts: NOW, seq: 0, id: Buffer.from('x') })
  const { revision } = store
  store.clear()
  t.equal(store.revision, revision + 1)
  t.match(store.stats(), { items: 0, tombstones: 0, floor: null })
  t.equal(put(store, 'a', NOW - 999), true)
  t.same(idsOf(store, { nowMs: NOW + 2 }), [])
})

t.test('items too old but not yet removed are not shown', async (t) => {
  const store = createViewStore({ ...ROOMY, windowMs: 1000 })
  const count = 65_000
  for (let i = 0; i < count; i++) put(store, `i${i}`, NOW)
  store.advance(NOW)
  t.equal(store.advance(NOW + 2000), true)
  t.ok(store.stats().items > 0)
  t.equal(store.count(NOW + 2000), 0)
  t.same(idsOf(store, { nowMs: NOW + 2000 }), [])
  for (let calls = 0; store.advance(NOW + 2000) && calls < 10; calls++);
  t.match(store.stats(), { items: 0 })
})

t.test('a watcher is called for puts, deletions, forgotten ids and waiting versions, not for items that become too old', async (t) => {
  const store = createViewStore({ ...ROOMY, windowMs: 1000, maxItems: 3 })
  /** @type {string[]} */
  let told = []
  store.watcher = (bytes, idAt, idEnd, isForgotten) => {
    told.push(`${Buffer.from(bytes).toString('utf8', idAt, idEnd)}${isForgotten ? ' forgotten' : ''}`)
  }
  /** @param {string[]} wanted @param {string} why */
  const expect = (wanted, why) => {
    t.same(told, wanted, why)
    told = []
  }
  store.advance(NOW, 0)
  put(store, 'a', NOW - 10, { arrival: 1 })
  put(store, 'a', NOW - 5, { arrival: 2, deleted: true })
  put(store, 'a', NOW - 20, { arrival: 3, value: 'late' })
  put(store, 'b', NOW - 5, { arrival: 2 })
  put(store, 'b', NOW - 9, { arrival: 3, deleted: true })
  put(store, 'b', NOW - 10, { arrival: 4, value: 'late' })
  put(store, 'c', NOW - 5, { arrival: 2, deleted: true })
  put(store, 'c', NOW - 9, { arrival: 3, deleted: true })
  expect(['a', 'a', 'b', 'b', 'c', 'c'], 'what is visible, and every deletion')
  store.advance(NOW, 4)
  expect([], 'those that arrived at 2 are still among the last three')
  store.advance(NOW, 5)
  expect(['a', 'b'], 'what waited counts: an item instead of a deletion, a deletion instead of an item')
  t.same([valueOf(store, 'a'), valueOf(store, 'b'), valueOf(store, 'c')], ['late', null, null])
  store.advance(NOW, 6)
  expect(['b'], 'and an item again; an id that is gone altogether is not reported')
  t.same([valueOf(store, 'a'), valueOf(store, 'b')], [null, 'late'])
  store.forget(Buffer.from('b'), 0, 1)
  expect(['b forgotten'], 'forgotten')
  put(store, 'd', NOW, { arrival: 7 })
  told = []
  store.advance(NOW + 1001, 7)
  expect([], 'too old')
})

t.test('the place beyond a number of items is that of the newest of the others', async (t) => {
  const store = createViewStore(ROOMY)
  t.equal(store.orderKeyBeyond(0), null)
  // in leaves of 48
  for (let i = 0; i < 500; i++) put(store, `n${i}`, i)
  put(store, 'gone', 600, { deleted: true })
  for (const count of [0, 1, 47, 48, 49, 300, 499]) {
    t.match(store.orderKeyBeyond(count), { ts: 499 - count, seq: 0, id: Buffer.from(`n${499 - count}`) })
  }
  t.equal(store.orderKeyBeyond(500), null)
  store.setFloor(store.orderKeyBeyond(120))
  t.equal(store.count(NOW), 120)
})
