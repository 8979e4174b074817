/**
 * A planned switchover behind one address, as a DNS name or the endpoint of a primary does it: the primary holds its writes back until
 * another node has everything, that one is made the primary, the address leads there from then on, and the old primary is made its
 * replica. No connection is ended by that, and nothing that was written is lost.
 */
import { readInfo } from '../../src/store/nodes.js'
import { startProxy } from '../proxy.js'
import { connectFor, eventually, inSync, startDeployment } from '../servers.js'

const PAUSE_MS = 60_000

/** @param {import('tap').Test} t @param {{ engine: import('../servers.js').Engine, nodes: number }} options */
export async function startSwitchable (t, { engine, nodes: count }) {
  const { primary: first, replicas } = await startDeployment(t, { engine, replicas: count - 1 })
  const proxy = await startProxy(t, first.port)
  const servers = [first, ...replicas]
  const admins = await Promise.all(servers.map(({ url }) => connectFor(t, url)))
  let at = 0

  return {
    /** of the primary, whichever it is */
    url: proxy.url,
    get primary () { return servers[at] },
    get admin () { return admins[at] },
    /** Resolves when the node next in line is the primary, and the others follow it. */
    async switchOver () {
      const before = admins[at]
      at = (at + 1) % count
      await before.send('CLIENT', 'PAUSE', PAUSE_MS, 'WRITE')
      await eventually(async () => {
        const offsets = await Promise.all([before, admins[at]].map(async (admin) =>
          readInfo(await admin.send('INFO', 'replication'), '').master_repl_offset))
        return offsets[0] === offsets[1]
      })
      await admins[at].send('REPLICAOF', 'NO', 'ONE')
      proxy.switchTo(servers[at].port)
      const others = servers.filter((_, i) => i !== at)
      await Promise.all(admins.filter((_, i) => i !== at).map((admin) => admin.send('REPLICAOF', '127.0.0.1', servers[at].port)))
      await before.send('CLIENT', 'UNPAUSE')
      await Promise.all(others.map((server) => inSync(server)))
    },
    /** How many connections of that name the primary has. @param {string} name */
    async clientsNamed (name) {
      return String(await admins[at].send('CLIENT', 'LIST')).split('\n').filter((line) => line.includes(` name=${name} `)).length
    }
  }
}
