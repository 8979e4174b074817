/**
 * The paging promise: every version that is live and newest from the first page to the last is returned exactly once.
 */
import t from 'tap'
import fc from 'fast-check'
import { createSequence } from '../../src/item/order.js'
import { holds } from '../properties.js'
import { nightly } from '../scope.js'
import { connectFor } from '../servers.js'
import { createModel, expectSame, shown } from './model.js'
import { UNLIMITED, gone, item, overAllArms } from './partition.js'

const NOW = 1_750_000_000_000
/** so that a slow reader is not led deeper than a walk may go */
const MOST_BATCHES = 300

await overAllArms(t, async (t, { layout, guarantees, server, open, fullTest, runs }) => {
  await t.test('pages of every size give every item once, in order', async (t) => {
    const partition = open()
    const items = Array.from({ length: 60 }, (_, i) => item(`id-${i * 7 % 60}`, NOW - i % 9, i % 4))
    const model = createModel('overwrite', guarantees)
    model.append(items)
    await partition.append(items)
    for (const limit of nightly(Array.from({ length: 61 }, (_, n) => n + 1), [1, 2, 7, 59, 60, 61])) {
      t.same((await partition.scan({ ...UNLIMITED, limit })).map(shown), model.live(UNLIMITED).map(shown), `limit ${limit}`)
    }
  })

  await fullTest('10,000 items of one ts, seq saturated, come once each', async (t) => {
    const partition = open()
    const next = createSequence()
    const items = Array.from({ length: 10_000 }, (_, i) => item(`id-${i * 7919 % 10_000}`, NOW, next(NOW), String(i)))
    const model = createModel('overwrite', guarantees)
    model.append(items)
    const wanted = model.live(UNLIMITED).map(shown)
    await partition.append(items)
    t.equal(items.filter(({ seq }) => seq === 4095).length, 10_000 - 4095)
    t.equal((await partition.count(UNLIMITED)).count, 10_000)
    for (const limit of [997, guarantees.maxPage]) {
      const found = (await partition.scan({ ...UNLIMITED, limit })).map(shown)
      t.equal(found.length, 10_000)
      t.ok(found.every((one, i) => one === wanted[i]), `in order, limit ${limit}`)
    }
  })

  await fullTest('a page has at most maxPage items, and then a next one', async (t) => {
    const partition = open()
    await partition.append(Array.from({ length: guarantees.maxPage + 1 }, (_, i) => item(`id-${i}`, NOW - i)))
    const page = await partition.latest({ ...UNLIMITED, limit: 1_000_000 })
    t.equal(page.items.length, guarantees.maxPage)
    t.equal(page.next?.ts, NOW - guarantees.maxPage + 1)
  })

  /** @type {[string, number, string, number, string][]} what moves, on which page it is found, where to, its new ts, the walk */
  const moves = [
    ['b', 1, 'above all', NOW + 5, 'bacdef'],
    ['b', 1, 'up inside the page', NOW - 5, 'abcdef'],
    ['b', 1, 'to a later page', NOW - 25, 'acbdef'],
    ['d', 2, 'to an earlier page', NOW - 5, 'abcef'],
    ['d', 2, 'up inside the page', NOW - 15, 'abdcef'],
    ['c', 2, 'down inside the page', NOW - 25, 'abcdef'],
    ['d', 2, 'to a later page', NOW - 45, 'abcedf']
  ]
  for (const [id, onPage, where, ts, wanted] of layout.name === 'ids' ? moves : []) {
    await t.test(`an item that moves ${where} while page ${onPage} is being read is on one page, or has left the later ones`, async (t) => {
      const partition = open({ late: 'overwrite' })
      await partition.append([...'abcdef'].map((one, i) => item(one, NOW - 10 * i)))
      let pages = 0
      const meddling = partition.meddling('MGET', async () => {
        if (++pages === onPage) await partition.append([item(id, ts)])
      })
      const found = await open({ feed: partition.feed, connection: meddling }).scan({ ...UNLIMITED, limit: 2 })
      t.equal(found.map((one) => String(one.id)).join(''), wanted)
    })
  }

  const anyUpdate = fc.record({
    id: fc.integer({ min: 0, max: 50 }),
    ts: fc.integer({ min: NOW - 60, max: NOW + 20 }),
    seq: fc.constantFrom(0, 1, 4095),
    deleted: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) })
  })
  const anyWalk = fc.record({
    retention: fc.record({ windowMs: fc.constantFrom(0, 50), maxItems: fc.constantFrom(0, 30) }),
    late: fc.constantFrom(/** @type {const} */ ('overwrite'), /** @type {const} */ ('newest')),
    limit: fc.integer({ min: 1, max: 12 }),
    first: fc.array(anyUpdate, { minLength: 1, maxLength: 50 }),
    updates: fc.array(fc.array(anyUpdate, { maxLength: 8 }), { maxLength: 8 })
  })

  for (const newScan of [false, true]) {
    await t.test('a page is what the model says then, and what stays live and newest comes once, although items are updated between the ' +
      `pages${newScan ? ', each with a new scan' : ''}`, (t) =>
      holds(t, fc.asyncProperty(anyWalk, async ({ retention, late, limit, first, ...rest }) => {
        const updates = [...rest.updates]
        const { partition, model, append } = opened(late)
        const now = { retention, nowMs: NOW }
        await append(first)
        let steady = model.live(now).map(shown)
        const found = (await partition.scan({ ...now, limit }, async ({ items, after, next }) => {
          expectSame('page', items.map(shown), model.latest({ ...now, limit, after }).map(shown))
          if (!next) return
          await append(updates.shift() ?? [])
          const live = new Set(model.live(now).map(shown))
          steady = steady.filter((version) => live.has(version))
        }, { newScan })).map(shown)
        expectOnce(found, steady)
      }), { runs: runs(60) }))
  }

  await t.test('the same while items are updated in the middle of pages', (t) =>
    holds(t, fc.asyncProperty(anyWalk, async ({ retention, late, limit, first, ...rest }) => {
      const updates = [...rest.updates]
      const { partition, model, append } = opened(late)
      const now = { retention, nowMs: NOW }
      await append(first)
      let steady = model.live(now).map(shown)
      // an item that arrives in the middle of a page, beyond maxItems, may be on it
      const newest = () => [now, { ...now, retention: { ...retention, maxItems: 0 } }].flatMap((one) => model.live(one).map(shown))
      let meanwhile = new Set(newest())
      const meddling = partition.meddling('*', async () => {
        await append(updates.shift() ?? [])
        const live = new Set(model.live(now).map(shown))
        steady = steady.filter((version) => live.has(version))
        for (const version of newest()) meanwhile.add(version)
      })
      const found = await open({ feed: partition.feed, connection: meddling }).scan({ ...now, limit }, ({ items }) => {
        for (const version of items.map(shown)) if (!meanwhile.has(version)) throw new Error(`${version} was not the newest of its id`)
        meanwhile = new Set(newest())
      })
      expectOnce(found.map(shown), steady)
      // where what arrived last is kept, an older version that came late may outlive the newer one, and follow it
      const mayFollow = guarantees.counted === 'by arrival' && retention.maxItems > 0
      if (guarantees.late === 'newest' && !mayFollow) expectOnce(found.map(({ id }) => String(id)), [])
    }), { runs: runs(60) }))

  await fullTest('the same while another connection writes without pause', async (t) => {
    const other = await connectFor(t, server.url)
    const partition = open()
    const reading = open({ feed: partition.feed, connection: other })
    await partition.append(Array.from({ length: 400 }, (_, i) => item(`${i % 2 ? 'still' : 'moving'}-${i}`, NOW - i)))
    const progress = { done: false }
    let batches = 0
    const writing = (async () => {
      for (; !progress.done && batches < MOST_BATCHES; batches++) {
        await partition.append(Array.from({ length: 20 }, (_, i) =>
          item(`moving-${(batches * 26 + i * 2) % 400}`, NOW - (batches * 31 + i * 17) % 500, batches % 4096, String(batches))))
      }
    })()
    const found = (await reading.scan({ ...UNLIMITED, limit: 3 })).map(shown)
    progress.done = true
    await writing
    t.ok(batches > 10, `${batches} batches written during the scan`)
    t.equal(new Set(found).size, found.length, `no version twice in ${layout.name}`)
    t.equal(found.filter((version) => version.includes('"still-')).length, 200)
  })

  /** @param {'newest' | 'overwrite'} late */
  function opened (late) {
    const partition = open({ late })
    const model = createModel(late, guarantees)
    let serial = 0
    return {
      partition,
      model,
      async append (/** @type {{ id: number, ts: number, seq: number, deleted: boolean }[]} */ changes) {
        if (changes.length === 0) return
        const items = changes.map(({ id, ts, seq, deleted }) =>
          deleted ? gone(`id-${id}`, ts, seq) : item(`id-${id}`, ts, seq, String(++serial)))
        model.append(items)
        await partition.append(items)
      }
    }
  }
})

/** @param {string[]} found @param {string[]} wanted */
function expectOnce (found, wanted) {
  const twice = found.filter((one, i) => found.indexOf(one) !== i)
  const missed = wanted.filter((one) => !found.includes(one))
  if (twice.length + missed.length) throw new Error(`twice: ${twice}; missed: ${missed}`)
}
