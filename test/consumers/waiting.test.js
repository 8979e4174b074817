/** Consumers that start while servers do not answer. */
import t from 'tap'
import { scopedEngines } from '../scope.js'
import { freePort, startServer } from '../servers.js'
import { startConsumers } from '../services.js'

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
