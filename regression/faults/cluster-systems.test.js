/** What a cluster does under auctions (bidding.js): failovers, slots that move, an owner of partitions that stands still. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { failOver, healed, moveSlots, replacePrimary, slotsOf, startCluster } from '../../test/cluster.js'
import { engineName, eventually } from '../../test/servers.js'
import { nightEngines, nightly } from '../../test/scope.js'
import { startAuctions, termsOf } from '../../test/systems/auctions/auctioning.js'
import { startBidding } from '../../test/systems/auctions/bidding.js'
import { startKillableConsumers } from '../../test/systems/killable-consumers.js'

t.setTimeout(nightly(3_600_000, 600_000))
const PARTITIONS = 6
const LOTS = 12
/** between bids on a lot: 600 bids a second at night, 60 by day */
const BID_EVERY_MS = nightly(20, 200)
/** several leases of the owner that stands still */
const STILL_MS = 3000

/** @typedef {import('../../test/cluster.js').Cluster} Cluster */

/** @type {Record<string, (t: import('tap').Test, cluster: Cluster) => Promise<unknown>>} */
const CASES = {
  'a primary is killed, and comes back as a replica': (t, cluster) => replacePrimary(t, cluster, { shard: 1 }),
  'a planned failover': (t, cluster) => failOver(t, cluster, 0),
  async 'slots move key by key' (t, cluster) {
    const slots = await slotsOf(t, cluster, 'fr:{@auctions*')
    for (const [n, slot] of slots.entries()) await moveSlots(t, cluster, { slots: [slot], to: n % 3, isAtomic: false })
  }
}

for (const engine of await nightEngines()) {
  t.test(engineName(engine), async (t) => {
    const started = await startCluster(t, { engine })
    const auctions = await startAuctions(t, {
      primary: { url: started.url }, partitions: PARTITIONS, gatewayFlags: ['--durability', 'replica']
    })
    let lots = 0
    for (const [title, act] of Object.entries(CASES)) {
      for (let n = 0; n < nightly(10, 1); n++) {
        await t.test(title, async (t) => {
          const cluster = await healed(started)
          const bidding = await startBidding(auctions, Array.from({ length: LOTS }, () => `lot-${lots++}`),
            { everyMs: BID_EVERY_MS })
          await pause(500)
          await act(t, cluster)
          await pause(1000)
          await bidding.end(t)
        })
      }
    }

    await t.test('an owner of partitions that stood still is fenced: tasks of others run once', async (t) => {
      const place = { redisUrl: (await healed(started)).url, keyPrefix: 'still:' }
      const flags = ['--system-partitions', `${PARTITIONS}`, '--systems', 'auctions']
      const older = await startKillableConsumers(t, { ...place, flags })
      const { gateway: { create }, auction } = await startAuctions(t, {
        primary: { url: place.redisUrl }, keyPrefix: place.keyPrefix, partitions: PARTITIONS
      })
      const ids = Array.from({ length: LOTS }, (_, n) => `still-${n}`)
      const closing = (/** @type {string} */ round) => Promise.all(ids.map(async (id) => {
        await eventually(async () => (await create(`${id}-${round}`, termsOf({ closeAt: Date.now() + 2000 }))).status < 300)
        return eventually(async () => {
          const { status, seq } = await auction(`${id}-${round}`)
          return status === 'closed' && { id: `${id}-${round}`, seq }
        })
      }))
      older.freeze()
      const closed = await closing('frozen')
      await pause(STILL_MS)
      older.thaw()
      await closing('thawed')
      for (const { id, seq } of closed) t.match(await auction(id), { status: 'closed', seq }, id)
    })
  })
}
