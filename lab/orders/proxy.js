/** Spreads requests over the replicas of a service, each to the next one. Replicas may come and go. */
import { Agent, createServer, request } from 'node:http'
import { once } from 'node:events'

/** @param {() => string[]} urls of the replicas at the moment */
export async function startProxy (urls) {
  const agent = new Agent({ keepAlive: true })
  let sent = 0
  // a client that meets an idle connection as it closes would take it for a fault of a replica
  const server = createServer({ keepAliveTimeout: 0 }, (incoming, reply) => {
    const all = urls()
    const onward = request(all[sent++ % all.length] + incoming.url, { method: incoming.method, headers: incoming.headers, agent },
      (answer) => answer.pipe(reply.writeHead(Number(answer.statusCode), answer.headers)))
    onward.once('error', () => reply.headersSent ? reply.destroy() : reply.writeHead(502).end())
    incoming.pipe(onward)
  })
  await once(server.listen(0, '127.0.0.1', 4096), 'listening')
  return {
    url: `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`,
    async close () {
      agent.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}
