/** What an ended connection had sent may arrive later than what the next one wrote. */
import t from 'tap'
import { createFence } from '../../src/pipeline/stripes.js'
import { startProxy } from '../proxy.js'
import { connectFor, engineName, eventually, openWriterFor, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const engines = await scopedEngines()

/** Connections with their client ids, and the commands sent on them. */
function build () {
  const fence = createFence()
  let clientId = 100
  return async (/** @type {string | undefined} */ runId) => {
    /** @type {any[][]} */
    const asked = []
    const connection = { send: async (/** @type {any[]} */ ...words) => { asked.push(words); return words[1] === 'ID' ? clientId++ : 0 } }
    await fence(/** @type {any} */ (connection), { runId })
    return asked[0].join(' ')
  }
}
const NOBODY = `CLIENT KILL ID ${2 ** 53 - 1}`

t.test('the previous connection on the same server is closed, also after a switch to another server', async (t) => {
  const open = build()
  t.equal(await open('a'), NOBODY, 'the first closes no connection, and checks its permission to do so')
  t.equal(await open('a'), 'CLIENT KILL ID 100')
  t.equal(await open('b'), NOBODY)
  t.equal(await open('a'), 'CLIENT KILL ID 101')
  t.equal(await open('b'), 'CLIENT KILL ID 102')
})

t.test('without a run id no connection is closed', async (t) => {
  const open = build()
  t.same([await open(undefined), await open(undefined)], [NOBODY, NOBODY])
})

t.test('servers that were left long ago are forgotten', async (t) => {
  const open = build()
  await open('first')
  await open('second')
  for (let n = 0; n < 14; n++) await open(`server ${n}`)
  t.equal(await open('first'), 'CLIENT KILL ID 100')
  await open('one more')
  t.equal(await open('second'), NOBODY)
  t.equal(await open('first'), 'CLIENT KILL ID 116')
})

for (const engine of engines) {
  t.test(`${engineName(engine)}: bytes of an ended connection that arrive late change nothing`, async (t) => {
    const server = await startServer(t, { engine })
    const proxy = await startProxy(t, server.port)
    const connection = await connectFor(t, server.url)
    const writer = await eventually(() => openWriterFor(t, { redisUrl: proxy.url, deadlineMs: 300 }))
    const id = Buffer.from('a')
    const write = async (/** @type {string} */ value) => {
      writer.pipeline.append(id, Date.now(), Buffer.from(value))
      await writer.pipeline.flush()
    }
    await write('first')
    proxy.hold()
    await write('second')
    t.ok(writer.sessions > 1, 'its first connection was silent and was given up')
    await write('third')
    t.ok(proxy.release() > 0, 'what the first connection had sent is delivered now')
    await eventually(() => connection.send('PING'))
    await new Promise((resolve) => setTimeout(resolve, 300))
    const stored = await connection.send('GET', 'fr:{latest:0}:item:a')
    t.equal(String(stored.subarray(8)), 'third')
  })
  t.test(`${engineName(engine)}: nor those of a connection to a server that was left, and is written to again`, async (t) => {
    const [one, other] = await Promise.all([startServer(t, { engine }), startServer(t, { engine })])
    const proxy = await startProxy(t, one.port)
    const connection = await connectFor(t, one.url)
    const writer = await eventually(() => openWriterFor(t, { redisUrl: proxy.url, deadlineMs: 300 }))
    const write = async (/** @type {string} */ value) => {
      writer.pipeline.append(Buffer.from('a'), Date.now(), Buffer.from(value))
      await writer.pipeline.flush()
    }
    await write('first')
    proxy.hold()
    const held = proxy.lines
    proxy.switchTo(other.port)
    await write('second')
    proxy.switchTo(one.port)
    for (const line of proxy.lines) if (!held.includes(line)) line.reset()
    await write('third')
    const stored = async () => String((await connection.send('GET', 'fr:{latest:0}:item:a')).subarray(8))
    t.equal(await stored(), 'third')
    t.ok(proxy.release() > 0, 'what the first connection had sent is delivered now')
    await new Promise((resolve) => setTimeout(resolve, 300))
    t.equal(await stored(), 'third')
  })

  t.test(`${engineName(engine)}: a missing permission to close connections shows at once`, async (t) => {
    const server = await startServer(t, { engine })
    const admin = await connectFor(t, server.url)
    await admin.send('ACL', 'SETUSER', 'writing', 'on', '>word', '~*', '+@all', '-client|kill')
    await t.rejects(openWriterFor(t, { redisUrl: server.url.replace('//', '//writing:word@') }),
      { code: 'SERVER_REFUSED', message: /client\|kill/ })
  })
}
