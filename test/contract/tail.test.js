/**
 * What `tail` returns: every change once, oldest first; a follower that keeps the newest version of each id
 * ends with what is live.
 */
import t from 'tap'
import fc from 'fast-check'
import { holds } from '../properties.js'
import { createModel, expectSame, shown } from './model.js'
import { UNLIMITED, gone, item, overAllArms } from './partition.js'

/** @typedef {import('./model.js').Item} Item */

const NOW = 1_750_000_000_000

const anyVersion = fc.record({
  id: fc.integer({ min: 0, max: 12 }).map((n) => Buffer.from(`id-${n}`)),
  ts: fc.integer({ min: NOW - 60, max: NOW }),
  seq: fc.constantFrom(0, 1, 4095),
  deleted: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) })
})
const anyHistory = fc.record({
  late: fc.constantFrom(/** @type {const} */ ('overwrite'), /** @type {const} */ ('newest')),
  retention: fc.record({ windowMs: fc.constantFrom(0, 40), maxItems: fc.constantFrom(0, 8) }),
  sinceMs: fc.constantFrom(0, NOW - 30),
  limit: fc.integer({ min: 1, max: 15 }),
  batches: fc.array(fc.array(anyVersion, { minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 6 })
})

/** @param {Item} a @param {Item} b */
const inOrder = (a, b) => a.ts - b.ts || a.seq - b.seq || Buffer.compare(a.id, b.id)

await overAllArms(t, async (t, { guarantees, open, fullTest, runs }) => {
  /** @param {import('./partition.js').Partition} partition @param {any} question */
  async function all (partition, question) {
    const items = []
    let after = /** @type {any} */ (null)
    do {
      const page = await partition.tail({ ...question, after })
      items.push(...page.items)
      after = page.next
    } while (after)
    return items
  }

  await t.test('a follower that keeps the newest version of each id ends with the live items', (t) =>
    holds(t, fc.asyncProperty(anyHistory, async ({ late, retention, sinceMs, limit, batches }) => {
      const partition = open({ late })
      const model = createModel(late, guarantees)
      const now = { retention, nowMs: NOW }
      const goesBack = guarantees.late === 'by feed' && late === 'overwrite'
      /** @type {Map<string, any>} */
      const delivered = new Map()
      const known = (/** @type {any} */ version) => {
        const last = delivered.get(String(version.id))
        if (!last) return false
        return goesBack ? inOrder(version, last) === 0 : (inOrder(version, last) || version.stamp - last.stamp || 0) <= 0
      }
      let serial = 0
      for (const batch of batches) {
        const items = batch.map((one) => ({ ...one, value: Buffer.from(one.deleted ? '' : String(++serial)) }))
        model.append(items)
        await partition.append(items)
        for (const version of await all(partition, { ...now, sinceMs, limit, known })) {
          if (known(version)) continue
          delivered.set(String(version.id), version)
        }
        const wanted = model.newest(now).filter(({ ts }) => ts >= sinceMs)
        const versionOf = (/** @type {Item} */ one) =>
          guarantees.equalInTail ? `${shown(one)} ${one.deleted ?? false}` : `${one.ts} ${one.seq}`
        for (const one of wanted) {
          if (one.deleted && !guarantees.deletionsInTail) continue
          const last = delivered.get(String(one.id))
          // the last arrival stays although it is older: a follower keeps the newer one, which was live
          if (guarantees.counted === 'by arrival' && last && inOrder(last, one) > 0) continue
          expectSame(`the newest of ${one.id}`, last && versionOf(last), versionOf(one))
        }
      }
    }), { runs: runs(60) }))

  await t.test('versions come oldest first, from since on and after a place, page by page', async (t) => {
    const partition = open()
    const items = Array.from({ length: 40 }, (_, i) => item(`id-${i * 7 % 40}`, NOW + Math.floor(i / 3), i % 3))
    await partition.append(items)
    t.same((await partition.tail({ ...UNLIMITED })).items.map(shown), items.map(shown))
    for (const limit of [1, 3, 7, 39, 40, 41]) {
      t.same((await all(partition, { ...UNLIMITED, limit, sinceMs: NOW + 5 })).map(shown), items.slice(15).map(shown), `limit ${limit}`)
      const page = await partition.tail({ ...UNLIMITED, limit, sinceMs: NOW + 5 })
      t.equal(page.items.length, Math.min(limit, 25))
    }
    t.same((await all(partition, { ...UNLIMITED, limit: 4, sinceMs: NOW + 20 })), [])
    const { id, ts, seq } = items[20]
    t.same((await partition.tail({ ...UNLIMITED, after: { id, ts, seq } })).items.map(shown), items.slice(21).map(shown))
    t.same((await partition.tail({ ...UNLIMITED, after: { id, ts, seq }, sinceMs: NOW + 10 })).items.map(shown), items.slice(30).map(shown))
    t.same((await partition.tail({ ...UNLIMITED, after: { id, ts, seq }, sinceMs: NOW + 10 })).next, null)
  })

  await t.test('only live versions are returned', async (t) => {
    const partition = open()
    const items = Array.from({ length: 20 }, (_, i) => item(`id-${i}`, NOW - 19 + i))
    await partition.append(items)
    t.same((await all(partition, { retention: { windowMs: 5, maxItems: 0 }, nowMs: NOW, limit: 4 })).map(shown), items.slice(14).map(shown))
    t.same((await all(partition, { retention: { windowMs: 0, maxItems: 3 }, nowMs: NOW, limit: 4 })).map(shown), items.slice(17).map(shown))
    await partition.append([gone('id-19', NOW + 1)])
    const after = await all(partition, { ...UNLIMITED, limit: 100, known: ({ ts }) => ts < NOW })
    t.same(after.filter(({ deleted }) => deleted).map(({ id, ts }) => `${id} ${ts}`),
      guarantees.deletionsInTail ? [`id-19 ${NOW + 1}`] : [])
    t.same(after.filter(({ deleted }) => !deleted).map(shown), guarantees.versions === 'many' ? [shown(items[19])] : [])
  })

  await fullTest('big values come in pages of bounded bytes', async (t) => {
    const partition = open()
    const items = Array.from({ length: 150 }, (_, i) => item(`id-${i}`, NOW + i, 0, Buffer.alloc(128 * 1024, i)))
    for (let from = 0; from < 150; from += 50) await partition.append(items.slice(from, from + 50))
    const pages = []
    for (let after = /** @type {any} */ (null); ;) {
      const page = await partition.tail({ ...UNLIMITED, after, limit: 1000 })
      pages.push(page.items)
      after = page.next
      if (!after) break
    }
    t.same(pages.flat().map(({ id, value }) => `${id} ${value.length} ${value[0]}`),
      items.map(({ id, value }) => `${id} ${value.length} ${value[0]}`))
    t.ok(pages.slice(1).every((page) => page.length <= 65), pages.map((page) => page.length).join(' '))
  })

  if (guarantees.versions === 'one') {
    await t.test('a version that its key does not hold any more is shown as the key has it', async (t) => {
      const partition = open()
      await partition.append([item('a', NOW), item('b', NOW + 1), item('c', NOW + 2)])
      let looked = 0
      const known = () => looked++ < 0
      const meddling = open({
        feed: partition.feed, connection: partition.meddling('MGET', () => partition.append([item('a', NOW + 9), gone('b', NOW + 8)]))
      })
      t.same((await meddling.tail({ ...UNLIMITED, known })).items.map(shown), [item('c', NOW + 2), item('a', NOW + 9)].map(shown))
    })
  }
})
