/** The bound on bodies that are received or wait, before anything else counts them. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { Registry } from 'prom-client'
import t from 'tap'
import { sendTo } from '../commands.js'
import { eventually } from '../servers.js'
import { createGatewayApp } from '../../writers/gateway/app.js'
import { isProblem } from './requests.js'

t.test('bodies that are announced have a bound together, and give their place back', async (t) => {
  const app = createGatewayApp({
    feeds: /** @type {any} */ ({}),
    status: () => ({ ready: true, reasons: [], nodes: [] }),
    stopping: new AbortController().signal,
    settings: { whenFull: 'block', ackWithinMs: 1000, inFlightBytes: 1000, authToken: null },
    registry: new Registry(),
    maxBodiesBytes: 5000
  })
  t.teardown(() => {
    app.server.closeAllConnections()
    return app.close()
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const { post, send } = sendTo(url)
  const path = '/v1/feeds/one/items'
  t.equal((await post(path, '[]')).status, 200)
  const slow = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})
  await once(slow, 'connect')
  slow.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 4999\r\n\r\n[`)
  await eventually(async () => /^freshet_http_requests_in_progress 1$/m.test((await send('GET', '/metrics')).body))
  t.match(isProblem(t, await post(path, '[] '), 503, 'INGEST_FULL').detail, /^4999 bytes of bodies are in progress, of 5000 allowed/)
  t.equal((await send('GET', '/livez')).status, 200)
  slow.destroy()
  await eventually(async () => (await post(path, '[] ')).status === 200)
  t.equal((await post(path, '[' + ' '.repeat(9000) + ']')).status, 200, 'one that can never fit is taken when there is no other')
})
