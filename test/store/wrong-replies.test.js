/**
 * Replies that are not those of their commands, from a server or a proxy: no request gets such a reply, the connection ends with the
 * reason, and the process goes on.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { openConnection } from '../../src/store/connection.js'
import { createSession } from '../../src/store/session.js'
import { startProxy } from '../proxy.js'
import { connectFor, engineName, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const MIB = 1024 * 1024
const SLOW_MS = 20_000
const MAX_MIB = 250
const IN_FLIGHT = 100

/** @param {string} text @returns {(client: import('node:net').Socket) => void} */
const says = (text) => (client) => { client.write(text) }

/**
 * Each of 100 askers waits for its reply, one more does not, so that something always follows. A reply is right if it is the word that
 * the same asker sent before.
 * @param {import('../../src/store/connection.js').Connection} connection @param {string} prefix of keys
 */
async function keepAsking (connection, prefix) {
  const ledger = { right: 0, wrong: 0, unknown: 0 }
  const state = { isOver: false }
  connection.closed.then(() => { state.isOver = true })
  const wordOf = (/** @type {number} */ i, /** @type {number} */ n) => createHash('sha1').update(`${i} ${n}`).digest('hex')
  const ask = (/** @type {number} */ i, /** @type {number} */ n) => connection.send('GETSET', `${prefix}:${i}`, wordOf(i, n)).then(
    (reply) => { ledger[String(reply) === (n === 0 ? 'null' : wordOf(i, n - 1)) ? 'right' : 'wrong']++ },
    (error) => { ledger[error.code === 'SERVER_LOST' ? 'unknown' : 'wrong']++ })
  const asking = Array.from({ length: IN_FLIGHT }, async (_, i) => { for (let n = 0; !state.isOver; n++) await ask(i, n) })
  let ticks = 0
  const ticker = setInterval(() => ask(IN_FLIGHT, ticks++), 10)
  while (ledger.right < 10 * IN_FLIGHT) await pause(5)
  return { connection, ledger, over: Promise.all(asking).then(() => clearInterval(ticker)) }
}

for (const engine of (await scopedEngines()).slice(0, 1)) {
  t.test(engineName(engine), async (t) => {
    const server = await startServer(t, { engine })
    const proxy = await startProxy(t, server.port)
    const open = () => connectFor(t, proxy.url, { deadlineMs: SLOW_MS })
    const openForLog = () => openConnection(proxy.url, { name: 'test', deadlineMs: SLOW_MS, isForLog: true })

    await t.test('bytes that no command asked for end an idle connection, whatever they are', async (t) => {
      for (const text of ['$-1\r\n', '*-1\r\n', '_\r\n', '+OK\r\n', '-ERR no\r\n', '>1\r\n_\r\n', '$50000\r\nabc', '+']) {
        for (const connection of [await open(), await openForLog()]) {
          for (const line of proxy.lines) line.say(says(text))
          t.match(await connection.closed, /a reply to no command/, JSON.stringify(text))
          await t.rejects(connection.send('PING'), { code: 'SERVER_LOST', message: /a reply to no command/ })
        }
      }
    })

    await t.test('bytes that are no reply, with 100 commands in flight: none gets the reply of another one', async (t) => {
      // commands of a connection that ended may be executed later, so each has keys of its own
      for (const text of ['_\r\n', '>1\r\n_\r\n', '$3000\r\nabc']) {
        for (const [who, opening] of Object.entries({ open, openForLog })) {
          const { connection, ledger, over } = await keepAsking(await opening(), `${who} ${text}`)
          for (const line of proxy.lines) line.say(says(text))
          await over
          t.match(ledger, { wrong: 0 }, `${who}, ${JSON.stringify(text)}`)
          t.match(await connection.closed, /its replies are not those|to no command/)
        }
      }
    })
  })
}

t.test('a reply without an end is given up before it fills the memory', async (t) => {
  for (const [head, text, reason] of /** @type {[string, string, RegExp][]} */ ([
    ['', '+xxx', /a line of more than 65536 bytes/], ['*1000000000\r\n', '$8\r\n12345678\r\n', /more than 1048576 parts/],
    ['*1000000\r\n', `$63\r\n${'x'.repeat(63)}\r\n`, /more than 64 MiB/], ['$70000000\r\n', 'x', /more than 64 MiB/],
    ['*1000\r\n', '*1\r\n', /arrays 33 deep/], ['*1000000\r\n', '*1000000\r\n', /more than 1048576 parts/]
  ])) {
    const bytes = Buffer.alloc(14 * 10_000, text)
    const talker = createServer((socket) => {
      socket.on('error', () => {}).once('data', () => {
        const more = () => { while (!socket.destroyed && socket.write(bytes)); }
        socket.on('drain', more).write(head)
        more()
      })
    }).listen(0, '127.0.0.1')
    t.teardown(() => talker.close())
    await once(talker, 'listening')
    const { port } = /** @type {import('node:net').AddressInfo} */ (talker.address())
    const before = process.memoryUsage().rss
    await t.rejects(openConnection(`redis://127.0.0.1:${port}`, { name: 'test', deadlineMs: SLOW_MS }),
      { code: 'SERVER_UNREACHABLE', message: reason })
    t.ok(process.memoryUsage().rss - before < MAX_MIB * MIB)
  }
})

t.test('a reply may take the deadline, and its bytes at 1 MiB/s', async (t) => {
  const socket = Object.assign(new EventTarget(), { once () {}, on () {}, destroy () {} })
  const session = createSession({ address: 'a:1', wire: /** @type {any} */ ({ socket, protocolError: null }), deadlineMs: 100 })
  const request = session.request(() => {}, (error) => error)
  const began = performance.now()
  let bytes = 0
  const arriving = setInterval(() => {
    bytes += MIB / 1000
    session.heard(0, bytes)
  }, 5)
  await t.rejects(request, { code: 'SERVER_LOST', message: /a reply was not complete after \d+ ms/ })
  clearInterval(arriving)
  const tookMs = performance.now() - began
  t.ok(tookMs >= 100 + bytes / MIB * 1000 - 10, `${tookMs} ms for ${bytes} bytes`)
})
