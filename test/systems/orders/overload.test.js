/** Orders while their consumers are too slow: new ones are refused, and everything about the others goes on. */
import t from 'tap'
import { admissionKey } from '../../../src/admission/index.js'
import { askLease } from '../../consumers/lease.js'
import { sharedDatabase } from '../../database.js'
import { isProblem } from '../../gateway/requests.js'
import { connectFor, eventually } from '../../servers.js'
import { startConsumers, startGateway } from '../../services.js'
import { sharedDeployment } from '../../shared.js'
import { orderCommands, startPayments } from './ordering.js'

const ONE = ['--system-partitions', '1']
const LATE_MS = 12_000
const HOUR_MS = 3_600_000
const LINES = [{ sku: 'lamp', quantity: 1 }]
const REFUSALS = /^freshet_admission_dropped_total\{system="orders",reason="backlog"\} 1$/m

t.test('a POST is refused while orders wait too long; a repeated one, a cancellation and other commands are not', async (t) => {
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const connection = await connectFor(t, redisUrl)
  const gateway = await startGateway(t, { redisUrl, keyPrefix, flags: ONE })
  const { post, product, customer, place } = orderCommands(gateway.send)
  await product('lamp')
  const ann = await customer()
  const first = await place(ann, LINES, 'first')
  t.match(first, { status: 201, json: { waitMs: null } }, 'no consumer drives orders')
  const say = (/** @type {number} */ waitMs, token = 0) =>
    askLease(connection, admissionKey(keyPrefix, 'orders', 0), { id: 'c', token, ms: HOUR_MS, waitMs })
  const token = await say(700)
  t.match(await place(ann, LINES), { status: 201, json: { status: 'pending', seq: 1, waitMs: 700 } })
  await say(LATE_MS, token)
  const refused = await place(ann, LINES, 'second')
  isProblem(t, refused, 503, 'ADMISSION_BACKLOG')
  t.match(refused.json, { retryable: true, waitMs: LATE_MS, detail: /waited for 12\.0 s/ })
  const afterS = Number(refused.headers.get('retry-after'))
  t.ok(afterS >= LATE_MS / 2000 && afterS <= 1 + LATE_MS / 1000 * 1.5, `Retry-After ${afterS}`)
  t.match(await place(ann, LINES, 'first'), { status: 201, json: { id: first.json.id, waitMs: LATE_MS } })
  t.equal((await post(`/v1/orders/${first.json.id}/cancel`, undefined)).status, 202)
  t.equal((await post('/v1/products/lamp/reserve', { reservationId: 'r', quantity: 1 })).status, 200)
  await customer()
  t.match(await (await fetch(`${gateway.url}/metrics`)).text(), REFUSALS)
  await say(0, token)
  t.match(await place(ann, LINES, 'second'), { status: 201, json: { waitMs: 0 } })
})

t.test('consumers say how long orders wait: for a provider that is slow, but not for one that is away', async (t) => {
  const database = await sharedDatabase(t)
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const gateway = await startGateway(t, { redisUrl, keyPrefix, flags: [...ONE, '--max-wait-ms', '1500'] })
  const { product, customer, place } = orderCommands(gateway.send)
  const payments = await startPayments(t)
  await startConsumers(t, {
    redisUrl,
    keyPrefix,
    flags: [...ONE, '--database-url', database.url, '--systems', 'orders', '--payment-url', payments.url, '--payment-timeout-ms', '60000']
  })
  await product('lamp', { quantity: 100_000 })
  const ann = await customer()
  const code = async () => {
    const { status, json } = await place(ann, LINES)
    return status === 201 ? 'accepted' : json.code
  }
  await payments.fail({ latencyMs: 8000 })
  t.equal(await code(), 'accepted')
  await eventually(async () => await code() === 'ADMISSION_BACKLOG')
  await payments.fail({ isDown: true })
  await eventually(async () => await code() === 'accepted')
})
