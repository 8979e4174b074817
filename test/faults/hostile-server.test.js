/**
 * A server that answers nonsense: the process that asked lives on, its memory stays bounded, and every promise is settled
 * with an error that has a code.
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
import { holds } from '../properties.js'
import { startProxy } from '../proxy.js'
import { createReplies } from '../resp.js'
import { engineName, eventually, openWriterFor, startServer, testEngines } from '../servers.js'
import { storedOn } from './ledger/stored.js'

const CLIENT = fileURLToPath(new URL('hostile-client.js', import.meta.url))
const MIB = 1024 * 1024
const DEADLINE_MS = 300
/** what a client may take beside one reply of the largest size */
const BESIDE_MIB = 400

/** @typedef {import('node:net').Socket} Socket */

/**
 * A server that answers +OK to so many commands, and then something else.
 * @param {import('tap').Test} t
 * @param {{ after: number, act: (socket: Socket) => unknown, isUnasked?: boolean }} options `isUnasked`: to nobody's question
 * @returns {Promise<string>} its address
 */
async function startHostile (t, { after, act, isUnasked = false }) {
  /** @type {Set<Socket>} */
  const sockets = new Set()
  const server = createServer((socket) => {
    const commands = createReplies()
    let answered = 0
    let isActing = isUnasked
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    socket.on('data', (bytes) => {
      const asked = commands.ends(bytes).length
      const due = Math.min(asked, after - answered)
      answered += due
      if (due > 0) socket.write('+OK\r\n'.repeat(due))
      if (asked === due || isActing) return
      isActing = true
      act(socket)
    })
    if (isUnasked) act(socket)
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

/** Says it again and again, as fast as it is taken. @param {Buffer} bytes @param {string} [before] */
const saysForEver = (bytes, before = '') => (/** @type {Socket} */ socket) => {
  socket.write(before)
  const more = () => { while (!socket.destroyed && socket.write(bytes)); }
  socket.on('drain', more)
  more()
}

const deep = (/** @type {number} */ depth, /** @type {string} */ kind) => `${kind}1\r\n`.repeat(depth)

/** @type {Record<string, (socket: Socket) => unknown>} */
const ACTS = {
  'a million arrays in arrays': says(deep(1_000_000, '*')),
  'a thousand arrays in arrays': says(deep(1000, '*')),
  'maps in maps': says(deep(10_000, '%')),
  'a string of a terabyte, announced': says('$999999999999\r\nabc'),
  'an array of 4 billion, announced': says('*4294967295\r\n:1\r\n'),
  'an array beyond 4 billion, announced': says('*4294967296\r\n:1\r\n'),
  'an array of a billion, announced': says('*1000000000\r\n:1\r\n'),
  'arrays of 32 million in arrays, announced': says('*32000000\r\n'.repeat(1000)),
  'an array of a length that is no number': says('*1e9\r\n'),
  'a negative length': says('$-5\r\nabc\r\n'),
  'replies nobody asked for': says('+OK\r\n'.repeat(10_000)),
  'empty arrays nobody asked for': says('*0\r\n'.repeat(100_000)),
  'nulls nobody asked for': says('$-1\r\n'.repeat(1000)),
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
  'types of RESP3': says('_\r\n#t\r\n,1.5\r\n(123\r\n~1\r\n+a\r\n%1\r\n+a\r\n+b\r\n=7\r\ntxt:abc\r\n|1\r\n+a\r\n+b\r\n'),
  'an error of 100 MB': saysForEver(Buffer.alloc(MIB, 'x'), '-ERR '),
  'a status without end': saysForEver(Buffer.alloc(MIB, 'x'), '+'),
  'a number without end': saysForEver(Buffer.alloc(MIB, '1'), ':'),
  'an empty error': says('-\r\n'.repeat(10)),
  'errors with the words that mean something': says('-NOPERM x\r\n-NOAUTH\r\n-WRONGPASS\r\n-READONLY\r\n-NOSCRIPT\r\n-OOM\r\n-MOVED 1 other:1\r\n'),
  'more clients than it takes': (socket) => socket.end('-ERR max number of clients reached\r\n'),
  'null for everything': (socket) => { socket.write('$-1\r\n'); socket.on('data', () => socket.write('$-1\r\n')) },
  'a number for everything': (socket) => { socket.write(':1\r\n'); socket.on('data', () => socket.write(':1\r\n')) },
  'an array for everything': (socket) => { socket.write('*2\r\n*0\r\n*-1\r\n'); socket.on('data', () => socket.write('*2\r\n*0\r\n*-1\r\n')) },
  'a byte at a time': async (socket) => {
    for (const byte of '*3\r\n$3\r\nabc\r\n:17\r\n*1\r\n+OK\r\n'.repeat(3)) {
      socket.write(byte)
      await turn()
    }
  }
}

/** @param {string[]} urls @param {{ deadlineMs?: number }} [options] @returns {Promise<{ code: number | null, met: any[], stderr: string }>} */
async function meet (urls, { deadlineMs = DEADLINE_MS } = {}) {
  const child = spawn(process.execPath, [CLIENT, String(deadlineMs), ...urls], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_OPTIONS: '' } })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (text) => { stdout += text })
  child.stderr.on('data', (text) => { stderr += text })
  const [code] = await once(child, 'close')
  return { code, stderr, met: stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line)) }
}

for (const { when, ...place } of [
  { when: 'unasked', after: 0, isUnasked: true },
  { when: 'instead of the greeting', after: 0 },
  { when: 'instead of the first answer', after: 1 },
  { when: 'in the middle of answers', after: 6 }
]) {
  t.test(`a process lives through every kind of nonsense, ${when}`, async (t) => {
    const titles = Object.keys(ACTS)
    const urls = await Promise.all(titles.map((title) => startHostile(t, { ...place, act: ACTS[title] })))
    const { code, met, stderr } = await meet(urls)
    t.equal(code, 0, stderr)
    t.equal(stderr, '')
    titles.forEach((title, i) => {
      const outcomes = /** @type {string[]} */ (met.find(({ url }) => url === urls[i])?.outcomes ?? ['not settled'])
      t.same(outcomes.filter((outcome) => outcome !== 'answered' && !Object.hasOwn(ERRORS, outcome)), [], title)
    })
    t.ok(met.every(({ mostMib }) => mostMib < BESIDE_MIB), `memory: ${met.at(-1)?.mostMib} MiB`)
  })
}

t.test('a reply that never ends is given up at the size of the largest string', async (t) => {
  const url = await startHostile(t, { after: 1, act: saysForEver(Buffer.alloc(MIB), `$${512 * MIB}\r\n`) })
  const { code, met: [met], stderr } = await meet([url], { deadlineMs: 5000 })
  t.equal(code, 0, stderr)
  t.ok(met.outcomes.includes('SERVER_LOST'))
  t.ok(met.mostMib < 2 * 512 + BESIDE_MIB, `memory: ${met.mostMib} MiB`)
})

t.test('random bytes: every request is settled, with a coded error or an answer', async (t) => {
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
    fc.constantFrom('+OK\r\n', '$3\r\nabc\r\n', ':1\r\n', '*2\r\n', '$-1\r\n', '*-1\r\n', '-ERR no\r\n', '-NOPERM\r\n', '>1\r\n', '%2\r\n', '$9\r\n', '\r\n', '_\r\n').map((text) => Buffer.from(text)))
  await holds(t, fc.asyncProperty(fc.array(token, { maxLength: 12 }), async (pieces) => {
    answer = pieces
    const connection = await openConnection(url, { name: 'test', deadlineMs: 2000 })
    const errors = await Promise.all([connection.send('PING'), connection.sendAll([['PING'], ['PING']]), connection.runScript('trim-ids', ['a'], [])]
      .map((request) => request.then(() => null, (error) => error)))
    connection.close()
    await connection.closed
    return errors.every((error) => error === null || Object.hasOwn(ERRORS, error.code))
  }), { runs: 300 })
})

t.test('what comes while nothing is asked ends the connection, and says why', async (t) => {
  const url = await startHostile(t, { after: 1, act: (socket) => socket.write('+OK\r\n', () => setTimeout(says('+OK\r\n'), 100, socket)) })
  const connection = await openConnection(url, { name: 'test', deadlineMs: 2000 })
  await connection.send('PING')
  t.match(await connection.closed, /a reply that nobody asked for/)
  await t.rejects(connection.send('PING'), { code: 'SERVER_LOST', message: /a reply that nobody asked for/ })
})

t.test('a server that takes no more clients is told in its own words', async (t) => {
  const url = await startHostile(t, { after: 0, act: ACTS['more clients than it takes'] })
  // whatever it was asked first
  for (const one of [url, `${url}/2`, url.replace('//', '//:word@')]) {
    await t.rejects(openConnection(one, { name: 'test', deadlineMs: 2000 }), { code: 'SERVER_UNREACHABLE', retryable: true, message: /max number of clients/ })
  }
})

const nonsense = Object.entries(ACTS).filter(([title]) => /^(a million|a string of|an array of a billion|all bytes|zeros|HTTP|types)/.test(title)).map(([, act]) => act)
for (const engine of await testEngines()) {
  t.test(`${engineName(engine)}: nonsense between answers costs a connection, and no item`, async (t) => {
    const server = await startServer(t, { engine })
    const proxy = await startProxy(t, server.port)
    const writer = await openWriterFor(t, { redisUrl: proxy.url })
    let appended = 0
    for (const act of nonsense) {
      const before = writer.epochs
      for (let i = 0; i < 1000; i++) writer.pipeline.append(Buffer.from(String(appended)), Date.now(), Buffer.from(`${appended++} v`))
      for (const line of proxy.lines) line.say(act)
      await eventually(() => writer.epochs > before && writer.connected)
    }
    await writer.pipeline.flush({ deadlineMs: 60_000 })
    t.match(writer.pipeline.account, { offered: appended, items: appended, failed: 0, dropped: 0 })
    const there = await storedOn(t, server)
    t.same([there.length, new Set(there.map(({ id }) => id)).size], [appended, appended], 'no nonsense was taken for an acknowledgement')
  })
  t.test(`${engineName(engine)}: nonsense between answers to a reader is told with a code, and soon forgotten`, async (t) => {
    const server = await startServer(t, { engine })
    const proxy = await startProxy(t, server.port)
    const feeds = await Promise.all(['ids', 'segments'].map((layout) => eventually(() => openFeed(`read-${layout}`, { redisUrl: server.url, layout, windowMs: 86_400_000, deadlineMs: 20_000 }))))
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
      const asked = feeds.flatMap(({ name }) => [reader.feed(name).latest(10), reader.feed(name).count(), reader.feed(name).get('0'), reader.feeds()])
      for (const line of proxy.lines) line.say(act)
      const outcomes = await Promise.allSettled(asked)
      t.same(outcomes.flatMap((one) => one.status === 'rejected' && !Object.hasOwn(ERRORS, one.reason.code) ? [String(one.reason)] : []), [])
      await eventually(async () => (await whole()).every(Boolean), { deadlineMs: 60_000 })
    }
    t.ok(proxy.accepted >= accepted + nonsense.length, 'each cost a connection')
  })
}
