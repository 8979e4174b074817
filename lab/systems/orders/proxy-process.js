/**
 * Spreads requests over the replicas of a service, each to the next one, in a process of its own. Replicas may come and go: message
 * `replicas`, with their `urls` from now on.
 */
import { Agent, createServer, request } from 'node:http'
import { once } from 'node:events'
import { tellParent } from '../../../src/runtime/index.js'
import { serveParent } from '../../serving/child-process.js'

const agent = new Agent({ keepAlive: true })
/** @type {string[]} */
let replicas = []
let sent = 0
// a client that meets an idle connection as it closes would take it for a fault of a replica
const server = createServer({ keepAliveTimeout: 0 }, (incoming, reply) => {
  const onward = request(replicas[sent++ % replicas.length] + incoming.url, { method: incoming.method, headers: incoming.headers, agent },
    (answer) => answer.pipe(reply.writeHead(Number(answer.statusCode), answer.headers)))
  onward.once('error', () => reply.headersSent ? reply.destroy() : reply.writeHead(502).end())
  incoming.pipe(onward)
})

serveParent('ready', {
  async open () {
    await once(server.listen(0, '127.0.0.1', 4096), 'listening')
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
    tellParent({ event: 'opened', url: `http://127.0.0.1:${port}` })
  },
  replicas ({ urls }) { replicas = urls },
  stop: () => process.exit(0)
})
