/** Many clients that wait for one order: each gets its end, and the servers are asked no more than for a few. */
import t from 'tap'
import { sharedDatabase } from '../../database.js'
import { scopedEngines } from '../../scope.js'
import { connectFor, eventually, startDeployment } from '../../servers.js'
import { startOrders } from './ordering.js'

const POLLS = 1000
const AT_ONCE = 100
/** Commands at the primary while all wait, and for the rest of the order. */
const MOST_COMMANDS = 500

t.test('1,000 long polls on one order', async (t) => {
  // commands of other tests must not count
  const [engine] = await scopedEngines()
  const [database, { primary }] = await Promise.all([sharedDatabase(t), startDeployment(t, { engine })])
  const { customer, product, place, payments, reader } = await startOrders(t, { primary, databaseUrl: database.url })
  await product('lamp')
  await payments.fail({ isDown: true })
  const { id } = (await place(await customer(), [{ sku: 'lamp', quantity: 1 }])).json
  await eventually(async () => (await reader.get(`/v1/orders/${id}`)).json.step === 'held')
  /** As a client does: on a busy machine one wait may be too short. @param {string} id @returns {Promise<any>} */
  const poll = async (id) => {
    const reply = await reader.get(`/v1/orders/${id}?waitMs=30000`)
    return reply.json?.status === 'pending' ? poll(id) : reply
  }
  const control = await connectFor(t, primary.url)
  const reads = async () => Number(/cmdstat_hgetall:calls=(\d+)/.exec(String(await control.send('INFO', 'commandstats')))?.[1])
  const before = await reads()
  const polls = /** @type {Promise<any>[]} */ ([])
  // more at once than a server lets wait for its accept are reset
  for (let i = 0; i < POLLS; i++) {
    polls.push(poll(id))
    if (i % AT_ONCE === 0) await eventually(async () => (await reader.get(`/v1/orders/${id}`)).status === 200)
  }
  await payments.fail({})
  const replies = await Promise.all(polls)
  t.same([...new Set(replies.map(({ status, json }) => `${status} ${json.status}`))], ['200 confirmed'])
  const asked = await reads() - before
  t.ok(asked < MOST_COMMANDS, `${asked} reads of states`)
})
