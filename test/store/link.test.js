import t from 'tap'
import { createLink } from '../../src/store/link.js'
import { FreshetError } from '../../src/errors.js'
import { connectFor, engineName, eventually, freePort, startServer, testEngines } from '../servers.js'

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
