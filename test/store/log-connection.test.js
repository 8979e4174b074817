/** Connections for logs: same replies as other connections, in memory that is used again. */
import t from 'tap'
import fc from 'fast-check'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { openConnection } from '../../src/store/connection.js'
import { ReplyError, ReplyMemory } from '../../src/store/reply-memory.js'
import { createAuthority, tlsEngines } from '../certificates.js'
import { holds } from '../properties.js'
import { startProxy } from '../proxy.js'
import { connectFor, engineName, freePort, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const engines = await scopedEngines()
const enginesWithTls = await tlsEngines()

const SLOW_MS = 20_000
const MIB = 1024 * 1024

/** @param {import('tap').Test} t @param {string} url @param {{ deadlineMs?: number }} [options] */
async function open (t, url, { deadlineMs = SLOW_MS } = {}) {
  const connection = await openConnection(url, { isForLog: true, name: 'test-log', deadlineMs })
  t.teardown(() => connection.close())
  return connection
}

/** @param {any} reply @returns {string} RESP2 */
function encoded (reply) {
  if (reply === null) return '$-1\r\n'
  if (Array.isArray(reply)) return `*${reply.length}\r\n${reply.map(encoded).join('')}`
  if (typeof reply === 'number') return `:${reply}\r\n`
  return `$${reply.length}\r\n${reply}\r\n`
}

const anyReply = fc.letrec((tie) => ({
  reply: fc.oneof({ maxDepth: 4 }, fc.stringMatching(/^[ -~]{0,40}$/), fc.integer(), fc.constant(null),
    fc.stringMatching(/^[\r\n*$:a]{0,20}$/), fc.array(tie('reply'), { maxLength: 5 }))
})).reply

/** @param {any} reply @returns {any} strings for Buffers */
const readable = (reply) => Array.isArray(reply) ? reply.map(readable) : Buffer.isBuffer(reply) ? reply.toString() : reply

t.test('however the stream is cut, replies come out whole and in order; lent ones stay valid for a turn', (t) => holds(t, fc.property(
  fc.array(fc.record({ reply: anyReply, isLent: fc.boolean() }), { minLength: 1, maxLength: 8 }),
  fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
  (asked, pieces) => {
    const memory = new ReplyMemory()
    const bytes = Buffer.from(asked.map(({ reply }) => encoded(reply)).join(''))
    /** @type {any[]} */
    const found = []
    for (let at = 0, n = 0; at < bytes.length; at += pieces[n++ % pieces.length]) {
      for (let whole = memory.append(bytes.subarray(at, at + pieces[n % pieces.length])); whole > 0; whole--) {
        found.push(memory.take(asked[found.length].isLent))
        if (asked[found.length]?.isLent && found.length % 3 === 0) memory.turn()
      }
    }
    // before a second turn no lent reply is overwritten
    const lastTwo = found.slice(-2)
    const wanted = asked.map(({ reply }) => reply).slice(-2)
    if (found.length !== asked.length) throw new Error(`${found.length} of ${asked.length} replies`)
    if (JSON.stringify(readable(lastTwo)) !== JSON.stringify(wanted)) {
      throw new Error(`${JSON.stringify(readable(lastTwo))} for ${JSON.stringify(wanted)}`)
    }
  })))

t.test('bytes that are not RESP2 are an error', async (t) => {
  for (const text of ['HTTP/1.1 400', '\x15\x03\x01', '$1e9\r\n', '*x\r\n', '_\r\n', `+${'x'.repeat(100_000)}`]) {
    t.throws(() => new ReplyMemory().append(Buffer.from(text)), { message: /^its replies are not those of Valkey or Redis: / }, text.slice(0, 20))
  }
})

t.test('replies larger than the memory, errors and status', async (t) => {
  const memory = new ReplyMemory()
  const large = Buffer.alloc(3 * MIB, 'x')
  t.equal(memory.append(Buffer.from(`*2\r\n$${large.length}\r\n`)), 0)
  t.equal(memory.append(large), 0)
  t.equal(memory.append(Buffer.from('\r\n$0\r\n\r\n+OK\r\n-ERR no: this\r\n:-42\r\n*-1\r\n*0\r\n')), 6)
  const lent = memory.take(true)
  t.same(lent, [large, Buffer.alloc(0)])
  const rest = Array.from({ length: 5 }, () => memory.take(false))
  t.ok(rest[1] instanceof ReplyError && rest[1].message === 'ERR no: this')
  t.same([String(rest[0]), ...rest.slice(2)], ['OK', -42, null, []])
  memory.turn()
  memory.append(Buffer.from(`$${large.length}\r\n`))
  memory.append(large)
  t.equal(memory.append(Buffer.from('\r\n')), 1)
  t.ok(memory.take(true).equals(large))
  t.ok(lent[0].equals(large))
})

for (const engine of engines) {
  t.test(engineName(engine), async (t) => {
    const server = await startServer(t, { engine })
    const plain = await connectFor(t, server.url)
    for (let n = 0; n < 50; n++) await plain.send('XADD', 'log', `${n + 1}-0`, 's', Buffer.alloc(n % 7 === 0 ? 200_000 : n * 10, n))

    await t.test('replies are those of other connections, in pieces too', async (t) => {
      const proxy = await startProxy(t, server.port, { pieceBytes: 1000 })
      for (const url of [server.url, proxy.url]) {
        const connection = await open(t, url)
        for (const words of /** @type {[string, ...(string | number | Buffer)[]][]} */ ([
          ['XREAD', 'COUNT', 3, 'STREAMS', 'log', '0-0'], ['XREAD', 'COUNT', 50, 'STREAMS', 'log', 'none', '20-0', '0-0'],
          ['XREAD', 'STREAMS', 'none', '0-0'],
          ['XREVRANGE', 'log', '+', '-', 'COUNT', 2], ['XREVRANGE', 'log', '(20-0', '-', 'COUNT', 5],
          ['ZREVRANGE', 'none', 0, 0, 'WITHSCORES'], ['PING'], ['XLEN', 'log'], ['GET', 'none'], ['XLEN', Buffer.from('log')]
        ])) t.same(await connection.send(...words), await plain.send(...words), words.join(' '))
        t.match(String(await connection.send('CLIENT', 'LIST')), 'name=test-log')
      }
    })

    await t.test('a reply of XREAD is valid until XREAD was sent twice more; other replies stay valid', async (t) => {
      const connection = await open(t, server.url)
      const kept = await connection.send('XREVRANGE', 'log', '+', '-', 'COUNT', 20)
      const copy = structuredClone(JSON.stringify(kept))
      /** @type {Promise<any>} */
      let next = connection.send('XREAD', 'COUNT', 5, 'STREAMS', 'log', '0-0')
      for (let from = 5; from < 50; from += 5) {
        const reply = await next
        next = connection.send('XREAD', 'COUNT', 5, 'STREAMS', 'log', `${from}-0`)
        await Promise.all([next, connection.send('XREVRANGE', 'log', '+', '-', 'COUNT', 20)])
        reply[0][1].forEach((/** @type {[Buffer, Buffer[]]} */ [id, [, bytes]], /** @type {number} */ i) => {
          const n = from - 5 + i
          t.equal(String(id), `${n + 1}-0`)
          t.ok(bytes.equals(Buffer.alloc(n % 7 === 0 ? 200_000 : n * 10, n)))
        })
      }
      t.equal(JSON.stringify(kept), copy)
    })

    await t.test('errors have codes; the session goes on', async (t) => {
      const connection = await open(t, server.url)
      await plain.send('SET', 'text', 'x')
      const [wrong, , unknown] = await Promise.allSettled([connection.send('XREAD', 'STREAMS', 'text', '0-0'), connection.send('PING'),
        connection.send('NO-SUCH')])
      t.match(wrong, { reason: { code: 'KEY_HOLDS_OTHER', outcome: 'refused' } })
      t.match(unknown, { reason: { code: 'SERVER_REFUSED' } })
      t.equal(String(await connection.send('PING')), 'PONG')
    })

    await t.test('a blocking read ends with an entry, with the session, or with the server', async (t) => {
      const connection = await open(t, server.url)
      const waiting = connection.send('XREAD', 'BLOCK', 10_000, 'STREAMS', 'other', '0-0')
      await plain.send('XADD', 'other', '1-0', 's', 'v')
      t.match(await waiting, [[Buffer.from('other'), [[Buffer.from('1-0'), [Buffer.from('s'), Buffer.from('v')]]]]])
      const pending = t.rejects(connection.send('XREAD', 'BLOCK', 0, 'STREAMS', 'other', '1-0'),
        { code: 'SERVER_LOST', message: /test is over/ })
      connection.close('test is over')
      await pending
      await t.rejects(connection.send('PING'), { code: 'SERVER_LOST' })

      const dying = await startServer(t, { engine })
      const other = await open(t, dying.url)
      const lost = t.rejects(other.send('XREAD', 'BLOCK', 0, 'STREAMS', 'x', '0-0'), { code: 'SERVER_LOST', outcome: 'over' })
      await dying.kill()
      await lost
      t.ok(await other.closed)
    })

    await t.test('a silent server ends the session', async (t) => {
      const frozen = await startServer(t, { engine })
      const connection = await open(t, frozen.url, { deadlineMs: 300 })
      frozen.freeze()
      t.teardown(() => frozen.thaw())
      await t.rejects(connection.send('PING'), { code: 'SERVER_LOST', message: /silent for 300 ms/ })
      await t.rejects(open(t, frozen.url, { deadlineMs: 300 }), { code: 'SERVER_UNREACHABLE', message: /silent for 300 ms/ })
    })

    await t.test('passwords', async (t) => {
      const locked = await startServer(t, { engine, args: ['--requirepass', 'the-right-one'] })
      await t.rejects(open(t, locked.url), { code: 'SERVER_REFUSED' })
      await t.rejects(open(t, locked.url.replace('//', '//:wrong@')), { code: 'SERVER_REFUSED' })
      t.equal(String(await (await open(t, locked.url.replace('//', '//:the-right-one@'))).send('PING')), 'PONG')
    })
  })
}

for (const engine of enginesWithTls) {
  t.test(`${engineName(engine)}, TLS`, async (t) => {
    const authority = await createAuthority(t)
    const server = await startServer(t, { engine, tls: await authority.issue('server') })
    const connection = await open(t, server.url)
    const large = Buffer.alloc(700_000, 'v')
    await connection.send('XADD', 'log', '1-0', 's', large)
    for (let round = 0; round < 5; round++) {
      const [[, [[, [, bytes]]]]] = await connection.send('XREAD', 'STREAMS', 'log', '0-0')
      t.ok(bytes.equals(large))
    }
    await t.rejects(open(t, `rediss://127.0.0.1:${server.port}`), { code: 'SERVER_UNTRUSTED' })
    await t.rejects(open(t, `redis://127.0.0.1:${server.port}`), { code: 'SERVER_UNREACHABLE', message: /A port that expects TLS/ })
  })
}

t.test('a closed port, and peers that do not speak RESP2', async (t) => {
  await t.rejects(open(t, `redis://127.0.0.1:${await freePort()}`), { code: 'SERVER_UNREACHABLE', message: /ECONNREFUSED/ })
  for (const words of ['HTTP/1.1 400 Bad Request\r\n\r\n', '$999999999999\r\n', '*9999999\r\n', '+OK\r\n+OK\r\n+OK\r\n+unexpected\r\n']) {
    const talker = createServer((socket) => {
      socket.on('error', () => {}).resume()
      socket.write(words)
    }).listen(0, '127.0.0.1')
    t.teardown(() => talker.close())
    await once(talker, 'listening')
    const { port } = /** @type {import('node:net').AddressInfo} */ (talker.address())
    await t.rejects(open(t, `redis://127.0.0.1:${port}`, { deadlineMs: 2000 }).then((connection) => connection.send('PING')),
      { code: /SERVER_UNREACHABLE|SERVER_LOST/ }, words)
  }
})
