/** Ids of customers and orders outlive the servers where there is a database. */
import t from 'tap'
import { sharedDatabase } from '../../../test/database.js'
import { scopedEngines } from '../../../test/scope.js'
import { eventually, startServer } from '../../../test/servers.js'
import { startConsumers, startGateway } from '../../../test/services.js'
import { orderCommands } from '../../../test/systems/orders/ordering.js'

const FLAGS = ['--system-partitions', '1']
const EMAIL = 'ann@example.org'
const [engine] = await scopedEngines()
const server = await startServer(t, { engine })
const { url: redisUrl } = server
const database = await sharedDatabase(t)
const withDatabase = [...FLAGS, '--database-url', database.url]

/** @param {import('tap').Test} t @param {string[]} [flags] */
async function open (t, flags = FLAGS) {
  const gateway = await startGateway(t, { redisUrl, flags })
  const { post } = orderCommands(gateway.send)
  /** @returns {Promise<string>} its id */
  const customer = async (email = EMAIL) => {
    const { status, json } = await post('/v1/customers', { email, name: 'Ann', address: 'Here 1' })
    if (status !== 201) throw new Error(JSON.stringify(json))
    return json.id
  }
  return { service: gateway.service, customer }
}

t.test('an email is the same customer after the servers were lost', async (t) => {
  const first = await open(t)
  const id = await first.customer()
  const consumers = await startConsumers(t, { redisUrl, flags: [...withDatabase, '--systems', 'orders'] })
  await eventually(async () => (await database.query('SELECT secret FROM system_secrets')).length === 1)
  await server.restart()
  t.equal(await eventually(() => first.customer()), id, 'a gateway that went on')

  await Promise.all([first.service.stop(), consumers.service.stop()])
  await server.restart()
  const second = await open(t, withDatabase)
  t.equal(await second.customer(), id, 'a new gateway with the database')

  await second.service.stop()
  await server.restart()
  const third = await open(t)
  t.not(await third.customer(), id, 'a new gateway without it, while no other process runs')
  await startConsumers(t, { redisUrl, flags: [...withDatabase, '--systems', 'orders'] })
  // with the other secret, the customer exists
  t.equal(await eventually(() => third.customer()), id, 'until consumers restore the secret')
})
