/**
 * Changes of layouts that keep a log: every version, once, in order, whatever happens to connections and nodes.
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { agree } from '../../src/feeds/definitions.js'
import { definitionKey, onlyKey } from '../../src/feeds/keys.js'
import { openReader } from '../../src/index.js'
import { partitionOf } from '../../src/item/id.js'
import { layoutNames, layoutOf } from '../../src/layouts/index.js'
import { connectFor, engineName, eventually, startDeployment } from '../servers.js'
import { begun, logged, openLog, spelt, take } from './changes.js'
import { scopedEngines } from '../scope.js'

const KILLS = 20
const LOGS = layoutNames().filter((name) => layoutOf(name).log)

t.jobs = 2
t.setTimeout(240_000)
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const { primary, replicas } = await startDeployment(t, { engine })
  const admin = await connectFor(t, primary.url)

  for (const layout of LOGS) {
    await t.test(`${layout}: every version, deletions included, comes once and in order while connections and nodes are ` +
      'killed', async (t) => {
      const partitions = 3
      const feed = await openLog(t, primary, { layout, partitions, batchItems: 40 })
      await agree(admin, 'fr:', feed.definition)
      const nodes = await Promise.all(replicas.map(({ url }) => connectFor(t, url)))
      const reader = await openReader({ redisUrl: primary.url, views: 'none' })
      t.teardown(() => reader.close())
      for (const node of nodes) await eventually(() => node.send('EXISTS', definitionKey('fr:', feed.name)))
      const { changes, stop } = await begun(feed, reader.feed(feed.name))
      /** @type {string[][]} */
      const seen = Array.from({ length: partitions }, () => [])
      let count = 0
      const watching = (async () => {
        for await (const change of changes) {
          seen[partitionOf(Buffer.from(change.id), partitions)].push(spelt(change))
          count++
        }
      })()
      let written = 0
      const run = { isOver: false }
      const writing = (async () => {
        while (!run.isOver) {
          for (let i = 0; i < 60; i++, written++) {
            if (written % 17 === 0) feed.delete({ id: `id-${written % 50}` })
            // late ones are versions like all others
            else feed.append({ id: `id-${written % 50}`, ts: Date.now() - (written % 5) * 1000, value: String(written) })
          }
          await pause(5)
        }
      })()
      for (let kills = 0; kills < KILLS; kills++) {
        await pause(20 + Math.random() * 60)
        await nodes[kills % 2].send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      }
      run.isOver = true
      await writing
      await feed.flush()
      await eventually(() => count === written)
      stop()
      await watching
      for (let partition = 0; partition < partitions; partition++) {
        const all = await logged(admin, feed.name, layout, partition)
        t.same(seen[partition], all.slice(-seen[partition].length), `partition ${partition}, after ${KILLS} kills`)
      }
    })

    await t.test(`${layout}: a batch sent twice counts once, before and after a position; unreadable entries are skipped`, async (t) => {
      const feed = await openLog(t, primary, { layout, readFrom: 'primary', batchItems: 4 })
      const { changes } = await begun(feed)
      const name = onlyKey('fr:', feed.name)(String(layoutOf(layout).log?.part))
      const field = String(layoutOf(layout).log?.field)
      for (let i = 0; i < 4; i++) feed.append({ id: `a${i}`, value: 'x' })
      await feed.flush()
      const again = async () => {
        for (const [, [, bytes]] of await admin.send('XRANGE', name, '-', '+')) await admin.send('XADD', name, '*', field, bytes)
      }
      await again()
      await admin.send('XADD', name, '*', field, 'nonsense')
      feed.append({ id: 'b', value: 'x' })
      await feed.flush()
      const taken = await take(changes, 5)
      t.same(taken.map(({ id }) => id), ['a0', 'a1', 'a2', 'a3', 'b'])
      await changes.return(undefined)
      await again()
      feed.append({ id: 'c', value: 'x' })
      await feed.flush()
      const later = feed.subscribe({ from: taken[4].position, pollMs: 5 })
      t.equal((await take(later, 1))[0].id, 'c')
      await later.return(undefined)
    })

    await t.test(`${layout}: a subscription resumes behind any change, also within a batch and with several partitions`, async (t) => {
      const feed = await openLog(t, primary, { layout, readFrom: 'primary', partitions: 2 })
      const { changes, position: beginning } = await begun(feed)
      for (let batch = 0; batch < 3; batch++) {
        for (let i = 0; i < 6; i++) feed.append({ id: `${batch}-${i}`, value: 'x' })
        await feed.flush()
      }
      const taken = await take(changes, 18)
      await changes.return(undefined)
      const ids = taken.map(({ id }) => id)
      t.same(ids.toSorted(), Array.from({ length: 18 }, (_, i) => `${Math.floor(i / 6)}-${i % 6}`))
      for (const [n, from] of [beginning, ...taken.slice(0, -1).map(({ position }) => position)].entries()) {
        const rest = feed.subscribe({ from, pollMs: 5 })
        t.same((await take(rest, 18 - n)).map(({ id }) => id).toSorted(), ids.slice(n).toSorted())
        await rest.return(undefined)
      }
      const nothing = feed.subscribe({ from: taken[17].position, pollMs: 5 })
      const next = nothing.next()
      t.equal(await Promise.race([next, pause(100, 'nothing')]), 'nothing')
      feed.append({ id: 'more', value: 'x' })
      t.equal(/** @type {any} */ ((await next).value).id, 'more')
      await nothing.return(undefined)
    })
  }

  await t.test('after a replica is killed, another one answers', async (t) => {
    const mine = await startDeployment(t, { engine })
    const feed = await openLog(t, mine.primary, { layout: 'segments' })
    const connection = await connectFor(t, mine.primary.url)
    const { changes, stop } = await begun(feed)
    /** @type {string[]} */
    const seen = []
    const watching = (async () => { for await (const change of changes) seen.push(spelt(change)) })()
    let written = 0
    for (let round = 0; round < 30; round++) {
      for (let i = 0; i < 20; i++) feed.append({ id: `id-${i}`, value: String(written++) })
      if (round === 10) await mine.replicas[0].kill()
      if (round === 20) {
        await mine.replicas[0].restart()
        await mine.replicas[1].kill()
      }
      await pause(20)
    }
    await feed.flush()
    await eventually(() => seen.length === written)
    stop()
    await watching
    t.same(seen, (await logged(connection, feed.name, 'segments', 0)).slice(-written))
  })
})
