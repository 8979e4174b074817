/** Orders of a sale in the database and, for other programs, in Kafka; the broker is away for a while. */
import { findKafka, startBroker } from '../../lab/kafka/broker.js'
import { CACHE_DIR } from '../../test/commands.js'
import { readTopic } from '../../test/consumers/topic.js'
import { sharedDatabase } from '../../test/database.js'
import { eventually } from '../../test/servers.js'
import { sharedDeployment } from '../../test/shared.js'
import { startSales } from '../../test/systems/sales/selling.js'
import { nightTest } from '../../test/scope.js'

const missing = await findKafka({ cacheDir: CACHE_DIR })

const options = { skip: missing ?? false }

nightTest('a broker that is away holds up no rows, and gets every entry in the end', options, async (t) => {
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
  await eventually(async () => (await sale('kafka')).orderRows === 40)
  await broker.restart()
  const found = await readTopic(t, broker.address, 'freshet.sales', ({ fields }) => fields.user === 'u39')
  const users = found.filter(({ fields }) => fields.type === 'sold').map(({ fields }) => fields.user)
  t.same([...new Set(users)], Array.from({ length: 40 }, (_, n) => `u${n}`), 'in order')
})
