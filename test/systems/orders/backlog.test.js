/** Orders without consumers: events wait for them, up to a bound. */
import t from 'tap'
import { sharedDatabase } from '../../database.js'
import { isProblem } from '../../gateway/requests.js'
import { connectFor, eventually } from '../../servers.js'
import { startConsumers, startGateway, startReader } from '../../services.js'
import { sharedDeployment } from '../../shared.js'
import { orderCommands, startPayments } from './ordering.js'

const MAX_OUTBOX = 1000
const FLAGS = ['--system-partitions', '1', '--request-ms', '1000']

t.test('orders without consumers', async (t) => {
  const database = await sharedDatabase(t)
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const outbox = `${keyPrefix}{@orders:0}:outbox`
  const connection = await connectFor(t, redisUrl)
  const gateway = await startGateway(t, { redisUrl, keyPrefix, flags: [...FLAGS, '--max-outbox', String(MAX_OUTBOX)] })
  const { post, product, customer, place } = orderCommands(gateway.send)
  const length = async () => Number(await connection.send('XLEN', outbox))
  const ann = await customer()
  await product('lamp')
  let units = 10
  async function replenish () {
    const replies = await Promise.all(Array.from({ length: 100 }, () => post('/v1/products/lamp/restock', { quantity: 1 })))
    units += replies.filter(({ status }) => status === 200).length
    return replies
  }

  await t.test('a full outbox refuses commands, and loses nothing however old it is', async (t) => {
    for (let full = false; !full;) full = (await replenish()).some(({ status }) => status === 503)
    isProblem(t, await place(ann, [{ sku: 'lamp', quantity: 1 }]), 503, 'ADMISSION_BACKLOG')
    t.ok(await length() > MAX_OUTBOX)
    // longer than --request-ms
    await new Promise((resolve) => setTimeout(resolve, 1500))
    isProblem(t, await place(ann, [{ sku: 'lamp', quantity: 1 }]), 503, 'ADMISSION_BACKLOG')
    t.equal(String((await connection.send('XRANGE', outbox, '-', '+', 'COUNT', 1))[0][1][3]), `c:${ann}`)
  })

  await t.test('consumers read all of it, and commands are accepted again', async (t) => {
    const payments = await startPayments(t)
    const flags = [...FLAGS, '--database-url', database.url]
    await startConsumers(t, { redisUrl, keyPrefix, flags: [...flags, '--systems', 'orders', '--payment-url', payments.url] })
    const reader = await startReader(t, { redisUrl, keyPrefix, flags: ['--database-url', database.url] })
    const { id: orderId } = (await eventually(async () => {
      const reply = await place(ann, [{ sku: 'lamp', quantity: 1 }])
      return reply.status === 201 && reply
    })).json
    await eventually(async () => (await reader.get(`/v1/orders/${orderId}?waitMs=5000`)).json.status === 'confirmed')
    t.same((await replenish()).map(({ status }) => status), Array(100).fill(200))
    await eventually(async () => {
      const [stock] = await database.query("SELECT available, sold FROM stock_view WHERE aggregate = 'p:lamp'")
      return Number(stock?.sold) === 1 && Number(stock.available) === units - 1
    })
    const events = await database.query('SELECT version FROM events WHERE aggregate = $1 ORDER BY version', ['p:lamp'])
    t.same(events.map(({ version }) => Number(version)), events.map((_, i) => i), 'no event is missing')
  })
})
