/**
 * What a cluster does under auctions: every bid that was acknowledged is in the history, once and in its order. A bid without a decision
 * is sent again with its Idempotency-Key, as clients do. Pauses are printed, not judged.
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { admissionKey } from '../../src/admission/index.js'
import { slotOf } from '../../src/store/slots.js'
import { moveSlots, startCluster } from '../../test/cluster.js'
import { connectFor, engineName, eventually } from '../../test/servers.js'
import { scopedEngines } from '../../test/scope.js'
import { startAuctions } from '../../test/systems/auctions/auctioning.js'

t.setTimeout(900_000)
const PARTITIONS = 6
const LOTS = Array.from({ length: 12 }, (_, n) => `lot-${n}`)
const EVERY_MS = 20
const DECIDED = [200, 201, 410, 422]

/** @typedef {import('../../test/cluster.js').Cluster} Cluster */

/** Until a node is a primary with slots, as another one sees it. @param {any} admin @param {{ port: number }} node */
const untilOwner = (admin, { port }) => eventually(async () =>
  (await admin.send('CLUSTER', 'SLOTS')).some((/** @type {any[]} */ [, , [, owner]]) => owner === port))

/** @type {Record<string, (t: import('tap').Test, cluster: Cluster) => Promise<unknown>>} */
const CASES = {
  async 'a primary is killed, and comes back as a replica' (t, { primaries, replicas }) {
    const admin = await connectFor(t, replicas[1].url)
    await primaries[1].kill()
    await untilOwner(admin, replicas[1])
    await primaries[1].restart()
  },
  async 'a planned failover' (t, { primaries, replicas }) {
    const [admin, other] = await Promise.all([replicas[0], primaries[2]].map(({ url }) => connectFor(t, url)))
    await admin.send('CLUSTER', 'FAILOVER')
    await untilOwner(other, replicas[0])
  },
  async 'slots move key by key' (t, cluster) {
    const slots = Array.from({ length: PARTITIONS }, (_, partition) => slotOf(admissionKey('fr:', 'auctions', partition, PARTITIONS)('')))
    for (const [p, slot] of slots.entries()) await moveSlots(t, cluster, { slots: [slot], to: p % 3, isAtomic: false })
  }
}

/**
 * Bids on one lot, one after another.
 * @param {any} bid @param {string} lot @param {AbortSignal} signal
 */
async function bidOn (bid, lot, signal) {
  /** @type {string[]} */
  const acknowledged = []
  let longestMs = 0
  let again = 0
  for (let amount = 10; !signal.aborted; amount++) {
    const sinceMs = performance.now()
    for (;;) {
      const { status } = await bid(lot, `user-${amount}`, amount, { key: `${lot}-${amount}` }).catch(() => ({ status: 0 }))
      if (status === 201) acknowledged.push(`${amount}.00`)
      if (DECIDED.includes(status)) break
      again++
      await pause(EVERY_MS)
    }
    longestMs = Math.max(longestMs, performance.now() - sinceMs)
    await pause(EVERY_MS)
  }
  return { lot, acknowledged, longestMs, again }
}

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    for (const [title, act] of Object.entries(CASES)) {
      await t.test(title, async (t) => {
        const cluster = await startCluster(t, { engine })
        const { gateway: { create, bid }, auction } = await startAuctions(t, { primary: { url: cluster.url }, partitions: PARTITIONS })
        await Promise.all(LOTS.map((lot) => create(lot)))
        const stop = new AbortController()
        const bidding = LOTS.map((lot) => bidOn(bid, lot, stop.signal))
        await pause(500)
        await act(t, cluster)
        await pause(1000)
        stop.abort()
        const all = await Promise.all(bidding)
        t.comment(`longest wait for a decision ${Math.round(Math.max(...all.map(({ longestMs }) => longestMs)))} ms; ` +
          `sent again ${all.reduce((sum, { again }) => sum + again, 0)} times`)
        for (const { lot, acknowledged } of all) {
          await eventually(async () => (await auction(lot, `?minSeq=${acknowledged.length}`)).seq >= acknowledged.length)
          const bids = await historyOf(auction, lot)
          t.same(bids, acknowledged, `${lot}: ${acknowledged.length} bids, none lost, none twice`)
        }
      })
    }
  })
}

/** Amounts in the order of their numbers. @param {any} auction @param {string} lot */
async function historyOf (auction, lot) {
  /** @type {string[]} */
  const amounts = []
  for (let next = ''; next !== null;) {
    const page = await auction(lot, `/bids?limit=100${next && `&after=${next}`}`)
    amounts.push(...page.items.map((/** @type {any} */ { amount }) => amount))
    next = page.next
  }
  return amounts.reverse()
}
