/** Streams that begin where the client wants: with the ids that changed last, or with all since a time. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { layoutNames } from '../../src/layouts/index.js'
import { scopedEngines } from '../scope.js'
import { engineName, eventually, startServer } from '../servers.js'
import { startReader } from '../services.js'
import { openLive } from './live-client.js'

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const reader = await startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary'] })
  const live = (/** @type {import('tap').Test} */ t, /** @type {string} */ path, /** @type {string} */ from = '') =>
    openLive(t, `${reader.url}/v1`, path, { headers: from === '' ? {} : { 'last-event-id': from } })
  const idsIn = (/** @type {{ events: any[] }} */ { events }) =>
    events.flatMap(({ data }) => data.items ?? []).map(({ id }) => id)

  for (const layout of layoutNames()) {
    await t.test(layout, async (t) => {
      const feed = `starts-${layout}`
      const one = await openFeed(feed, { redisUrl: server.url, layout, partitions: 2, windowMs: 3_600_000, deadlineMs: 20_000 })
      t.teardown(() => one.close())
      /** Each is a batch of its own. @param {string[]} ids */
      async function put (...ids) {
        for (const id of ids) {
          one.append({ id, value: '1' })
          await one.flush()
          await pause(2)
        }
      }
      await put('a', 'b', 'c', 'd')
      await pause(50)
      const sinceMs = Date.now()
      await pause(50)
      await put('e', 'b', 'f')

      const tail = await live(t, `/feeds/${feed}/live?tail=3`)
      await eventually(() => idsIn(tail).length === 3)
      t.same([tail.names().filter((name) => name !== 'items'), idsIn(tail)], [[], ['e', 'b', 'f']], 'those that changed last, in order')
      const since = await live(t, `/feeds/${feed}/live?since=${sinceMs}`)
      await eventually(() => idsIn(since).length === 3)
      t.same([since.names().filter((name) => name !== 'items'), idsIn(since).sort()], [[], ['b', 'e', 'f']])
      const all = await live(t, `/feeds/${feed}/live?tail=1000`)
      await eventually(() => idsIn(all).length === 6)
      const some = await live(t, `/feeds/${feed}/live?tail=2&id=a&id=b&id=f`)
      await eventually(() => idsIn(some).length === 2)
      t.same(idsIn(some).sort(), ['b', 'f'])
      const later = await live(t, `/feeds/${feed}/live?since=${Date.now() + 60_000}`)
      const several = await live(t, `/live?feed=${feed}&feed=${feed}-none&tail=2`)
      await eventually(() => idsIn(several).length === 2)
      t.same(idsIn(several).sort(), ['b', 'f'])

      await put('g')
      await eventually(() => [tail, since, all, later, several].every((client) => idsIn(client).includes('g')))
      t.same([tail, since, all, several].map((client) => idsIn(client).length), [4, 4, 7, 3], 'each once')
      t.same(idsIn(later), ['g'], 'a time that is to come begins now')
      const { position } = tail
      await put('h')
      const again = await live(t, `/feeds/${feed}/live?tail=5`, position)
      await eventually(() => idsIn(again).includes('h'))
      t.same(idsIn(again), ['h'], 'a position comes first')
      const before = await live(t, `/feeds/${feed}/live?since=1`)
      await eventually(() => idsIn(before).length === 8)
      t.same(new Set(idsIn(before)), new Set('abcdefgh'))

      one.delete({ id: 'a' })
      await one.flush()
      const { status, json } = await reader.get(`/v1/feeds/${feed}/tail?limit=4&encoding=utf8`)
      t.match([status, json.feed], [200, feed])
      t.same(json.items.map((/** @type {any} */ { id, value, deleted }) => `${id} ${deleted ? 'deleted' : value}`),
        ['f 1', 'g 1', 'h 1', 'a deleted'])
      await put('i')
      const behind = await live(t, `/feeds/${feed}/live`, json.position)
      await eventually(() => idsIn(behind).length > 0)
      t.same([behind.names(), idsIn(behind)], [['items'], ['i']], 'a stream goes on behind it')
    })
  }

  await t.test('of several feeds, each from where is asked; one that begins later with all of its items', async (t) => {
    const open = async (/** @type {string} */ feed, /** @type {string[]} */ ...ids) => {
      const one = await openFeed(feed, { redisUrl: server.url, partitions: 2, windowMs: 3_600_000, deadlineMs: 20_000 })
      t.teardown(() => one.close())
      for (const id of ids) {
        one.append({ id, value: '1' })
        await one.flush()
        await pause(2)
      }
    }
    const ofFeed = (/** @type {{ events: any[] }} */ { events }, /** @type {string} */ feed) =>
      idsIn({ events: events.filter(({ data }) => data.feed === feed) }).sort()
    await open('several-a', 'a1', 'a2', 'a3')
    await open('several-b', 'b1', 'b2', 'b3')
    await pause(50)
    const sinceMs = Date.now()
    await pause(50)
    await open('several-b', 'b4', 'b5', 'b6')
    const feeds = 'feed=several-a&feed=several-b&feed=several-c'
    const tail = await live(t, `/live?${feeds}&tail=2`)
    const since = await live(t, `/live?${feeds}&since=${sinceMs}`)
    await eventually(() => idsIn(tail).length === 4 && idsIn(since).length === 3)
    t.same(['a', 'b'].map((name) => ofFeed(tail, `several-${name}`)), [['a2', 'a3'], ['b5', 'b6']], 'so many of each feed')
    t.same(['a', 'b'].map((name) => ofFeed(since, `several-${name}`)), [[], ['b4', 'b5', 'b6']])
    const waiting = await live(t, '/feeds/several-c/live?wait=yes&tail=1')
    const ahead = await live(t, `/feeds/several-c/live?wait=yes&since=${Date.now() + 3_600_000}`)
    await open('several-c', 'c1', 'c2', 'c3')
    await eventually(() => [tail, since, waiting, ahead].every((client) => idsIn(client).some((id) => id === 'c3')))
    for (const client of [tail, since]) t.same(ofFeed(client, 'several-c'), ['c1', 'c2', 'c3'])
    for (const client of [waiting, ahead]) t.same(idsIn(client).sort(), ['c1', 'c2', 'c3'])
    for (const client of [tail, since, waiting, ahead]) t.notOk(client.names().includes('reset'))
  })

  await t.test('both, and what is no number', async (t) => {
    t.equal((await fetch(`${reader.url}/v1/feeds/missing/tail`)).status, 404)
    t.equal((await fetch(`${reader.url}/v1/feeds/starts-ids/tail?limit=0`)).status, 400)
    for (const query of ['tail=1&since=1', 'tail=0', 'tail=x', 'since=-1', 'tail=100000']) {
      const { status } = await fetch(`${reader.url}/v1/feeds/starts-ids/live?${query}`)
      t.equal(status, 400, query)
    }
  })
})
