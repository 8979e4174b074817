/** What a primary is asked without orders: a few commands a second, however many partitions there are. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { sharedDatabase } from '../../../test/database.js'
import { scopedEngines } from '../../../test/scope.js'
import { connectFor, startDeployment } from '../../../test/servers.js'
import { startOrders } from '../../../test/systems/orders/ordering.js'

const MOST_PER_SECOND = 60
/** Servers count as used for so long after a request. */
const USED_FOR_MS = 12_000
const SECONDS = 10

t.test('orders at rest', async (t) => {
  const [engine] = await scopedEngines()
  const [database, { primary }] = await Promise.all([sharedDatabase(t), startDeployment(t, { engine })])
  const { customer, product, order } = await startOrders(t, { primary, databaseUrl: database.url })
  await product('lamp')
  t.match(await order(await customer(), [{ sku: 'lamp', quantity: 1 }]), { status: 'confirmed' })
  await sleep(USED_FOR_MS)
  const control = await connectFor(t, primary.url)
  const counts = async () => Object.fromEntries([...String(await control.send('INFO', 'commandstats'))
    .matchAll(/cmdstat_(\S+):calls=(\d+)/g)].map(([, name, calls]) => [name, Number(calls)]))
  const before = await counts()
  await sleep(SECONDS * 1000)
  const after = await counts()
  const rates = Object.entries(after).map(([name, calls]) => /** @type {const} */ ([name, (calls - (before[name] ?? 0)) / SECONDS]))
    .filter(([, rate]) => rate > 0).sort(([, a], [, b]) => b - a)
  const sum = rates.reduce((all, [, rate]) => all + rate, 0)
  t.ok(sum <= MOST_PER_SECOND, `${sum.toFixed(1)} commands a second: ${rates.map(([name, rate]) => `${name} ${rate}`).join(', ')}`)
})
