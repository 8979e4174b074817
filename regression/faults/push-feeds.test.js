/** What happens to a feed while clients follow it, and what they may ask for: dropped, created again, made wider, without a view. */
import t from 'tap'
import { dropFeed, setRetention } from '../../src/feeds/definitions.js'
import { metricsOf, openLive } from '../../test/push/live-client.js'
import { openWritten } from '../../test/push/written.js'
import { connectFor, engineName, eventually, startServer } from '../../test/servers.js'
import { startReader } from '../../test/services.js'
import { scopedEngines } from '../../test/scope.js'

const LAYOUTS = ['segments', 'ids']
const MOST_IDS = 1000

t.jobs = 2
// on one engine: it is the reader that is looked at
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const admin = await connectFor(t, server.url)
  const reader = await startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary'] })
  const path = (/** @type {string} */ feed, query = '') => `/v1/feeds/${feed}/live${query}`
  const open = (/** @type {import('tap').Test} */ t, /** @type {string} */ feed, query = '') => openLive(t, reader.url, path(feed, query))
  const feeds = async () => [...await metricsOf(reader)].filter(([name]) => name.startsWith('freshet_view_items'))
    .map(([name]) => /feed="([^"]+)"/.exec(name)?.[1])

  for (const layout of LAYOUTS) {
    await t.test(`${layout}: dropped while streams are open, and created again: clients get a reset, and go on`, async (t) => {
      const feed = `dropped-${layout}`
      const before = await openWritten(t, { redisUrl: server.url, feed, layout })
      await before.put(['old', '1'])
      const clients = [await open(t, feed), await open(t, feed, '?id=old&id=new')]
      await Promise.all(clients.map((client) => client.until('snapshot')))
      await before.writer.close({ drainMs: 1000 })
      await eventually(() => dropFeed(admin, 'fr:', feed))
      await eventually(async () => {
        const late = await open(t, feed)
        late.close()
        return late.status === 404
      })
      t.same(clients.map(({ isEnded }) => isEnded), [false, false], 'they wait')
      const after = await openWritten(t, { redisUrl: server.url, feed, layout, partitions: 2 })
      await after.put(['new', '2'])
      for (const client of clients) {
        await client.until('snapshot', 2)
        t.same(client.names().slice(-2).includes('reset') || client.names().includes('reset'), true)
        t.same(client.events.find(({ event }) => event === 'reset')?.data, { reason: 'rebuilt' })
      }
      await after.put(['new', '3'])
      await after.reaches(clients, ['new'])
    })

    await t.test(`${layout}: retention is made wider and narrower while clients follow`, async (t) => {
      const feed = `wider-${layout}`
      const written = await openWritten(t, { redisUrl: server.url, feed, layout, windowMs: 60_000 })
      await written.put(['a', '1'])
      const client = await open(t, feed, '?limit=10000')
      await client.until('snapshot')
      for (const windowMs of [600_000, 30_000, 0].slice(0, layout === 'ids' ? 3 : 2)) {
        await setRetention(admin, 'fr:', feed, { windowMs })
        await written.put(['a', `${windowMs}`], [`b-${windowMs}`, '1'])
        await eventually(async () => (await reader.get(`/v1/feeds/${feed}`)).json.windowMs === windowMs)
        await written.put(['a', `${windowMs} again`])
        await written.reaches([client])
      }
      t.same(client.wentBack, [])
    })

    await t.test(`${layout}: ids that are not there yet, that go, and come again; ${MOST_IDS} of them`, async (t) => {
      const feed = `ids-${layout}`
      const written = await openWritten(t, { redisUrl: server.url, feed, layout })
      await written.put(['there', '1'], ['other', '1'])
      const names = Array.from({ length: MOST_IDS }, (_, n) => `id-${n}`)
      const [few, all, none] = [
        await open(t, feed, '?id=there&id=later&id=never'),
        await open(t, feed, `?${names.map((id) => `id=${id}`).join('&')}`),
        await open(t, feed, '?id=never')
      ]
      await Promise.all([few, all, none].map((client) => client.until('snapshot')))
      t.same([...few.items.keys()], ['there'])
      t.same(all.events[0].data.items, [])
      await written.put(['later', '2'], ['other', '2'], ...names.map((id) => /** @type {[string, string]} */ ([id, '1'])))
      await written.reaches([few], ['there', 'later'])
      await written.reaches([all], names)
      await written.remove('there')
      await eventually(() => few.items.get('there').deleted)
      await written.put(['there', 'again'])
      await written.reaches([few], ['there', 'later'])
      t.same([...few.items.keys()].sort(), ['later', 'there'])
      t.equal(none.items.size, 0)
      t.same([few, all, none].map(({ wentBack }) => wentBack), [[], [], []])
      const tooMany = await reader.get(path(feed, `?${[...names, 'more'].map((id) => `id=${id}`).join('&')}`))
      t.match([tooMany.status, tooMany.json.code], [400, 'REQUEST_INVALID'])
    })
  }

  await t.test('ids: streams need no view, and what they follow is let go when the last has ended', async (t) => {
    const feed = 'viewless'
    const written = await openWritten(t, { redisUrl: server.url, feed, layout: 'ids' })
    await written.put(['a', '1'])
    const clients = [await open(t, feed), await open(t, feed)]
    await written.put(['a', '2'])
    await written.reaches(clients)
    t.notOk((await feeds()).includes(feed))
    clients[0].close()
    clients[1].close()
    await eventually(async () => (await metricsOf(reader)).get('freshet_streams') === 0)
    const again = await open(t, feed)
    await written.put(['a', '3'])
    await written.reaches([again])
  })

  await t.test('a reader without views says what to change', async (t) => {
    await openWritten(t, { redisUrl: server.url, feed: 'plain', layout: 'segments' })
    const plain = await startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary', '--views', 'none'] })
    const { status, json } = await plain.get(path('plain'))
    t.match([status, json.code, json.retryable], [501, 'VIEW_NEEDED', false])
    t.equal((await plain.get(path('nobody'))).status >= 400, true)
    t.equal((await metricsOf(plain)).get('freshet_streams'), 0)
    t.equal(await plain.service.stop(), 0)
  })
})
