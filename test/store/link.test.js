import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createLink } from '../../src/store/link.js'
import { FreshetError } from '../../src/errors.js'
import { startProxy } from '../proxy.js'
import { connectFor, engineName, eventually, freePort, startServer, testEngines } from '../servers.js'

/** of one process to one server */
const LINKS = 8
const options = { name: 'test-link', deadlineMs: 5000 }

/** @param {import('tap').Test} t @param {string} url @param {Partial<Parameters<typeof createLink>[1]>} [more] */
function linkFor (t, url, more) {
  const link = createLink(url, { ...options, ...more })
  t.teardown(() => link.close())
  return link
}

for (const engine of await testEngines()) {
  t.test(engineName(engine), async (t) => {
    await t.test('after an epoch ends the next is opened, once the server is back', async (t) => {
      const server = await startServer(t, { engine })
      /** @type {string[]} */
      const events = []
      const link = linkFor(t, server.url, { onOpen: () => events.push('open'), onClosed: (reason) => events.push(reason ? 'closed' : 'closed without reason') })
      const first = await link.opened
      t.equal(link.connection, first)
      t.equal(link.epochs, 1)
      await server.kill()
      await eventually(() => link.connection === null)
      await eventually(() => link.lastError !== null)
      t.match(link.lastError, { code: 'SERVER_UNREACHABLE' })
      await server.restart()
      const second = await eventually(() => link.connection)
      t.equal(link.epochs, 2)
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
      t.equal(link.epochs, 1)
      t.same(closes, [], 'a close that was asked for is no loss')
    })

    await t.test('a link is closed at once also while it opens, or prepares, a connection to a server that says nothing', async (t) => {
      const server = await startServer(t, { engine })
      const proxy = await startProxy(t, server.port)
      const told = []
      const silently = { deadlineMs: 600_000, onError: (/** @type {Error} */ error) => told.push(error) }
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
      t.same(told, [], 'nobody is told that it could not be opened')
    })

    await t.test('an epoch that cannot be prepared is not opened, and tried again', async (t) => {
      const server = await startServer(t, { engine })
      let attempts = 0
      const link = linkFor(t, server.url, {
        async prepare () { if (++attempts < 3) throw new FreshetError('SERVER_LOST', 'still loading') }
      })
      await t.rejects(link.opened, { code: 'SERVER_LOST' })
      await eventually(() => link.connection)
      t.equal(link.epochs, 1)
      t.equal(attempts, 3)
      const watcher = await connectFor(t, server.url)
      await eventually(async () => String(await watcher.send('CLIENT', 'LIST')).match(/name=test-link/g)?.length === 1)
    })
  })
}

t.test('after an epoch that was refused the next is opened a second later', async (t) => {
  const [engine] = await testEngines()
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

t.test('a server that refuses is asked at most once a second, and found when it does not any more', async (t) => {
  const [engine] = await testEngines()
  const server = await startServer(t, { engine })
  const control = await connectFor(t, server.url)
  await control.send('ACL', 'SETUSER', 'late', 'on', '+@all')
  const proxy = await startProxy(t, server.port)
  const reasons = []
  const link = linkFor(t, proxy.url.replace('//', '//late:word@'), { onError: (error) => reasons.push(error.code) })
  await t.rejects(link.opened, { code: 'SERVER_REFUSED', message: /WRONGPASS/ })
  await pause(2500)
  t.ok(proxy.accepted <= 3, `${proxy.accepted} attempts`)
  t.same(reasons, ['SERVER_REFUSED'], 'told once')
  await control.send('ACL', 'SETUSER', 'late', '>word')
  await eventually(() => link.connection)
})

t.test('links to a server that refuses them all ask in turns, and all are back soon after one is let in', async (t) => {
  const [engine] = await testEngines()
  const server = await startServer(t, { engine })
  const control = await connectFor(t, server.url)
  await control.send('ACL', 'SETUSER', 'many', 'on', '>word', '+@all')
  const proxy = await startProxy(t, server.port)
  const url = proxy.url.replace('//', '//many:word@')
  const links = Array.from({ length: LINKS }, () => linkFor(t, url))
  await Promise.all(links.map((link) => link.opened))
  await control.send('ACL', 'SETUSER', 'many', 'resetpass', '>other')
  proxy.resetAll()
  await eventually(() => links.every(({ connection, lastError }) => connection === null && lastError?.code === 'SERVER_REFUSED'))
  const [before, since] = [proxy.accepted, performance.now()]
  await pause(4000)
  const newcomer = linkFor(t, url)
  await t.rejects(newcomer.opened, { code: 'SERVER_REFUSED' }, 'told without asking')
  const made = proxy.accepted - before
  const seconds = (performance.now() - since) / 1000
  t.ok(made >= 1, 'somebody asks')
  t.ok(made <= seconds + 2, `${made} attempts in ${seconds} s`)
  await links[0].close()
  await control.send('ACL', 'SETUSER', 'many', '>word')
  await eventually(() => [...links.slice(1), newcomer].every(({ connection }) => connection), { deadlineMs: LINKS * 1000 })
  const other = linkFor(t, url)
  await other.opened
})

t.test('connections that are let in and refused by what they do are asked for in turns too', async (t) => {
  const [engine] = await testEngines()
  const server = await startServer(t, { engine })
  const proxy = await startProxy(t, server.port)
  let isRefusing = true
  const links = Array.from({ length: LINKS }, () => linkFor(t, proxy.url, {
    onOpen: (connection) => { if (isRefusing) setImmediate(() => connection.close('the server at x answered: NOPERM', { refused: true })) }
  }))
  await eventually(() => links.every(({ lastError }) => lastError))
  const [before, since] = [proxy.accepted, performance.now()]
  await pause(3000)
  const [made, seconds] = [proxy.accepted - before, (performance.now() - since) / 1000]
  t.ok(made >= 1 && made <= seconds + 2, `${made} attempts in ${seconds} s`)
  isRefusing = false
  await eventually(() => links.every(({ connection }) => connection))
})

t.test('epochs that were of use follow each other quickly, however often they end', async (t) => {
  const [engine] = await testEngines()
  const server = await startServer(t, { engine })
  const proxy = await startProxy(t, server.port)
  const link = linkFor(t, proxy.url)
  await link.opened
  const since = performance.now()
  const rounds = 40
  for (let round = 1; round <= rounds; round++) {
    await link.connection?.send('PING')
    proxy.resetAll()
    await eventually(() => link.epochs > round && link.connection)
  }
  t.ok(performance.now() - since < rounds * 500, 'waits that grow to a second would take longer')
})

t.test('epochs that end as soon as they are open follow each other ever more slowly', async (t) => {
  const [engine] = await testEngines()
  const server = await startServer(t, { engine })
  const proxy = await startProxy(t, server.port)
  const link = linkFor(t, proxy.url, { onOpen: () => setImmediate(() => proxy.resetAll()) })
  await pause(3000)
  t.ok(link.epochs > 1)
  t.ok(link.epochs < 15, `${link.epochs} epochs`)
})

t.test('the first failure is told, and a server that comes later is found', async (t) => {
  const [engine] = await testEngines()
  const port = await freePort()
  const link = linkFor(t, `redis://127.0.0.1:${port}`)
  await t.rejects(link.opened, { code: 'SERVER_UNREACHABLE' })
  t.equal(link.connection, null)
  await startServer(t, { engine, port })
  await eventually(() => link.connection)
  t.equal(link.epochs, 1)
})

t.test('closing leaves nothing pending, even what never opened', async (t) => {
  const link = createLink(`redis://127.0.0.1:${await freePort()}`, options)
  await link.close()
  await t.rejects(link.opened)
  const [engine] = await testEngines()
  const server = await startServer(t, { engine })
  const opening = createLink(server.url, options)
  await opening.close()
  await t.rejects(opening.opened, { code: 'SERVER_LOST' })
  t.equal(opening.connection, null)
})
