/** A line that takes time: never less than it should, and nothing else changes. */
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startDelay } from '../../lab/run/delay.js'
import { openConnection } from '../../src/store/connection.js'
import { allGone } from '../embedded/checkout.js'
import { connectFor, eventually, freePort, startServer } from '../servers.js'
import { nightly, scopedEngines } from '../scope.js'

const PARENT = fileURLToPath(new URL('delay-parent.js', import.meta.url))
const MANY_BYTES = 5 * 1024 * 1024
const [engine] = await scopedEngines()
const server = await startServer(t, { engine })

/** @param {import('tap').Test} t @param {Parameters<typeof startDelay>[0]} line */
async function delayFor (t, line) {
  const delay = await startDelay(line)
  t.teardown(() => delay.close())
  return delay
}

/**
 * @param {import('tap').Test} t
 * @param {(socket: import('node:net').Socket) => void} onSocket
 * @returns {Promise<string>} address of a server whose connections `onSocket` handles
 */
async function listenFor (t, onSocket) {
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    onSocket(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `redis://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
}

/** @param {import('tap').Test} t @param {string} url */
function dial (t, url) {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  t.teardown(() => socket.destroy())
  return socket
}

t.test('every answer takes at least as long as the line, below a millisecond too', async (t) => {
  for (const ms of nightly([0.6, 1, 30], [0.6, 30])) {
    const delay = await delayFor(t, { to: server.url, ms })
    const connection = await connectFor(t, delay.url)
    const took = []
    for (let i = 0; i < 20; i++) {
      const at = performance.now()
      t.equal(String(await connection.send('PING')), 'PONG')
      took.push(performance.now() - at)
    }
    t.ok(Math.min(...took) >= ms, `${ms} ms: ${took}`)
    connection.close()
    await delay.close()
  }
})

t.test('bytes arrive whole and in order, both ways, on many connections at once; the end of a line is reported', async (t) => {
  const server = await startServer(t, { engine, args: ['--requirepass', 'se:same'] })
  const delay = await delayFor(t, { to: `redis://:se%3Asame@127.0.0.1:${server.port}/2?x=1`, ms: 2 })
  t.match(delay.url, /^redis:\/\/:se%3Asame@127\.0\.0\.1:\d+\/2\?x=1$/, 'the rest of the address stays')
  await Promise.all([1, 2, 3].map(async (k) => {
    const connection = await connectFor(t, delay.url)
    const value = randomBytes(MANY_BYTES)
    const replies = Promise.all(Array.from({ length: 200 }, (_, i) => connection.send('INCR', `counter:${k}`).then((n) => n === i + 1)))
    await connection.send('SET', `key:${k}`, value)
    t.ok(value.equals(await connection.send('GET', `key:${k}`)))
    t.notOk((await replies).includes(false), 'answers come in order')
  }))
  t.ok(Number(await delay.cpuSeconds()) > 0)
  t.notOk((await Promise.all([1, 2, 3].map(() => delay.cpuSeconds()))).includes(null), 'asked several times at once')

  process.kill(/** @type {number} */ (delay.pid), 'SIGKILL')
  t.match(await delay.died, /^the relay to 127\.0\.0\.1:\d+ was ended by SIGKILL/)
  t.equal(await delay.cpuSeconds(), null)
})

/** What the server behind the next line does with a connection. @type {(socket: import('node:net').Socket) => void} */
let onSocket = () => {}
const line = await delayFor(t, { to: await listenFor(t, (socket) => onSocket(socket)), ms: 1 })

t.test('a receiver that does not read stops the sender, and gets everything when it reads', async (t) => {
  /** @type {import('node:net').Socket[]} */
  const receivers = []
  const hash = createHash('sha1')
  let received = 0
  onSocket = (socket) => {
    receivers.push(socket)
    socket.on('data', (bytes) => {
      received += bytes.length
      hash.update(bytes)
    }).pause()
  }
  const sender = dial(t, line.url)
  const bytes = randomBytes(64 * 1024 * 1024)
  let isSent = false
  sender.end(bytes, () => { isSent = true })
  await eventually(() => receivers.length === 1)
  // what systems and relay hold is far less than this: it comes to a stop
  let taken = -1
  await eventually(async () => {
    const before = taken
    taken = sender.bytesWritten - sender.writableLength
    await new Promise((resolve) => setTimeout(resolve, 200))
    return taken === before
  })
  t.notOk(isSent)
  const [receiver] = receivers
  const ended = once(receiver, 'end')
  receiver.resume()
  await ended
  t.equal(received, bytes.length)
  t.equal(hash.digest('hex'), createHash('sha1').update(bytes).digest('hex'))
})

t.test('an end on one side leaves the other open, and a loss on one side ends the other', async (t) => {
  onSocket = (socket) => {
    socket.on('end', () => socket.end('after the end')).resume()
    socket.on('data', (bytes) => { if (String(bytes) === 'reset') socket.resetAndDestroy() })
  }
  const half = dial(t, line.url)
  half.end('before the end')
  const [answer] = await once(half, 'data')
  t.equal(String(answer), 'after the end')
  const lost = dial(t, line.url)
  const closed = new Promise((resolve) => lost.once('close', resolve))
  lost.write('reset')
  lost.resume()
  await closed
  t.ok(lost.destroyed)
})

t.test('a server that is not there is no answer, and the line lives on until it is closed, when nothing is left', async (t) => {
  const delay = await delayFor(t, { to: server.url, ms: 1 })
  await server.kill()
  await t.rejects(openConnection(delay.url, { name: 'test', deadlineMs: 2000 }), { code: 'SERVER_UNREACHABLE' })
  await server.restart()
  const connection = await connectFor(t, delay.url)
  t.equal(String(await connection.send('PING')), 'PONG')
  await delay.close()
  await delay.close()
  await allGone(/** @type {number} */ (delay.pid))
  t.match(await connection.closed, /closed|reset/i)
  t.equal(await delay.cpuSeconds(), null)
})

t.test('TLS is refused: the name on the certificate would be another', async (t) => {
  await t.rejects(startDelay({ to: `rediss://127.0.0.1:${await freePort()}`, ms: 1 }),
    { code: 'LAB_TARGET_REFUSED', message: /remove --rtt-ms/ })
})

t.test('it ends with its parent, also when that is killed with -9', async (t) => {
  const parent = spawn(process.execPath, [PARENT, server.url],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NODE_OPTIONS: '' } })
  t.teardown(() => parent.kill('SIGKILL'))
  const [line] = await once(parent.stdout, 'data')
  const { url, pid } = JSON.parse(String(line))
  const connection = await connectFor(t, url)
  t.equal(String(await connection.send('PING')), 'PONG')
  parent.kill('SIGKILL')
  await allGone(pid)
  t.match(await connection.closed, /closed|reset/i)
})
