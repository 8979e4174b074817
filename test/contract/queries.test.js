/**
 * Queries to the replicas of a real deployment, over all partitions of a feed, answer as the model does.
 */
import t from 'tap'
import fc from 'fast-check'
import { agree, formatOf } from '../../src/feeds/definitions.js'
import { partitionKey } from '../../src/feeds/keys.js'
import { partitionOf } from '../../src/item/id.js'
import { layoutNames, layoutOf } from '../../src/layouts/index.js'
import { createServers } from '../../src/store/servers.js'
import { capabilities } from '../../src/store/nodes.js'
import { readScript } from '../../src/store/scripts.js'
import { createQueries } from '../../src/view/queries.js'
import { anyId, anySeq, holds } from '../properties.js'
import { connectFor, engineName, silentLog, startDeployment } from '../servers.js'
import { nightEngines, scopedEngines } from '../scope.js'
import { createModel, expectSame, shown } from './model.js'
import { addTo, item } from './partition.js'

/** @typedef {import('./model.js').Item} Item */

const NOW = 1_750_000_000_000

const anyFeed = fc.record({
  retention: fc.record({ windowMs: fc.constantFrom(0, 100), maxItems: fc.constantFrom(0, 7, 40) }),
  batches: fc.array(fc.array(fc.record({
    id: fc.oneof(anyId, fc.integer({ min: 0, max: 30 }).map((n) => Buffer.from(String(n)))),
    ts: fc.integer({ min: NOW - 150, max: NOW }),
    seq: anySeq,
    value: fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
    deleted: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) })
  }), { minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 3 }),
  limit: fc.integer({ min: 1, max: 60 }),
  sinceMs: fc.option(fc.integer({ min: NOW - 150, max: NOW }))
})

const full = (await nightEngines()).map(engineName)
for (const engine of await scopedEngines()) {
  const isFull = full.includes(engineName(engine))
  t.test(engineName(engine), async (t) => {
    const { primary, replicas } = await startDeployment(t, { engine })
    const connection = await connectFor(t, primary.url)
    const { msetex } = await capabilities(connection)
    const deployment = createServers({
      redisUrl: primary.url, replicaUrls: null, readFrom: 'replica', name: 'test', deadlineMs: 10_000, log: silentLog
    })
    t.teardown(() => deployment.close())
    await deployment.ready
    const queries = createQueries({ deployment, keyPrefix: 'fr:', now: () => NOW })
    let feeds = 0

    /** @param {string} layoutName @param {number} partitions @param {import('./model.js').Retention} retention */
    async function openFeed (layoutName, partitions, retention) {
      const layout = layoutOf(layoutName)
      const feed = `feed-${++feeds}`
      const format = formatOf({ layout: layoutName, partitions })
      await agree(connection, 'fr:', { feed, layout: layoutName, partitions, format, ...retention })
      const models = Array.from({ length: partitions }, () => createModel('overwrite', layout.describe()))
      const dialect = { msetex: msetex ?? false, sha: (/** @type {string} */ name) => readScript(name).sha }
      return {
        feed,
        live: () => merged(models.flatMap((model) => model.live({ retention, nowMs: NOW }))),
        count () {
          const counts = models.map((model) => model.count({ retention, nowMs: NOW }))
          return { count: counts.reduce((sum, one) => sum + one.count, 0), exact: counts.every(({ exact }) => exact) }
        },
        /** @param {Item[]} items */
        async append (items) {
          for (let partition = 0; partition < partitions; partition++) {
            const mine = items.filter(({ id }) => partitionOf(id, partitions) === partition)
            if (mine.length === 0) continue
            models[partition].append(mine)
            const key = partitionKey('fr:', { feed, partitions }, partition)
            const batch = layout.createBatch({ key, ttlMs: 60_000, late: 'overwrite', dialect })
            for (const one of mine) addTo(batch, one)
            await layout.append(connection, batch)
          }
          await connection.send('WAIT', replicas.length, 10_000)
        }
      }
    }

    /**
     * @param {string} feed
     * @param {{ limit: number, sinceMs: number | null, maxBytes?: number }} question
     * @param {{ newScan?: boolean }} [options]
     */
    async function scan (feed, question, { newScan = false } = {}) {
      /** @type {Item[][]} */
      const pages = []
      let after = /** @type {any} */ (null)
      let scan
      do {
        const page = await queries.latest(feed, { ...question, after, scan: newScan ? undefined : scan })
        pages.push(page.items)
        after = page.next
        scan = page.scan
      } while (after)
      return pages
    }

    for (const layoutName of layoutNames()) {
      for (const partitions of [1, 3]) {
        await t.test(`${layoutName}, ${partitions} partitions: pages, ids and count are those of the model`, (t) =>
          holds(t, fc.asyncProperty(anyFeed, async ({ retention, batches, limit, sinceMs }) => {
            const { feed, append, live, count } = await openFeed(layoutName, partitions, retention)
            for (const batch of batches) await append(batch)
            const all = live()
            const wanted = all.filter(({ ts }) => ts >= (sinceMs ?? 0)).map(shown)
            for (const newScan of [false, true]) {
              const pages = await scan(feed, { limit, sinceMs }, { newScan })
              expectSame('pages', pages.flat().map(shown), wanted)
              expectSame('full pages', pages.slice(0, -1).every((page) => page.length === limit), true)
            }
            const ids = [...batches.flat().map(({ id }) => id), Buffer.from('absent')]
            const { items } = await queries.get(feed, ids)
            expectSame('by id', items.map((one) => one && shown(one)),
              ids.map((id) => all.find((one) => one.id.equals(id)) ?? null).map((one) => one && shown(one)))
            const { count: found, exact } = await queries.count(feed)
            expectSame('count', { count: found, exact }, count())
          }), { runs: isFull ? 25 : 9 }))
      }
      // pages and their bytes do not depend on the engine
      if (!isFull) continue

      await t.test(`${layoutName}: big values come in pages of bounded bytes`, async (t) => {
        const { feed, append, live } = await openFeed(layoutName, 3, { windowMs: 0, maxItems: 0 })
        await append(Array.from({ length: 40 }, (_, i) => item(`id-${i}`, NOW - i, 0, Buffer.alloc(100_000, i))))
        const pages = await scan(feed, { limit: 1000, sinceMs: null, maxBytes: 500_000 })
        t.same(pages.flat().map(shown), live().map(shown))
        t.ok(pages.every((page) => page.length <= 5), pages.map((page) => page.length).join(' '))
      })

      await t.test(`${layoutName}: 12,000 items come out in one question`, async (t) => {
        const { feed, append, live } = await openFeed(layoutName, 3, { windowMs: 0, maxItems: 0 })
        for (let from = 0; from < 12_000; from += 1000) {
          await append(Array.from({ length: 1000 }, (_, i) => item(`id-${from + i}`, NOW - (from + i) % 500, i % 3, String(from + i))))
        }
        const page = await queries.latest(feed, { limit: 1_000_000 })
        t.equal(page.next, null)
        const wanted = live().map(shown)
        t.equal(page.items.length, 12_000)
        t.ok(page.items.every((one, i) => shown(one) === wanted[i]), 'in order')
      })
    }
  })
}

/** @param {Item[]} items newest first */
function merged (items) {
  return items.sort((a, b) => b.ts - a.ts || b.seq - a.seq || Buffer.compare(b.id, a.id))
}
