/** Systems over a cluster: their partitions are on all primaries. Failovers: regression/faults. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { admissionKey } from '../../src/admission/index.js'
import { newest } from '../../src/embedded/engine.js'
import { slotOf } from '../../src/store/slots.js'
import { endOfMain } from '../../test/bin/in-process.js'
import { moveSlots, startCluster } from '../../test/cluster.js'
import { sharedDatabase } from '../../test/database.js'
import { engineName, eventually } from '../../test/servers.js'
import { isNight, scopedEngines } from '../../test/scope.js'
import { startAuctions, termsOf } from '../../test/systems/auctions/auctioning.js'
import { startOrders } from '../../test/systems/orders/ordering.js'
import { startPrices } from '../../test/systems/prices/pricing.js'
import { startSales } from '../../test/systems/sales/selling.js'

t.setTimeout(300_000)
const PARTITIONS = 6
/** between bids while slots move */
const PAUSE_MS = 30
const NAMES = Array.from({ length: 12 }, (_, n) => `n${n}`)

/** @param {any[]} replies */
const statuses = (replies) => [...new Set(replies.map(({ status }) => status))]
/** @template T @param {(name: string) => Promise<T>} run */
const each = (run) => Promise.all(NAMES.map(run))

const engines = await scopedEngines()
for (const engine of engines) {
  t.test(engineName(engine), async (t) => {
    const cluster = await startCluster(t, { engine })
    const { url } = cluster

    await t.test('auctions: commands, queries and tasks, also while slots move', async (t) => {
      const { gateway: { create, bid, close }, auction } = await startAuctions(t, { primary: { url }, partitions: PARTITIONS })
      t.same(statuses(await each((id) => create(id))), [201])
      t.same(statuses(await each((id) => bid(id, 'ann', 10))), [201])
      for (const id of NAMES) t.match(await auction(id, '?minSeq=1'), { id, currentBid: '10.00' }, id)
      t.match(await close('n0'), { status: 200, json: { code: 'closed' } })

      const slots = [0, 1].map((partition) => slotOf(admissionKey('fr:', 'auctions', partition, PARTITIONS)('')))
      const over = new AbortController()
      const moving = moveSlots(t, cluster, { slots, to: 2, isAtomic: engine.name === 'valkey' }).finally(() => over.abort())
      let amount = 10
      /** @type {any[]} */
      const unexpected = []
      while (!over.signal.aborted) {
        amount += 2
        const replies = await each((id) => bid(id, `u${amount}`, amount, { key: `${id}-${amount}` }))
        unexpected.push(...replies.slice(1).filter(({ status }) => status !== 201))
        await sleep(PAUSE_MS)
      }
      await moving
      t.same(unexpected, [], 'slots that move are no errors')
      for (const id of NAMES.slice(1)) t.match(await auction(id, `?minSeq=${amount / 2 - 4}`), { currentBid: `${amount}.00` }, id)

      await each((id) => eventually(async () =>
        (await create(`short-${id}`, termsOf({ closeAt: Date.now() + 2000 }))).status === 201))
      await eventually(async () => (await each((id) => auction(`short-${id}`))).every(({ status }) => status === 'closed'))
    })

    // how a cluster of the other engine routes and moves keys has been seen; the rest is the same on both
    if (!isNight && engine !== newest(engines)) return
    await t.test('sales', async (t) => {
      const { gateway: { create, claim, confirm }, sale } = await startSales(t, { primary: { url } })
      t.same(statuses(await each((id) => create(id))), [201])
      const claims = await each((id) => claim(id, 'ann'))
      t.same(statuses(claims), [201])
      t.same(statuses(await each((id) => confirm(id, claims[NAMES.indexOf(id)].json.claimId, 'ann'))), [200])
      for (const id of NAMES) t.match(await sale(id, '?minSeq=2'), { sold: 1 }, id)
    })

    await t.test('orders, and dead letters', async (t) => {
      const { url: databaseUrl } = await sharedDatabase(t)
      const { product, customer, place, final } = await startOrders(t, { primary: { url, port: cluster.nodes[0].port }, databaseUrl })
      const ann = await customer()
      t.same(statuses(await each((sku) => product(sku))), [201])
      const placed = await each((sku) => place(ann, [{ sku, quantity: 1 }]))
      t.same(statuses(placed), [201])
      for (const { json: { id: orderId } } of placed) t.match(await final(orderId), { status: 'confirmed' })
      const listed = await endOfMain(['dead-letters', 'list', '--system', 'orders', '--redis-url', url])
      t.match(listed, { code: 0, stdout: '' })
    })

    await t.test('prices', async (t) => {
      const { gateway: { asset }, reader } = await startPrices(t, { primary: { url } })
      t.same(statuses(await each((id) => asset(id))), [201])
      await each((id) => eventually(async () => (await reader.get(`/v1/prices/${id}`)).json.price !== undefined))
    })

    await t.test('doctor', async (t) => {
      const { code, stdout } = await endOfMain(['doctor', '--redis-url', url])
      t.equal(code, 0)
      for (const role of ['primary', 'replica']) t.equal(stdout.match(new RegExp(`, ${role}`, 'g'))?.length, 3, role)
    })
  })
}
