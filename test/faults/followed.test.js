/**
 * What followers of every layout get while connections are killed, a reply is lost, the primary fails over, and a slot of a cluster moves:
 * each acknowledged version and deletion, late ones and those of batches that were sent again included, without a reset.
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { layoutNames } from '../../src/layouts/index.js'
import { slotOf, SLOTS } from '../../src/store/slots.js'
import { moveSlots, startCluster } from '../cluster.js'
import { startProxy } from '../proxy.js'
import { scopedEngines, wholeTest } from '../scope.js'
import { connectFor, engineName, eventually, inSync, startDeployment } from '../servers.js'
import { followAll } from './follow-all.js'

const KILLS = 5
const PATIENT = { deadlineMs: 60_000 }

t.setTimeout(240_000)
const cases = (await scopedEngines()).flatMap((engine) => layoutNames().map((layout) => ({ engine, layout })))
for (const { engine, layout } of cases) {
  t.test(`${engineName(engine)}, ${layout}: 0 missing, 0 resets`, async (t) => {
    const { primary, replicas: [other, promoted] } = await startDeployment(t, { engine })
    const proxy = await startProxy(t, primary.port)
    const feed = await openFeed('followed', { redisUrl: proxy.url, layout, ack: 'replica', deadlineMs: 10_000, windowMs: 600_000 })
    t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
    feed.append({ id: 'old', value: 'x' })
    await feed.flush(PATIENT)
    const followed = await followAll(t, { name: 'followed', feed, redisUrl: proxy.url })

    for (let kill = 0; kill < KILLS; kill++) {
      for (const { url } of [primary, other, promoted]) {
        await (await connectFor(t, url)).send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes').catch(() => {})
      }
      await pause(200)
    }
    // replies are lost to what was executed, until a batch was
    const { retried } = feed.account
    await eventually(() => {
      proxy.resetClients()
      return feed.account.retried > retried
    }, { everyMs: 100 })
    const [control, follower] = [await connectFor(t, promoted.url), await connectFor(t, other.url)]
    await primary.kill()
    await control.send('REPLICAOF', 'NO', 'ONE')
    await follower.send('REPLICAOF', '127.0.0.1', promoted.port)
    await inSync(other)
    proxy.switchTo(promoted.port)
    await followed.until(200)
    await followed.settle()
  })
}

for (const engine of await scopedEngines()) {
  wholeTest(`${engineName(engine)}: slots of a cluster move: 0 missing, 0 resets`, async (/** @type {import('tap').Test} */ t) => {
    const cluster = await startCluster(t, { engine, primaries: 2, replicas: 0 })
    for (const layout of layoutNames()) {
      await t.test(layout, async (t) => {
        const name = `moved-${layout}`
        const feed = await openFeed(name, { redisUrl: cluster.url, layout, deadlineMs: 10_000, windowMs: 600_000 })
        t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
        feed.append({ id: 'old', value: 'x' })
        await feed.flush(PATIENT)
        const followed = await followAll(t, { name, feed, redisUrl: cluster.url, readFrom: 'primary' })
        const slot = slotOf(`{${name}:0}`)
        const from = slot < SLOTS / 2 ? 0 : 1
        // there, and back
        for (const to of [1 - from, from]) {
          await moveSlots(t, cluster, { slots: [slot], to, isAtomic: false })
          await followed.until(100)
        }
        await followed.settle()
      })
    }
  })
}
