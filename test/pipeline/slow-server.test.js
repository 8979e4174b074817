/** A server that answers one batch well within the reply timeout, but not all that is in flight. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import t from 'tap'
import { engineName, openWriterFor, startDeployment } from '../servers.js'
import { scopedEngines } from '../scope.js'

const BYTES_PER_MS = 256
const BATCH_BYTES = 16 * 1024
const DEADLINE_MS = 1000
/** of a connection: twice what it works on within the deadline */
const ITEMS = 512
const VALUE = Buffer.alloc(1000, 'v')
/** what a busy machine may need; only a failure takes as long */
const PATIENT_MS = 120_000

/**
 * A server behind which another one works. It takes a fixed time for each byte, and answers when it has worked on all that it has received
 * on a connection, as a server does that gets little processor time.
 * @param {import('tap').Test} t @param {number} port @returns {Promise<string>} its URL
 */
async function startSlow (t, port) {
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  const server = createServer((client) => {
    const upstream = connect({ port, host: '127.0.0.1' })
    /** @type {Buffer[]} */
    const replies = []
    let doneMs = 0
    /** @type {NodeJS.Timeout | undefined} */
    let timer
    function answer () {
      const leftMs = doneMs - performance.now()
      timer = leftMs > 0 ? setTimeout(answer, leftMs) : undefined
      if (!timer && !client.destroyed) client.write(Buffer.concat(replies.splice(0)))
    }
    client.on('data', (bytes) => {
      doneMs = Math.max(doneMs, performance.now()) + bytes.length / BYTES_PER_MS
      upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      replies.push(bytes)
      timer ??= setTimeout(answer)
    })
    for (const [socket, other] of [[client, upstream], [upstream, client]]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => {
        clearTimeout(timer)
        other.destroy()
      })
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return `redis://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
}

t.jobs = 2
t.setTimeout(2 * PATIENT_MS)
for (const engine of (await scopedEngines()).slice(0, 1)) {
  for (const [ack, connections] of /** @type {const} */ ([['primary', 1], ['replica', 4]])) {
    const items = connections * ITEMS
    t.test(`${engineName(engine)}: a slow server gets no more than it answers in time, ack: ${ack}`, { buffered: true }, async (t) => {
      const { primary } = await startDeployment(t, { engine, replicas: 1 })
      const redisUrl = await startSlow(t, primary.port)
      const writer = await openWriterFor(t, { redisUrl, layout: 'segments', ack, deadlineMs: DEADLINE_MS, batchBytes: BATCH_BYTES })
      for (let n = 0; n < items; n++) writer.pipeline.append(Buffer.from(`id-${n}`), Date.now(), VALUE)
      await writer.pipeline.flush({ deadlineMs: PATIENT_MS })
      const { account } = writer.pipeline
      t.match(account, { offered: items, items, failed: 0 })
      t.ok(account.retried > 0, 'all of it was too much')
      t.comment(`${account.retried} items were sent again, over ${writer.sessions} sessions`)
    })
  }
}
