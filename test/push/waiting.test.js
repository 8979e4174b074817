/** Feeds that do not exist yet: streams, `follow` and subscriptions wait, and begin with the first item. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { follow } from '../../src/client.js'
import { openFeed, openReader } from '../../src/index.js'
import { layoutNames } from '../../src/layouts/index.js'
import { startFollowing } from '../client/following.js'
import { startProxy } from '../proxy.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, startServer } from '../servers.js'
import { startReader } from '../services.js'
import { openLive } from './live-client.js'

const ITEMS = 300
const WAITING = 50
/** Nothing listens there. */
const NO_PORT = 1

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const reader = await startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary'] })
  const library = await openReader({ redisUrl: server.url, readFrom: 'primary', views: 'none' })
  t.teardown(() => library.close())

  for (const layout of layoutNames()) {
    await t.test(`${layout}: begins with the first item, whatever limit and ids are`, async (t) => {
      const feed = `awaited-${layout}`
      let waits = 0
      const onWaiting = () => waits++
      const all = startFollowing(t, reader.url, feed, { limit: 10, onWaiting })
      const none = startFollowing(t, reader.url, feed, { limit: 0, onWaiting })
      const some = startFollowing(t, reader.url, feed, { ids: ['n0', `n${ITEMS - 1}`], onWaiting })
      const changes = library.feed(feed).subscribe({ wait: true, onWaiting, pollMs: 5 })
      const subscribed = (async () => {
        const seen = new Map()
        for await (const { id, value, position } of changes) {
          seen.set(id, { value: String(value), position })
          if (seen.size === ITEMS) return seen
        }
      })()
      await eventually(() => waits === 4)
      const written = await openFeed(feed, { redisUrl: server.url, layout, partitions: 2, batchItems: 20 })
      t.teardown(() => written.close())
      for (let n = 0; n < ITEMS; n++) written.append({ id: `n${n}`, value: String(n) })
      await written.flush()
      await eventually(() => [all, none].every(({ items }) => items.size === ITEMS) && some.items.size === 2)
      const seen = /** @type {Map<string, any>} */ (await subscribed)
      t.same([...seen.keys()].sort(), Array.from({ length: ITEMS }, (_, n) => `n${n}`).sort())
      for (const { events, retries } of [all, none, some]) {
        t.same([events[0].event, events.some(({ event }) => event === 'reset'), retries], ['snapshot', false, []])
      }
      const { position } = seen.get('n0')
      const again = library.feed(feed).subscribe({ from: position, pollMs: 5 })
      const next = again.next()
      written.append({ id: 'later', value: 'x' })
      await written.flush()
      await eventually(() => [all, none].every(({ items }) => items.has('later')))
      t.ok(/** @type {any} */ ((await next).value).id, 'a position of a subscription that waited resumes')
      await again.return()
      t.equal(waits, 4)
    })
  }

  await t.test('all names are asked for in one look a second; aborted ones not at all', async (t) => {
    const control = await connectFor(t, server.url)
    const looks = async () => Number(/cmdstat_smembers:calls=(\d+)/.exec(String(await control.send('INFO', 'commandstats')))?.[1] ?? 0)
    const stop = new AbortController()
    const ended = Promise.all(Array.from({ length: WAITING }, async (_, n) => {
      for await (const change of library.feed(`nothing-${n}`).subscribe({ wait: true, signal: stop.signal })) t.fail(change.id)
    }))
    const lookedOf = async () => {
      const before = await looks()
      await pause(3000)
      return await looks() - before
    }
    const waiting = await lookedOf()
    stop.abort()
    await ended
    const idle = await lookedOf()
    // the reader's views look, too, and on a busy machine less often
    t.ok(waiting <= 20, `${waiting} looks in 3 s while ${WAITING} wait, ${idle} of the reader's views`)
  })

  await t.test('the stream says in a comment that there are no items; without `wait` it is refused', async (t) => {
    let bytes = ''
    const client = await openLive(t, reader.url, '/v1/feeds/nowhere/live?wait=yes', { onBytes: (some) => { bytes += some } })
    await eventually(() => bytes.includes(': no items yet\n\n'))
    client.close()
    t.equal((await fetch(`${reader.url}/v1/feeds/nowhere/live`)).status, 404)
    t.equal((await fetch(`${reader.url}/v1/feeds/nowhere/live?wait=no`)).status, 404)
    await t.rejects(follow(reader.url, 'nowhere', { wait: false }).next(), { code: 'FEED_UNKNOWN' })
    await t.rejects(library.feed('nowhere').subscribe().next(), { code: 'FEED_UNKNOWN' })
    await t.rejects(library.feed('nowhere').subscribe(/** @type {any} */ ({ wait: 1 })).next(), { code: 'ARGUMENT_INVALID' })
  })

  await t.test('a feed that begins while the connection of a follower is lost comes whole', async (t) => {
    const { port } = new URL(reader.url)
    const proxy = await startProxy(t, Number(port), { isCounting: false })
    let waits = 0
    const following = [{ limit: 1 }, { limit: 0 }, { tail: 1 }, { limit: 1, ids: ['a', 'b'] }].map((options) =>
      startFollowing(t, `http://127.0.0.1:${proxy.port}`, 'begins-away', { ...options, onWaiting: () => waits++ }))
    await eventually(() => waits === following.length)
    proxy.switchTo(NO_PORT)
    proxy.resetAll()
    const written = await openFeed('begins-away', { redisUrl: server.url, partitions: 2 })
    t.teardown(() => written.close())
    for (const id of ['a', 'b', 'c']) written.append({ id, value: '1' })
    await written.flush()
    await eventually(() => following.every(({ retries }) => retries.length > 0))
    proxy.switchTo(Number(port))
    await eventually(() => following.every(({ items }, n) => items.size === (n === 3 ? 2 : 3)))
    for (const { events } of following) t.notOk(events.some(({ event }) => event === 'reset'))
  })

  await t.test('a feed that was dropped is waited for with its old position, which is reset', async (t) => {
    const feed = 'dropped'
    const first = await openFeed(feed, { redisUrl: server.url, layout: 'segments' })
    first.append({ id: 'a', value: '1' })
    await first.close()
    const before = startFollowing(t, reader.url, feed)
    await eventually(() => before.items.size === 1)
    const { position } = before.events[0]
    await before.stop()
    const control = await connectFor(t, server.url)
    await control.send('FLUSHALL')
    let waits = 0
    await eventually(() => fetch(`${reader.url}/v1/feeds/${feed}/live`, { signal: AbortSignal.timeout(5000) }).then(({ status, body }) => {
      body?.cancel()
      return status === 404
    }))
    const after = startFollowing(t, reader.url, feed, { from: position, onWaiting: () => waits++ })
    await eventually(() => waits === 1)
    const second = await openFeed(feed, { redisUrl: server.url, layout: 'segments' })
    second.append({ id: 'b', value: '2' })
    await second.close()
    await eventually(() => after.items.size === 1)
    t.same(after.names(), ['reset', 'snapshot'])
  })
})
