import t from 'tap'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { wholeCommand } from '../../src/layouts/wire.js'
import { openConnection } from '../../src/store/connection.js'
import { connectFor, engineName, eventually, freePort, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const SLOW_MS = 20_000
const options = { name: 'test', deadlineMs: SLOW_MS }

/** @param {(string | number)[][]} commands */
const encoded = (...commands) => ({ bytes: Buffer.concat(commands.map((words) => wholeCommand(...words))), replies: commands.length })

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const server = await startServer(t, { engine })

    await t.test('replies come in the order of the commands, however they were sent', async (t) => {
      const connection = await connectFor(t, server.url)
      const replies = await Promise.all([
        connection.send('INCR', 'a'),
        connection.sendAll([['INCR', 'a'], ['INCR', 'a'], ['GET', 'a']]),
        connection.sendEncoded(encoded(['MULTI'], ['INCR', 'a'], ['INCR', 'a'], ['EXEC'])),
        connection.send('INCR', 'a'),
        connection.sendEncoded(encoded(['INCR', 'a']))
      ])
      t.same(replies, [1, [2, 3, Buffer.from('3')], [4, 5], 6, 7])
    })

    await t.test('bytes arrive and come back as they were', async (t) => {
      const connection = await connectFor(t, server.url)
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
      await connection.send('SET', bytes, bytes)
      t.ok((await connection.send('GET', bytes)).equals(bytes))
      t.same(await connection.send('MGET', 'no-such-key', bytes), [null, bytes])
    })

    await t.test('an error reply has a code, and no arguments of the command', async (t) => {
      const connection = await connectFor(t, server.url)
      await connection.send('SET', 'text', 'x')
      await t.rejects(connection.send('ZADD', 'text', 1, 'secret-value'), { code: 'KEY_HOLDS_OTHER', outcome: 'refused' })
      const error = await connection.send('NO-SUCH', 'secret-value').catch((error) => error)
      t.match(error, { code: 'SERVER_REFUSED', outcome: 'refused' })
      t.notOk(JSON.stringify({ ...error, message: error.message, stack: error.stack }).includes('secret-value'))
      t.equal(String(await connection.send('PING')), 'PONG', 'the session goes on')
    })

    await t.test('of commands sent together the first error counts, and all replies are read', async (t) => {
      const connection = await connectFor(t, server.url)
      await connection.send('SET', 'text', 'x')
      await t.rejects(connection.sendEncoded(encoded(['INCR', 'n'], ['ZADD', 'text', 1, 'a'], ['NO-SUCH'], ['INCR', 'n'])),
        { code: 'KEY_HOLDS_OTHER' })
      await t.rejects(connection.sendAll([['INCR', 'n'], ['ZADD', 'text', 1, 'a'], ['INCR', 'n']]), { code: 'KEY_HOLDS_OTHER' })
      t.equal(String(await connection.send('GET', 'n')), '4')
    })

    await t.test('an error inside a transaction is an error', async (t) => {
      const connection = await connectFor(t, server.url)
      await connection.send('SET', 'text', 'x')
      await t.rejects(connection.sendEncoded(encoded(['MULTI'], ['SET', 'b', 1], ['ZADD', 'text', 1, 'a'], ['EXEC'])),
        { code: 'KEY_HOLDS_OTHER', outcome: 'refused' })
    })

    await t.test('a script is loaded again after the server lost it', async (t) => {
      const connection = await connectFor(t, server.url)
      await connection.send('ZADD', 'ids', 1, 'a', 1, 'b', 2, 'c')
      const page = () => connection.runScript('seek-members', ['ids'], [2, 'c', 'older', 10])
      const first = await page()
      await connection.send('SCRIPT', 'FLUSH')
      t.same(await page(), first)
      t.equal(String(first), '1,b,1,a,1')
    })

    await t.test('closing ends the session: pending and later requests reject', async (t) => {
      const connection = await openConnection(server.url, options)
      const pending = connection.send('BLPOP', 'never', 0)
      connection.close('test is over')
      connection.close('again')
      await t.rejects(pending, { code: 'SERVER_LOST', outcome: 'over', retryable: true, message: /test is over/ })
      t.equal(await connection.closed, 'test is over')
      await t.rejects(connection.send('PING'), { code: 'SERVER_LOST' })
      await t.rejects(connection.sendAll([['PING']]), { code: 'SERVER_LOST' })
      await t.rejects(connection.sendEncoded(encoded(['PING'])), { code: 'SERVER_LOST' })
      await t.rejects(connection.runScript('seek-members', ['ids'], [1, 'a', 'older', 1]), { code: 'SERVER_LOST' })
    })

    await t.test('a server at maxmemory is full', async (t) => {
      const full = await startServer(t, { engine, args: ['--maxmemory', '1mb', '--maxmemory-policy', 'noeviction'] })
      const connection = await connectFor(t, full.url)
      await t.rejects(connection.send('SET', 'a', Buffer.alloc(100_000)), { code: 'SERVER_FULL', outcome: 'full', retryable: true })
      await t.rejects(connection.sendEncoded(encoded(['MULTI'], ['SET', 'a', 1], ['EXEC'])), { code: 'SERVER_FULL', outcome: 'full' })
      await t.rejects(connection.runScript('append-newest', ['ids', 'deletions', 'item:a'], [1, 0, 1000, 0, 0, Buffer.alloc(9), 1, 'a']),
        { code: 'SERVER_FULL', outcome: 'full' })
    })

    await t.test('a wrong password is refused, and not shown', async (t) => {
      const guarded = await startServer(t, { engine, args: ['--requirepass', 'sesame'] })
      const at = (/** @type {string} */ who) => `redis://${who}127.0.0.1:${guarded.port}`
      for (const who of [':wrong-secret@', 'bus:wrong-secret@']) {
        const error = await openConnection(at(who), options).catch((error) => error)
        t.match(error, { code: 'SERVER_REFUSED', retryable: false, message: new RegExp(`127.0.0.1:${guarded.port}`) })
        t.notOk(`${error.message} ${JSON.stringify(error)} ${error.stack}`.includes('wrong-secret'))
      }
      await t.rejects(openConnection(at(''), options).then((connection) => connection.send('PING')), { code: 'SERVER_REFUSED' })
      const connection = await connectFor(t, at(':sesame@'))
      t.equal(String(await connection.send('PING')), 'PONG')
    })

    await t.test('users and passwords may have any characters, and a server without passwords accepts any', async (t) => {
      const control = await connectFor(t, server.url)
      for (const [user, password] of [['plain', 'word'], ['user@x', 'p@ss:w/rd?%&=#'], ['percent', '100%'], ['é', 'ü%zz']]) {
        await control.send('ACL', 'SETUSER', user, 'on', `>${password}`, '+@all', '~*')
        const encoded = `redis://${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1:${server.port}`
        t.equal(String(await (await connectFor(t, encoded)).send('ACL', 'WHOAMI')), user)
      }
      const unencoded = await connectFor(t, `redis://percent:100%@127.0.0.1:${server.port}`)
      t.equal(String(await unencoded.send('ACL', 'WHOAMI')), 'percent')
      const needless = await connectFor(t, `redis://:needless@127.0.0.1:${server.port}`)
      t.equal(String(await needless.send('PING')), 'PONG', 'a server without passwords ignores one')
    })

    await t.test('the database of the address is used, or an error', async (t) => {
      const [second, first] = await Promise.all([connectFor(t, `${server.url}/2`), connectFor(t, server.url)])
      await second.send('SET', 'only-here', '1')
      t.equal(await first.send('EXISTS', 'only-here'), 0)
      await t.rejects(openConnection(`${server.url}/99`, options), { code: 'SERVER_REFUSED', message: /DB index is out of range/ })
    })

    await t.test('a user that may not name its connection can connect', async (t) => {
      const control = await connectFor(t, server.url)
      await control.send('ACL', 'SETUSER', 'nameless', 'on', '>word', '-@all', '+ping', '+echo')
      const connection = await connectFor(t, `redis://nameless:word@127.0.0.1:${server.port}`)
      t.equal(String(await connection.send('PING')), 'PONG')
      t.match(await connection.send('GET', 'a').catch((error) => error), { code: 'SERVER_REFUSED', outcome: 'forbidden' })
      t.equal(connection.answered, 4, 'AUTH, CLIENT SETNAME, and two commands')
    })

    await t.test('when a server is killed, every pending request rejects', async (t) => {
      const dying = await startServer(t, { engine })
      const connection = await connectFor(t, dying.url)
      await connection.send('PING')
      dying.freeze()
      const pending = [
        connection.send('PING'),
        connection.sendAll([['PING'], ['PING']]),
        connection.sendEncoded(encoded(['MULTI'], ['PING'], ['EXEC'])),
        connection.sendEncoded(encoded(['PING'])),
        connection.runScript('seek-members', ['ids'], [1, 'a', 'older', 1])
      ].map((request) => request.catch((error) => error))
      await dying.kill()
      for (const error of await Promise.all(pending)) t.match(error, { code: 'SERVER_LOST', outcome: 'over' })
      t.ok(await connection.closed)
    })

    await t.test('a request rejects, whenever the server ends', async (t) => {
      const going = await startServer(t, { engine })
      for (let round = 0; round < 5; round++) {
        const connection = await connectFor(t, going.url)
        const errors = []
        const ended = { so: false }
        connection.closed.then(() => { ended.so = true })
        if (round > 0) await going.kill()
        else going.process.kill('SIGKILL')
        while (!ended.so) {
          await connection.sendEncoded(encoded(['PING'])).catch((error) => errors.push(error))
          await setImmediate()
        }
        await connection.sendEncoded(encoded(['PING'])).catch((error) => errors.push(error))
        t.ok(errors.length > 0)
        for (const error of errors) t.match(error, { code: 'SERVER_LOST' })
        await going.restart()
      }
    })

    await t.test('a server that is silent while it owes a reply ends the session', async (t) => {
      const freezing = await startServer(t, { engine })
      const connection = await connectFor(t, freezing.url, { deadlineMs: 300 })
      await connection.send('PING')
      freezing.freeze()
      await Promise.all([connection.send('PING'), connection.sendEncoded(encoded(['PING'], ['PING']))].map((request) =>
        t.rejects(request, { code: 'SERVER_LOST', outcome: 'over', message: /silent for 300 ms/ })))
      t.match(await connection.closed, /silent/)
      freezing.thaw()
    })

    await t.test('a connection without requests may be silent', async (t) => {
      const connection = await connectFor(t, server.url, { deadlineMs: 500 })
      await new Promise((resolve) => setTimeout(resolve, 700))
      t.equal(String(await connection.send('PING')), 'PONG')
    })

    await t.test('a process that was busy past the deadline reads replies first', async (t) => {
      const connection = await connectFor(t, server.url, { deadlineMs: 200 })
      const reply = connection.send('PING')
      await once(process, 'never', { signal: AbortSignal.timeout(1) }).catch(() => {})
      for (const until = Date.now() + 700; Date.now() < until;);
      t.equal(String(await reply), 'PONG')
    })

    await t.test('a process that is busy past the deadline in each turn opens a connection', async (t) => {
      const over = new AbortController()
      const busy = (async () => {
        for (; !over.signal.aborted; await setImmediate()) for (const until = Date.now() + 300; Date.now() < until;);
      })()
      const connection = await eventually(() => openConnection(server.url, { name: 'test', deadlineMs: 100 }))
      over.abort()
      await busy
      connection.close()
    })

    await t.test('and at once, by a name as well', async (t) => {
      const at = `redis://localhost:${server.port}`
      await (await openConnection(at, options)).close()
      const opening = openConnection(at, { name: 'test', deadlineMs: 1000 })
      await setImmediate()
      for (const until = Date.now() + 2500; Date.now() < until;);
      const connection = await opening
      connection.close()
    })
  })
}

t.test('a closed port is unreachable', async (t) => {
  const port = await freePort()
  await t.rejects(openConnection(`redis://:secret@127.0.0.1:${port}`, options), {
    code: 'SERVER_UNREACHABLE',
    retryable: true,
    message: `no server answers at 127.0.0.1:${port} (ECONNREFUSED). Is it running, and is the address right?`
  })
})

t.test('an unknown host is unreachable', async (t) => {
  await t.rejects(openConnection('redis://no-such-host.invalid:6379', options),
    { code: 'SERVER_UNREACHABLE', message: /no-such-host\.invalid:6379/ })
})

t.test('a peer that accepts and never answers is unreachable after the deadline', async (t) => {
  const peer = createServer((socket) => socket.resume()).listen(0, '127.0.0.1')
  t.teardown(() => peer.close())
  await once(peer, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (peer.address())
  const late = { code: 'SERVER_UNREACHABLE', message: /\(silent for 200 ms\)\. Is it running, and is the address right\?$/ }
  await t.rejects(openConnection(`redis://127.0.0.1:${port}`, { name: 'test', deadlineMs: 200 }), late)
  const over = new AbortController()
  const busy = openConnection(`redis://127.0.0.1:${port}`, { name: 'test', deadlineMs: 200 })
  const opening = t.rejects(busy.finally(() => over.abort()), late, 'in a busy process as well')
  for (; !over.signal.aborted; await setImmediate()) for (const until = Date.now() + 300; Date.now() < until;);
  await opening
})

t.test('a peer that closes at once is unreachable', async (t) => {
  const peer = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  t.teardown(() => peer.close())
  await once(peer, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (peer.address())
  await t.rejects(openConnection(`redis://127.0.0.1:${port}`, { name: 'test', deadlineMs: 5000 }), { code: 'SERVER_UNREACHABLE' })
})
