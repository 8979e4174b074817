/** Pages and counts for a client that may see some ids only, over the store of a view and over pages of a node. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import fc from 'fast-check'
import t from 'tap'
import { newestFirst, readIdFilter } from '../../src/item/index.js'
import { filteredQueries } from '../../src/view/index.js'
import { createViewStore } from '../../src/view/store/index.js'
import { holds } from '../properties.js'

const NOW = 1_800_000_000_000

/** @param {string[]} list */
const filterOf = (list) => /** @type {import('../../src/item/index.js').IdFilter} */ (readIdFilter(list))

/**
 * Queries over a store, as a view answers them or, with `isNode`, as a node does: in pages.
 * @param {boolean} isNode
 */
function createSource (isNode) {
  const store = createViewStore({ windowMs: 0, maxItems: 0, boundItems: 2e6, boundBytes: 2 ** 30 })
  const asked = { visits: 0, pages: 0, ids: /** @type {string[]} */ ([]) }
  let arrival = 0
  /** @param {string} id @param {number} ts */
  function put (id, ts) {
    const bytes = Buffer.from(`${id}value`)
    const end = bytes.length - 5
    store.put(bytes, 0, end, ts, 0, ++arrival, false, end, bytes.length, arrival)
  }
  /** @param {any} question @param {any} visit */
  const visit = (question, visit) => ({ ...store.latest({ ...question, nowMs: NOW }, visit), asOf: NOW + 17, lagMs: 1 })
  const queries = /** @type {any} */ ({
    async scan (/** @type {string} */ _feed, /** @type {any} */ question, /** @type {any} */ one) {
      if (isNode) return null
      asked.visits++
      return visit(question, one)
    },
    async latest (/** @type {string} */ _feed, /** @type {any} */ { limit, sinceMs, after }) {
      asked.pages++
      /** @type {any[]} */
      const items = []
      const page = visit({ limit, sinceMs, after }, (/** @type {Buffer} */ bytes, /** @type {number} */ at, /** @type {number} */ end,
        /** @type {number} */ ts, /** @type {number} */ seq, /** @type {number} */ valueAt, /** @type {number} */ valueEnd) => {
        items.push({ id: Buffer.from(bytes.subarray(at, end)), ts, seq, value: Buffer.from(bytes.subarray(valueAt, valueEnd)) })
      })
      return { ...page, items, node: {}, scan: [] }
    },
    async get (/** @type {string} */ _feed, /** @type {Buffer[]} */ ids) {
      asked.ids.push(...ids.map(String))
      return { items: ids.map((id) => store.get(id, NOW)), asOf: NOW + 17, lagMs: 1 }
    }
  })
  return { queries, put, asked, store }
}

/** All pages of a listing. @param {any} queries @param {any} filter @param {number} limit */
async function listed (queries, filter, limit) {
  const items = []
  /** @type {import('../../src/item/index.js').OrderKey | null} */
  let after = null
  let cuts = 0
  do {
    const page = await filteredQueries(queries, filter).latest('f', { limit, after })
    items.push(...page.items)
    after = page.next
    cuts += Number(page.isCut)
  } while (after !== null)
  return { items, cuts }
}

for (const isNode of [false, true]) {
  t.test(`${isNode ? 'a node' : 'a view'}: pages, counts and lookups are those of a feed that has the own items only`, async (t) => {
    const ids = fc.uniqueArray(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 3 }), { maxLength: 30 })
    const lists = fc.array(fc.constantFrom('a*', 'ab', 'b*', 'ca*', 'c'), { minLength: 1 })
    await holds(t, fc.asyncProperty(ids, lists, fc.integer({ min: 1, max: 5 }),
      async (all, list, limit) => {
        const { queries, put, asked } = createSource(isNode)
        all.forEach((id, i) => put(id, NOW - i % 7))
        const filter = filterOf(list)
        const places = all.map((id, i) => ({ id: Buffer.from(id), ts: NOW - i % 7, seq: 0 }))
        const own = places.filter(({ id }) => filter.has(id)).sort(newestFirst)
        const { items } = await listed(queries, filter, limit)
        const { count, exact, asOf } = await filteredQueries(queries, filter).count('f')
        const first = await filteredQueries(queries, filter).latest('f', { limit })
        asked.ids.length = 0
        const got = await filteredQueries(queries, filter).get('f', all.map((id) => Buffer.from(id)))
        return items.map(({ id }) => String(id)).join() === own.map(({ id }) => String(id)).join() && count === own.length && exact &&
          (first.next === null) === (own.length <= limit) && (first.next === null || filter.has(first.next.id)) &&
          await filteredQueries(queries, filter).newestTs('f') === (own[0]?.ts ?? null) && asOf === NOW &&
          got.items.every((item, i) => (item !== null) === filter.has(Buffer.from(all[i]))) &&
          asked.ids.every((id) => filter.has(Buffer.from(id)))
      }))
  })
}

t.test('a filter that matches nothing among a million items ends at the bound, in slices, and the pages end', async (t) => {
  const { queries, put, store } = createSource(false)
  for (let i = 0; i < 1_000_000; i++) put(`other-${i}`, NOW - (i >> 4))
  store.advance(NOW)
  const filter = filterOf(['own-*'])
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const { items, cuts } = await listed(queries, filter, 100)
  delay.disable()
  t.same([items.length, cuts], [0, 9])
  t.comment(`longest delay of the event loop: ${(delay.max / 1e6).toFixed(1)} ms`)
  const page = await filteredQueries(queries, filter).latest('f', { limit: 100 })
  t.match(page, { items: { length: 0 }, isCut: true, next: { seq: 0 } })
  t.match(await filteredQueries(queries, filter).count('f'), { count: 0, exact: false, isCut: true })

  let turns = 0
  const turning = setInterval(() => { turns++ }, 1)
  const { length } = Array.from({ length: 50 })
  await Promise.all(Array.from({ length }, () => filteredQueries(queries, filter).count('f')))
  clearInterval(turning)
  t.ok(turns > 10, `other work is done between slices: ${turns} times`)
})

t.test('empty pages of a node end at the bound, too', async (t) => {
  const queries = /** @type {any} */ ({
    latest: async () => ({ items: [], next: { ts: 1, seq: 0, id: Buffer.from('x') }, asOf: NOW, lagMs: null }),
    get: async () => ({ items: [], asOf: NOW, lagMs: null })
  })
  t.match(await filteredQueries(queries, filterOf(['a*'])).count('f'), { count: 0, isCut: true })
})

t.test('the time of another item does not show what a view has evicted', async (t) => {
  const { queries } = createSource(false)
  queries.get = async () => { throw Object.assign(new Error('nothing of 1700000000000 or before'), { code: 'VIEW_OVER_BOUND' }) }
  const error = await filteredQueries(queries, filterOf(['a'])).get('f', [Buffer.from('a')]).catch((error) => error)
  t.equal(error.code, 'VIEW_OVER_BOUND')
  t.notMatch(error.message, /17000/)
})

for (const isNode of [false, true]) {
  t.test(`a scan ends when no one waits for it${isNode ? ', in pages of a node' : ''}`, async (t) => {
    const { queries, put, asked } = createSource(isNode)
    for (let n = 0; n < 50_000; n++) put(`other-${n}`, NOW - n)
    const { scan } = queries
    // the first item takes longer than a slice, also on a fast machine
    queries.scan = (/** @type {string} */ feed, /** @type {any} */ question, /** @type {any} */ visit) => {
      let isFirst = true
      return scan(feed, question, (/** @type {any[]} */ ...item) => {
        const untilMs = performance.now() + (isFirst ? 10 : 0)
        while (performance.now() < untilMs);
        isFirst = false
        return visit(...item)
      })
    }
    let left = 1
    const { count, latest } = filteredQueries(queries, filterOf(['own-*']), () => {
      if (left-- === 0) throw new Error('gone')
    })
    await t.rejects(latest('f', { limit: 10 }), { message: 'gone' })
    left = 0
    await t.rejects(count('f'), { message: 'gone' })
    t.equal(asked.visits + asked.pages, 1)
  })
}
