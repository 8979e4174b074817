/** What an ended connection had sent may arrive later than what the next one wrote. */
import t from 'tap'
import { startProxy } from '../proxy.js'
import { connectFor, engineName, eventually, openWriterFor, startServer, testEngines } from '../servers.js'

for (const engine of await testEngines()) {
  t.test(`${engineName(engine)}: bytes of an ended connection that arrive late change nothing`, async (t) => {
    const server = await startServer(t, { engine })
    const proxy = await startProxy(t, server.port)
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
