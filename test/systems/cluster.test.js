/** Systems over a cluster: their partitions are on all primaries. */
import t from 'tap'
import { startCluster } from '../cluster.js'
import { engineName, eventually } from '../servers.js'
import { scopedEngines } from '../scope.js'
import { startAuctions, termsOf } from './auctions/auctioning.js'

t.setTimeout(300_000)

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const { url } = await startCluster(t, { engine })

    await t.test('auctions: commands, queries and tasks', async (t) => {
      const { gateway: { create, bid, close }, auction } = await startAuctions(t, { primary: { url }, partitions: 8 })
      const ids = Array.from({ length: 24 }, (_, n) => `lot-${n}`)
      t.same(new Set(await Promise.all(ids.map(async (id) => (await create(id)).status))), new Set([201]))
      t.same(new Set(await Promise.all(ids.map(async (id) => (await bid(id, 'ann', 10)).status))), new Set([201]))
      for (const id of ids) t.match(await auction(id, '?minSeq=1'), { id, currentBid: '10.00' }, id)
      t.match(await close('lot-0'), { status: 200, json: { code: 'closed' } })

      const short = ids.map((id) => `short-${id}`)
      await Promise.all(short.map((id) => eventually(async () =>
        (await create(id, termsOf({ closeAt: Date.now() + 2000 }))).status === 201)))
      await eventually(async () => (await Promise.all(short.map((id) => auction(id)))).every(({ status }) => status === 'closed'))
    })
  })
}
