/** Connections that end under load, by the server, by the kernel, by a reset on the way. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { layoutNames } from '../../src/layouts/index.js'
import { startProxy } from '../../test/proxy.js'
import { connectFor, engineName, eventually, startServer } from '../../test/servers.js'
import { expectWhole, startRun } from '../../test/faults/ledger/run.js'
import { isWhole, nightly, scoped, scopedEngines } from '../../test/scope.js'

const FAULTS = nightly(20, scoped(6, 3))
const FEWER = nightly(8, 2)
const MOST_PAUSE_MS = 100

/** Ends every connection to that port inside the kernel. @param {number} port */
const killSockets = (port) => promisify(execFile)('ss', ['-K', 'dst', '127.0.0.1', 'dport', '=', String(port)])

/** @returns {Promise<boolean>} whether the kernel lets us */
async function canKillSockets () {
  const server = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  await once(socket, 'connect')
  await killSockets(port).catch(() => {})
  const answer = await eventually(() => socket.destroyed, { deadlineMs: 1000 }).catch(() => false)
  socket.destroy()
  server.close()
  return answer
}

/**
 * @typedef {{ server: import('../../test/servers.js').Server, proxy: import('../../test/proxy.js').Proxy,
 *   admin: import('../../src/store/connection.js').Connection }} Parts
 */
/** @type {Record<string, { how: string, isDirect?: boolean, cut: (parts: Parts) => unknown }>} */
const WAYS = {
  server: {
    how: 'CLIENT KILL TYPE normal', isDirect: true, cut: ({ admin }) => admin.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  },
  reset: { how: 'reset on the way', cut: ({ proxy }) => proxy.resetAll() },
  // those of the clients, before the proxy; it sees them go, and what they had sent is executed
  kernel: { how: 'ss -K', cut: ({ proxy }) => killSockets(proxy.port) }
}
if (isWhole && !await canKillSockets()) {
  t.comment('the kernel ends no connections for us here (ss -K): the clients are sent a reset instead, by the other end of theirs')
  WAYS.kernel = { how: 'a reset in place of ss -K', cut: ({ proxy }) => proxy.resetClients() }
}

t.jobs = 3
t.setTimeout(300_000)
const [engine] = await scopedEngines()
for (const { how, isDirect = false, cut } of scoped(Object.values(WAYS), [WAYS.reset])) {
  t.test(`${engineName(engine)}: connections ended again and again by ${how} cost only the sending`, { buffered: true }, async (t) => {
    const server = await startServer(t, { engine })
    const admin = await connectFor(t, server.url)
    const proxy = await startProxy(t, server.port)
    const run = startRun(t, { redisUrl: isDirect ? server.url : proxy.url, writers: 4 })
    await run.open()
    for (let faults = 0; faults < FAULTS; faults++) {
      await run.acknowledged(100)
      await pause(Math.random() * MOST_PAUSE_MS)
      await cut({ server, proxy, admin })
    }
    await run.acknowledged(100)
    const accounts = await run.finish()
    const sessions = accounts.reduce((sum, one) => sum + one.sessions, 0)
    t.ok(sessions >= accounts.length + FAULTS, 'they were really ended')
    expectWhole(t, await run.compare(server),
      `${FAULTS} times all connections ended, ${sessions - accounts.length} of batches among them`)
  })
}

for (const layout of scoped(layoutNames(), ['ids'])) {
  t.test(`${engineName(engine)}, ${layout}: few ids, connections cut again and again: every version that the layout keeps is there`, {
    buffered: true
  }, async (t) => {
    const server = await startServer(t, { engine })
    const proxy = await startProxy(t, server.port)
    const run = startRun(t, { redisUrl: proxy.url, ids: 37, itemsPerRound: 50, options: { layout, batchItems: 20 } })
    await run.open()
    for (let faults = 0; faults < FEWER; faults++) {
      await run.acknowledged(100)
      await pause(Math.random() * MOST_PAUSE_MS)
      proxy.resetAll()
    }
    await run.finish()
    expectWhole(t, await run.compare(server), `${FEWER} times all connections reset`)
  })
}
