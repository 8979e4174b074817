/** Ids of customers and orders: nobody can compute them, and they outlive the servers where there is a database. */
import { hash } from 'node:crypto'
import t from 'tap'
import { startDatabase } from '../../database.js'
import { scopedEngines } from '../../scope.js'
import { eventually, startServer } from '../../servers.js'
import { startConsumers, startGateway } from '../../services.js'
import { orderCommands } from './ordering.js'

const FLAGS = ['--system-partitions', '1']
const EMAIL = 'ann@example.org'
const [engine] = await scopedEngines()
const server = await startServer(t, { engine })
const { url: redisUrl } = server
const database = await startDatabase(t)
const withDatabase = [...FLAGS, '--database-url', database.url]

/** @param {import('tap').Test} t @param {{ keyPrefix?: string, flags?: string[] }} [options] */
async function open (t, { keyPrefix, flags = FLAGS } = {}) {
  const gateway = await startGateway(t, { redisUrl, keyPrefix, flags })
  const { post, product, place } = orderCommands(gateway.send)
  /** @returns {Promise<string>} its id */
  const customer = async (email = EMAIL) => {
    const { status, json } = await post('/v1/customers', { email, name: 'Ann', address: 'Here 1' })
    if (status !== 201) throw new Error(JSON.stringify(json))
    return json.customerId
  }
  return { service: gateway.service, customer, product, place }
}

t.test('ids are the same for a repeated request, and are no hash of what a client sends', async (t) => {
  const ids = []
  for (const keyPrefix of ['a:', 'b:']) {
    const { customer, product, place } = await open(t, { keyPrefix })
    const id = await customer()
    await product('lamp')
    const lines = [{ sku: 'lamp', quantity: 1 }]
    const { orderId } = (await place(id, lines, '1')).json
    t.equal((await place(id, lines, '1')).json.orderId, orderId)
    t.not(orderId, hash('sha256', [id, '1'].join('\0'), 'base64url').slice(0, 22))
    t.not(id, hash('sha256', EMAIL, 'base64url').slice(0, 22))
    ids.push(id, orderId)
  }
  t.equal(new Set(ids).size, 4, 'another system has another secret')
})

t.test('an email is the same customer after the servers were lost', async (t) => {
  const first = await open(t)
  const id = await first.customer()
  const consumers = await startConsumers(t, { redisUrl, flags: [...withDatabase, '--systems', 'orders'] })
  await eventually(async () => (await database.query('SELECT secret FROM system_secrets')).length === 1)
  await server.restart()
  t.equal(await eventually(() => first.customer()), id, 'a gateway that went on')

  await Promise.all([first.service.stop(), consumers.service.stop()])
  await server.restart()
  const second = await open(t, { flags: withDatabase })
  t.equal(await second.customer(), id, 'a new gateway with the database')

  await second.service.stop()
  await server.restart()
  const third = await open(t)
  t.not(await third.customer(), id, 'a new gateway without it, while nobody else runs')
  await startConsumers(t, { redisUrl, flags: [...withDatabase, '--systems', 'orders'] })
  // with the other secret, the customer exists
  t.equal(await eventually(() => third.customer()), id, 'until consumers restore the secret')
})
