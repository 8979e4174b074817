import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createLink } from '../../src/store/link.js'
import { FreshetError } from '../../src/errors.js'
import { startProxy } from '../proxy.js'
import { connectFor, engineName, eventually, freePort, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const options = { name: 'test-link', deadlineMs: 5000 }

/** @param {import('tap').Test} t @param {string} url @param {Partial<Parameters<typeof createLink>[1]>} [more] */
function linkFor (t, url, more) {
  const link = createLink(url, { ...options, ...more })
  t.teardown(() => link.close())
  return link
}

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    await t.test('after a session ends the next one opens, once the server is back', async (t) => {
      const server = await startServer(t, { engine })
      /** @type {string[]} */
      const events = []
      const link = linkFor(t, server.url,
        { onOpen: () => events.push('open'), onClosed: (reason) => events.push(reason ? 'closed' : 'closed without reason') })
      const first = await link.opened
      t.equal(link.connection, first)
      t.equal(link.sessions, 1)
      await server.kill()
      await eventually(() => link.connection === null)
      await eventually(() => link.lastError !== null)
      t.match(link.lastError, { code: 'SERVER_UNREACHABLE' })
      await server.restart()
      const second = await eventually(() => link.connection)
      t.equal(link.sessions, 2)
      t.notOk(second === first)
      t.equal(link.lastError, null)
      t.equal(String(await second?.send('PING')), 'PONG')
      t.same(events, ['open', 'closed', 'open'])
    })

    await t.test('a closed link has no connection and opens none', async (t) => {
      const server = await startServer(t, { engine })
      const watcher = await connectFor(t, server.url)
      const isConnected = async () => String(await watcher.send('CLIENT', 'LIST')).includes('name=test-link')
      const closes = []
      const link = linkFor(t, server.url, { onClosed: (reason) => closes.push(reason) })
      await link.opened
      t.ok(await isConnected())
      await link.close()
      t.equal(link.connection, null)
      await eventually(async () => !await isConnected())
      t.equal(link.sessions, 1)
      t.same(closes, [], 'a requested close is not a loss')
    })

    await t.test('a link closes at once while it opens or prepares a connection to a silent server', async (t) => {
      const server = await startServer(t, { engine })
      const proxy = await startProxy(t, server.port)
      const errors = []
      const silently = { deadlineMs: 600_000, onError: (/** @type {Error} */ error) => errors.push(error) }
      let isPreparing = false
      const preparing = linkFor(t, proxy.url, {
        ...silently,
        prepare: async (connection) => {
          proxy.goSilent()
          isPreparing = true
          await connection.send('PING')
        }
      })
      await eventually(() => isPreparing)
      const opening = linkFor(t, proxy.url, silently)
      await eventually(() => proxy.accepted === 2)
      await Promise.all([preparing, opening].map(async (link) => {
        await link.close()
        await t.rejects(link.opened, { code: 'SERVER_LOST' })
      }))
      await eventually(() => proxy.lines.length === 0)
      t.same(errors, [], 'a close is not reported as an error')
    })

    await t.test('a session that cannot be prepared is not opened, and the link tries again', async (t) => {
      const server = await startServer(t, { engine })
      let attempts = 0
      const link = linkFor(t, server.url, {
        async prepare () { if (++attempts < 3) throw new FreshetError('SERVER_LOST', 'still loading') }
      })
      await t.rejects(link.opened, { code: 'SERVER_LOST' })
      await eventually(() => link.connection)
      t.equal(link.sessions, 1)
      t.equal(attempts, 3)
      const watcher = await connectFor(t, server.url)
      await eventually(async () => String(await watcher.send('CLIENT', 'LIST')).match(/name=test-link/g)?.length === 1)
    })
  })
}

t.test('after a refused session the next one opens a second later', async (t) => {
  const [engine] = await scopedEngines()
  const server = await startServer(t, { engine })
  const link = linkFor(t, server.url)
  const first = await link.opened
  t.equal(first.refused, false)
  const closedAt = performance.now()
  first.close('the server at x answered: NOPERM', { refused: true })
  t.equal(first.refused, true)
  await eventually(() => link.connection === null)
  await eventually(() => link.lastError)
  t.match(link.lastError, { code: 'SERVER_REFUSED', retryable: false, message: /NOPERM/ })
  await eventually(() => link.connection)
  t.ok(performance.now() - closedAt >= 1000)
  t.equal(link.lastError, null)
})

t.test('a link asks a server that refuses at most once a second, and opens when it accepts', async (t) => {
  const [engine] = await scopedEngines()
  const server = await startServer(t, { engine })
  const control = await connectFor(t, server.url)
  await control.send('ACL', 'SETUSER', 'late', 'on', '+@all')
  const proxy = await startProxy(t, server.port)
  const reasons = []
  const link = linkFor(t, proxy.url.replace('//', '//late:word@'), { onError: (error) => reasons.push(error.code) })
  await t.rejects(link.opened, { code: 'SERVER_REFUSED', message: /WRONGPASS/ })
  await pause(2500)
  t.ok(proxy.accepted <= 3, `${proxy.accepted} attempts`)
  t.same(reasons, ['SERVER_REFUSED'], 'reported once')
  await control.send('ACL', 'SETUSER', 'late', '>word')
  await eventually(() => link.connection)
})

t.test('a link whose session is refused by what it does asks at most once a second', async (t) => {
  const [engine] = await scopedEngines()
  const server = await startServer(t, { engine })
  const proxy = await startProxy(t, server.port)
  let isRefusing = true
  const link = linkFor(t, proxy.url, {
    onOpen: (connection) => { if (isRefusing) setImmediate(() => connection.close('the server at x answered: NOPERM', { refused: true })) }
  })
  await eventually(() => link.lastError)
  const [before, since] = [proxy.accepted, performance.now()]
  await pause(3000)
  const [made, seconds] = [proxy.accepted - before, (performance.now() - since) / 1000]
  t.ok(made >= 1 && made <= seconds, `${made} attempts in ${seconds} s`)
  isRefusing = false
  await eventually(() => link.connection)
})

t.test('sessions that were of use follow each other quickly, however often they end', async (t) => {
  const [engine] = await scopedEngines()
  const server = await startServer(t, { engine })
  const proxy = await startProxy(t, server.port)
  const link = linkFor(t, proxy.url)
  await link.opened
  const since = performance.now()
  const rounds = 40
  for (let round = 1; round <= rounds; round++) {
    await link.connection?.send('PING')
    proxy.resetAll()
    await eventually(() => link.sessions > round && link.connection)
  }
  t.ok(performance.now() - since < rounds * 500, 'waits that grow to a second would take longer')
})

t.test('sessions that end as soon as they open follow each other more and more slowly', async (t) => {
  const [engine] = await scopedEngines()
  const server = await startServer(t, { engine })
  const proxy = await startProxy(t, server.port)
  const link = linkFor(t, proxy.url, { onOpen: () => setImmediate(() => proxy.resetAll()) })
  await pause(3000)
  t.ok(link.sessions > 1)
  t.ok(link.sessions < 15, `${link.sessions} sessions`)
})

t.test('the first failure rejects `opened`, and a server that starts later is found', async (t) => {
  const [engine] = await scopedEngines()
  const port = await freePort()
  const link = linkFor(t, `redis://127.0.0.1:${port}`)
  await t.rejects(link.opened, { code: 'SERVER_UNREACHABLE' })
  t.equal(link.connection, null)
  await startServer(t, { engine, port })
  await eventually(() => link.connection)
  t.equal(link.sessions, 1)
})

t.test('closing leaves nothing pending, even if the link never opened', async (t) => {
  const link = createLink(`redis://127.0.0.1:${await freePort()}`, options)
  await link.close()
  await t.rejects(link.opened)
  const [engine] = await scopedEngines()
  const server = await startServer(t, { engine })
  const opening = createLink(server.url, options)
  await opening.close()
  await t.rejects(opening.opened, { code: 'SERVER_LOST' })
  t.equal(opening.connection, null)
})
