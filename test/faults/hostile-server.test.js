/**
 * Servers that send nonsense: the process survives, and every promise settles with a reply or with an error that has a code.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import { ERRORS } from '../../src/errors.js'
import { openFeed, openReader } from '../../src/index.js'
import { openConnection } from '../../src/store/connection.js'
import { ReplyMemory } from '../../src/store/reply-memory.js'
import { NODE } from '../node.js'
import { holds } from '../properties.js'
import { startProxy } from '../proxy.js'
import { engineName, eventually, openWriterFor, startServer } from '../servers.js'
import { storedOn } from './ledger/stored.js'
import { scopedEngines, scoped } from '../scope.js'

t.setTimeout(300_000)
const [engine] = await scopedEngines()

const CLIENT = fileURLToPath(new URL('hostile-client.js', import.meta.url))
const DEADLINE_MS = 300
const MAX_MIB = 400

/** @typedef {import('node:net').Socket} Socket */

/**
 * A server that answers +OK to the first commands, and something else after them.
 * @param {import('tap').Test} t
 * @param {{ after: number, act: (socket: Socket) => unknown, isAtOnce?: boolean }} options `isAtOnce`: it acts as soon as a client connects
 * @returns {Promise<string>} its address
 */
async function startHostile (t, { after, act, isAtOnce = false }) {
  /** @type {Set<Socket>} */
  const sockets = new Set()
  const server = createServer((socket) => {
    const commands = new ReplyMemory()
    let answered = 0
    let isActing = isAtOnce
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    socket.on('data', (bytes) => {
      for (let whole = commands.append(bytes); whole > 0; whole--) {
        commands.take(false)
        if (isActing) continue
        if (answered++ < after) socket.write('+OK\r\n')
        else {
          isActing = true
          act(socket)
        }
      }
    })
    if (isAtOnce) act(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return `redis://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
}

/** @param {string | Buffer} bytes */
const says = (bytes) => (/** @type {Socket} */ socket) => socket.write(bytes)

const deep = (/** @type {number} */ depth, /** @type {string} */ kind) => `${kind}1\r\n`.repeat(depth)

/** @type {Record<string, (socket: Socket) => unknown>} */
const ACTS = {
  'a million arrays in arrays': says(deep(1_000_000, '*')),
  'a thousand arrays in arrays': says(deep(1000, '*')),
  'maps in maps': says(deep(10_000, '%')),
  'a string of a terabyte, announced': says('$999999999999\r\nabc'),
  'an array of a length that is no number': says('*1e9\r\n'),
  'a negative length': says('$-5\r\nabc\r\n'),
  'an array of a billion parts, announced': says('*1000000000\r\n'),
  'nulls to no command': says('$-1\r\n*-1\r\n'.repeat(100)),
  'nulls of RESP3': says('_\r\n'.repeat(100)),
  'a null inside a push of RESP3': says('>1\r\n_\r\n>1\r\n$9\r\nsubscribe\r\n'),
  'replies to no command': says('+OK\r\n'.repeat(10_000)),
  'empty arrays to no command': says('*0\r\n'.repeat(100_000)),
  'a reply that is cut': (socket) => socket.end('$10\r\nabc'),
  'a cut array': (socket) => socket.end('*3\r\n:1\r\n'),
  'half a line end': (socket) => socket.end('+OK\r'),
  'a reset': (socket) => socket.resetAndDestroy(),
  'an end at once': (socket) => socket.end(),
  'an end behind a reply': (socket) => socket.end('+OK\r\n'),
  silence: () => {},
  'all bytes': says(Buffer.from(Array.from({ length: 256 }, (_, i) => i))),
  zeros: says(Buffer.alloc(100_000)),
  HTTP: says('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n'),
  TLS: says(Buffer.from([21, 3, 1, 0, 2, 2, 70])),
  'a push of RESP3': says('>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n'),
  'an empty error': says('-\r\n'.repeat(10)),
  'errors with the words that mean something': says(
    '-NOPERM x\r\n-NOAUTH\r\n-WRONGPASS\r\n-READONLY\r\n-NOSCRIPT\r\n-OOM\r\n-MOVED 1 other:1\r\n'
  ),
  'more clients than it takes': (socket) => socket.end('-ERR max number of clients reached\r\n'),
  'null for everything': (socket) => socket.on('data', () => socket.write('$-1\r\n')),
  'a number for everything': (socket) => { socket.write(':1\r\n'); socket.on('data', () => socket.write(':1\r\n')) },
  'an array for everything': (socket) => {
    socket.write('*2\r\n*0\r\n*-1\r\n')
    socket.on('data', () => socket.write('*2\r\n*0\r\n*-1\r\n'))
  },
  'a byte at a time': async (socket) => {
    for (const byte of '*3\r\n$3\r\nabc\r\n:17\r\n*1\r\n+OK\r\n'.repeat(3)) {
      socket.write(byte)
      await turn()
    }
  }
}

/**
 * @param {string[][]} groups of addresses
 * @returns {Promise<{ code: number | null, met: any[], stderr: string }>}
 */
async function meet (groups) {
  const [program, ...words] = NODE
  const child = spawn(program, [...words, CLIENT, String(DEADLINE_MS), ...groups.map(String)],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_OPTIONS: '' } })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (text) => { stdout += text })
  child.stderr.on('data', (text) => { stderr += text })
  const [code] = await once(child, 'close')
  return { code, stderr, met: stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line)) }
}

const PLACES = [
  { when: 'unasked', after: 0, isAtOnce: true },
  { when: 'instead of the greeting', after: 0 },
  { when: 'instead of the first answer', after: 1 },
  { when: 'in the middle of answers', after: 6 }
]
t.test('a process survives every kind of nonsense, at any time', async (t) => {
  const titles = Object.keys(ACTS)
  const places = scoped(PLACES, PLACES.slice(2, 3))
  const groups = await Promise.all(places.map(({ when, ...place }) =>
    Promise.all(titles.map((title) => startHostile(t, { ...place, act: ACTS[title] })))))
  const { code, met, stderr } = await meet(groups)
  t.equal(code, 0, stderr)
  t.equal(stderr, '')
  for (const [n, { when }] of places.entries()) {
    titles.forEach((title, i) => {
      const outcomes = /** @type {string[]} */ (met.find(({ url }) => url === groups[n][i])?.outcomes ?? ['not settled'])
      t.same(outcomes.filter((outcome) => outcome !== 'answered' && !Object.hasOwn(ERRORS, outcome)), [], `${title}, ${when}`)
    })
  }
  t.ok(met.every(({ mostMib }) => mostMib < MAX_MIB), `memory: ${met.at(-1)?.mostMib} MiB`)
})

t.test('random bytes: every request settles with a reply or an error with a code', async (t) => {
  /** @type {Buffer[]} */
  let answer = []
  const url = await startHostile(t, {
    after: 1,
    async act (socket) {
      for (const piece of answer) {
        socket.write(piece)
        await turn()
      }
      socket.end()
    }
  })
  const token = fc.oneof(fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array)),
    fc.constantFrom('+OK\r\n', '$-1\r\n', '*-1\r\n', '_\r\n', '$3\r\nabc\r\n', ':1\r\n', '*2\r\n', '-ERR no\r\n', '-NOPERM\r\n', '>1\r\n',
      '%2\r\n', '$9\r\n', '\r\n').map((text) => Buffer.from(text)))
  await holds(t, fc.asyncProperty(fc.array(token, { maxLength: 12 }), async (pieces) => {
    answer = pieces
    const connection = await openConnection(url, { name: 'test', deadlineMs: 2000 })
    const errors = await Promise.all([connection.send('PING'), connection.sendAll([['PING'], ['PING']]),
      connection.runScript('trim-ids', ['a'], [])]
      .map((request) => request.then(() => null, (error) => error)))
    connection.close()
    await connection.closed
    return errors.every((error) => error === null || Object.hasOwn(ERRORS, error.code))
  }), { runs: 300 })
})

t.test('a server at its client limit is reported in its own words', async (t) => {
  const url = await startHostile(t, { after: 0, act: ACTS['more clients than it takes'] })
  // whichever command is the first
  for (const one of [url, `${url}/2`, url.replace('//', '//:word@')]) {
    await t.rejects(openConnection(one, { name: 'test', deadlineMs: 2000 }),
      { code: 'SERVER_UNREACHABLE', retryable: true, message: /max number of clients/ })
  }
})

/** One more reply among those of commands looks like one of them, so it is not here. */
const nonsense = Object.entries(ACTS).filter(([title]) => /^(a million|a string of|all bytes|zeros|HTTP|nulls of)/.test(title))
  .map(([, act]) => act)
t.test(`${engineName(engine)}: nonsense between replies costs a connection, and no item`, async (t) => {
  const server = await startServer(t, { engine })
  const proxy = await startProxy(t, server.port)
  const writer = await openWriterFor(t, { redisUrl: proxy.url })
  let appended = 0
  for (const act of nonsense) {
    const before = writer.sessions
    for (let i = 0; i < 1000; i++) writer.pipeline.append(Buffer.from(String(appended)), Date.now(), Buffer.from(`${appended++} v`))
    for (const line of proxy.lines) line.say(act)
    await eventually(() => writer.sessions > before && writer.connected)
  }
  await writer.pipeline.flush({ deadlineMs: 60_000 })
  t.match(writer.pipeline.account, { offered: appended, items: appended, failed: 0, dropped: 0 })
  const there = await storedOn(t, server)
  t.same([there.length, new Set(there.map(({ id }) => id)).size], [appended, appended], 'no nonsense was taken for an acknowledgement')
})
t.test(`${engineName(engine)}: nonsense between replies gives a reader errors with codes, and it recovers`, async (t) => {
  const server = await startServer(t, { engine })
  const proxy = await startProxy(t, server.port)
  const feeds = await Promise.all((/** @type {const} */ (['ids', 'segments'])).map((layout) =>
    eventually(() => openFeed(`read-${layout}`, { redisUrl: server.url, layout, windowMs: 86_400_000, deadlineMs: 20_000 }))))
  for (const feed of feeds) t.teardown(() => feed.close().catch(() => {}))
  const reader = await eventually(() => openReader({ redisUrl: proxy.url, readFrom: 'primary', views: 'all' }))
  t.teardown(() => reader.close())
  let appended = 0
  const { accepted } = proxy
  const whole = () => Promise.all(feeds.map(async ({ name }) => (await reader.feed(name).latest(1000)).items.length === appended))
  for (const act of nonsense) {
    for (const feed of feeds) feed.append({ id: String(appended), ts: Date.now(), value: 'v' })
    appended++
    await Promise.all(feeds.map((feed) => feed.flush({ deadlineMs: 60_000 })))
    const asked = feeds.flatMap(({ name }) =>
      [reader.feed(name).latest(10), reader.feed(name).count(), reader.feed(name).get('0'), reader.feeds()])
    for (const line of proxy.lines) line.say(act)
    const outcomes = await Promise.allSettled(asked)
    t.same(outcomes.flatMap((one) => one.status === 'rejected' && !Object.hasOwn(ERRORS, one.reason.code) ? [String(one.reason)] : []),
      [])
    await eventually(async () => (await whole()).every(Boolean), { deadlineMs: 60_000 })
  }
  t.ok(proxy.accepted >= accepted + nonsense.length, 'each cost a connection')
})
