/** Orders of a sale that reach the database through Kafka; the broker is away for a while. */
import { findKafka, startBroker } from '../../lab/kafka/broker.js'
import { CACHE_DIR } from '../../test/commands.js'
import { sharedDatabase } from '../../test/database.js'
import { eventually } from '../../test/servers.js'
import { sharedDeployment } from '../../test/shared.js'
import { startSales } from '../../test/systems/sales/selling.js'
import { nightTest } from '../../test/scope.js'

const missing = await findKafka({ cacheDir: CACHE_DIR })

const options = { skip: missing ?? false }

nightTest('orders come through Kafka, each once, also after the broker was away', options, async (t) => {
  const [broker, database] = await Promise.all([startBroker({ cacheDir: CACHE_DIR }), sharedDatabase(t, { isMigrated: true })])
  t.teardown(() => broker.stop())
  const flags = ['--database-url', database.url]
  const { gateway, sale } = await startSales(t, {
    ...await sharedDeployment(t), readerFlags: flags, consumerFlags: [...flags, '--kafka-brokers', broker.address]
  })
  await gateway.create('kafka', { stock: 100 })
  for (let n = 0; n < 20; n++) t.equal((await gateway.claim('kafka', `u${n}`)).status, 201)
  await eventually(async () => (await sale('kafka')).orderRows === 20)
  await broker.kill()
  for (let n = 20; n < 40; n++) t.equal((await gateway.claim('kafka', `u${n}`)).status, 201)
  await broker.restart()
  await eventually(async () => (await sale('kafka')).orderRows === 40, { deadlineMs: 60_000 })
  const users = (await database.query('SELECT user_id FROM orders ORDER BY seq')).map((row) => row.user_id)
  t.same(users, Array.from({ length: 40 }, (_, n) => `u${n}`), 'in order')
})
