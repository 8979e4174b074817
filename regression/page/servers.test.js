/** The page while servers and the reader stop and restart. */
import t from 'tap'
import { needsBrowser } from '../../test/browser.js'
import { startDeployment, testEngines } from '../../test/servers.js'
import { startReader } from '../../test/services.js'
import { CALM, seen, startWatching, withoutRefusals } from '../../test/page/watching.js'

t.test('stopped servers are shown as stopped until they are back', needsBrowser, async (t) => {
  const [engine] = await testEngines()
  // the primary has its data after a restart
  const deployment = await startDeployment(t, { engine, replicas: 2, args: ['--appendonly', 'yes'] })
  const { primary, replicas: [first, second], redisUrl, reader, open, show } = await startWatching(t, deployment)
  const { keepPutting } = await open('latest', { windowMs: 600_000 })
  keepPutting(['a', 'b', 'c'])
  const { page, shows, rows, serverShows, faults } = await show(t, '/?feed=latest', CALM)
  await shows('state', /^live$/)
  const said = (/** @type {RegExp} */ pattern) => shows('servers-said', pattern)

  await t.test('a frozen replica', async () => {
    await serverShows(first, /up/)
    first.freeze()
    await serverShows(first, /stopped/)
    await shows('state', /^1 server stopped$/)
    await said(new RegExp(`^replica 127.0.0.1:${first.port} stopped$`))
    await shows('rate', /^[1-9]/)
    first.thaw()
    await serverShows(first, /up/)
    await said(/is up again$/)
    await shows('state', /^live$/)
  })

  await t.test('a killed replica, which its primary no longer lists', async () => {
    await second.kill()
    await serverShows(second, /stopped/)
    await second.restart()
    await serverShows(second, /up/)
    await shows('state', /^live$/)
  })

  await t.test('the primary', async () => {
    await primary.kill()
    await serverShows(primary, /stopped/)
    await primary.restart()
    await serverShows(primary, /up/)
    await shows('state', /^live$/)
    await shows('rate', /^[1-9]/)
  })

  await t.test('all servers', async () => {
    const all = [primary, first, second]
    for (const server of all) server.freeze()
    for (const server of all) await serverShows(server, /stopped/)
    await shows('state', /^servers unavailable$/)
    await shows('notice', /^The servers are unavailable: /)
    await shows('rate', /^–$/)
    for (const server of all) server.thaw()
    await shows('state', /^live$/)
    await shows('notice', /^$/)
    await shows('rate', /^[1-9]/)
  })

  await t.test('the reader', async (t) => {
    const before = await rows()
    await reader.service.stop()
    await shows('state', /^reader offline$/)
    await shows('notice', /^The reader does not respond. This page shows data from \d\d:\d\d:\d\d\./)
    await startReader(t, { redisUrl, port: Number(new URL(reader.url).port) })
    await shows('state', /^live$/)
    await shows('notice', /^$/)
    await seen(async () => {
      const after = await rows()
      return after.length === 3 && after[0][2] !== before[0][2]
    })
    t.same(withoutRefusals(faults), [])
    t.match(page.url(), /feed=latest$/)
  })
})
