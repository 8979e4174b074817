/** Consumers that start while servers do not answer, or with settings that are not those of others. */
import t from 'tap'
import { sharedDatabase } from '../database.js'
import { scopedEngines } from '../scope.js'
import { connectFor, freePort, startServer } from '../servers.js'
import { startConsumers } from '../services.js'
import { sharedDeployment } from '../shared.js'

t.test('consumers wait for servers that do not answer yet, say so, and then take their partitions', async (t) => {
  const port = await freePort()
  const metricsPort = await freePort()
  const [engine] = await scopedEngines()
  const starting = startConsumers(t, {
    redisUrl: `redis://127.0.0.1:${port}`,
    flags: ['--systems', 'auctions', '--metrics-port', String(metricsPort), '--host', '127.0.0.1']
  })
  starting.catch(() => {})
  const ready = async () => {
    const response = await fetch(`http://127.0.0.1:${metricsPort}/readyz`)
    return { status: response.status, text: await response.text() }
  }
  for (;;) {
    const { status, text } = await ready().catch(() => ({ status: 0, text: '' }))
    if (text.includes('SERVER_UNREACHABLE')) {
      t.equal(status, 503)
      break
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await startServer(t, { engine, port })
  const { service } = await starting
  t.match(service.log, /"code":"SERVER_UNREACHABLE".*waits until it can be opened/)
  t.equal((await ready()).status, 200)
})

t.test('settings that differ from what is stored are refused before the database is migrated', async (t) => {
  const [{ url, query }, { primary: { url: redisUrl }, keyPrefix }] = await Promise.all([sharedDatabase(t), sharedDeployment(t)])
  const connection = await connectFor(t, redisUrl)
  await connection.send('SET', `${keyPrefix}{@sales}:system`, JSON.stringify({ partitions: 8, secret: 's', format: 2 }))
  const flags = ['--systems', 'sales', '--database-url', url]
  await t.rejects(startConsumers(t, { redisUrl, keyPrefix, flags }), { code: 'SYSTEM_DIFFERS', message: /8 partitions .* not 16/ })
  t.same(await query('SELECT tablename FROM pg_tables WHERE schemaname = current_schema()'), [])
})
