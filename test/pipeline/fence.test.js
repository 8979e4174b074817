/** What an ended connection had sent may arrive later than what the next one wrote. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import t from 'tap'
import { connectFor, engineName, eventually, openWriterFor, startServer, testEngines } from '../servers.js'

/**
 * Forwards connections to a server; `hold` keeps what its present clients send from now on, `release` delivers it, even
 * when the client has gone meanwhile.
 * @param {import('tap').Test} t @param {number} port
 */
async function startHoldingProxy (t, port) {
  /** @type {Set<{ held: Buffer[] | null, upstream: import('node:net').Socket }>} */
  const lines = new Set()
  const proxy = createServer((client) => {
    const line = { held: /** @type {Buffer[] | null} */ (null), upstream: connect(port, '127.0.0.1') }
    lines.add(line)
    client.on('data', (bytes) => line.held ? line.held.push(bytes) : line.upstream.write(bytes))
    line.upstream.on('data', (bytes) => client.write(bytes))
    line.upstream.on('close', () => client.destroy())
    client.on('close', () => { if (!line.held) line.upstream.destroy() })
    for (const socket of [client, line.upstream]) socket.on('error', () => {})
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => {
    proxy.close()
    for (const { upstream } of lines) upstream.destroy()
  })
  return {
    url: `redis://127.0.0.1:${/** @type {any} */ (proxy.address()).port}`,
    hold () { for (const line of lines) line.held ??= [] },
    release () {
      let bytes = 0
      for (const { held, upstream } of lines) {
        for (const part of held ?? []) {
          bytes += part.length
          upstream.write(part)
        }
      }
      return bytes
    }
  }
}

for (const engine of await testEngines()) {
  t.test(`${engineName(engine)}: bytes of an ended connection that arrive late change nothing`, async (t) => {
    const server = await startServer(t, { engine })
    const proxy = await startHoldingProxy(t, server.port)
    const connection = await connectFor(t, server.url)
    const writer = await openWriterFor(t, { redisUrl: proxy.url, deadlineMs: 300 })
    const id = Buffer.from('a')
    const write = async (/** @type {string} */ value) => {
      writer.pipeline.append(id, Date.now(), Buffer.from(value))
      await writer.pipeline.flush()
    }
    await write('first')
    proxy.hold()
    await write('second')
    t.ok(writer.epochs > 1, 'its first connection was silent and was given up')
    await write('third')
    t.ok(proxy.release() > 0, 'what the first connection had sent is delivered now')
    await eventually(() => connection.send('PING'))
    await new Promise((resolve) => setTimeout(resolve, 300))
    const stored = await connection.send('GET', 'fr:{latest:0}:item:a')
    t.equal(String(stored.subarray(8)), 'third')
  })
}
