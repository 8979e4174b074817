/** Ports that are held for a process which is about to start. */
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { expectFreePort, holdPort } from '../../src/http/listen.js'

const WHERE = { host: '127.0.0.1', setting: 'port' }

t.test('a client that is connected to a held port is closed, and does not delay its release', async (t) => {
  const { port, release } = await holdPort({ ...WHERE, port: 0 })
  await t.rejects(expectFreePort({ ...WHERE, port }), { code: 'PORT_IN_USE' })
  const polling = connect(port, '127.0.0.1').on('error', () => {})
  polling.write('GET /livez HTTP/1.1\r\n\r\n')
  await once(polling, 'connect')
  await release()
  if (!polling.closed) await once(polling, 'close')
  await expectFreePort({ ...WHERE, port })
})
