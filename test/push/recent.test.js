/** Streams of feeds without a view: changes are followed, and items are read when they are sent. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createArrivals } from '../../src/layouts/arrivals.js'
import { createOrigin } from '../../src/layouts/log-origin.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, startServer } from '../servers.js'
import { startReader } from '../services.js'
import { openLive } from './live-client.js'
import { openWritten } from './written.js'

const ITEMS = 3000
const LARGE = 20_000

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const start = (/** @type {string[]} */ ...flags) => startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary', ...flags] })
  const [reader, without] = await Promise.all([start(), start('--views', 'none')])
  const open = (/** @type {import('tap').Test} */ t, /** @type {string} */ feed, options = {}) =>
    openWritten(t, { redisUrl: server.url, feed, layout: 'ids', ...options })
  const live = (/** @type {import('tap').Test} */ t, /** @type {string} */ feed, query = '', from = '', url = reader.url) =>
    openLive(t, url, `/v1/feeds/${feed}/live?encoding=utf8${query}`, { headers: from === '' ? {} : { 'last-event-id': from } })
  const isGone = (/** @type {{ items: Map<string, any> }} */ { items }, /** @type {string} */ id) => Boolean(items.get(id)?.deleted)
  const viewed = async (/** @type {string} */ feed) =>
    (await (await fetch(`${reader.url}/metrics`)).text()).includes(`freshet_view_items{feed="${feed}"}`)
  const sorted = (/** @type {{ items: Map<string, any> }} */ { items }) =>
    [...items].filter(([, one]) => !one.deleted).map(([id]) => id).sort()

  await t.test('a snapshot, changes and deletions, and no view of the feed', async (t) => {
    const { put, remove, append, flush } = await open(t, 'lean', { partitions: 3 })
    for (let n = 0; n < ITEMS; n++) append(`n${n}`, '1')
    await flush()
    const newest = await live(t, 'lean', '&limit=2000')
    const some = await live(t, 'lean', '&id=n1&id=n2&id=none&limit=10')
    const none = await live(t, 'lean', '&limit=0', '', without.url)
    await eventually(() => newest.items.size === 2000 && some.items.size === 2 && none.events.length === 1)
    await put(['n1', '2'], ['later', '1'])
    await remove('n2')
    await eventually(() => newest.items.has('later') && isGone(newest, 'n2'))
    await eventually(() => some.items.get('n1').value === '2' && isGone(some, 'n2') && isGone(none, 'n2'))
    t.same([sorted(some), sorted(none)], [['n1'], ['later', 'n1']])
    t.notOk(await viewed('lean'))
    const { position } = some
    await put(['n2', '3'], ['n3', '3'])
    await remove('n1')
    const again = await live(t, 'lean', '&id=n1&id=n2', position, without.url)
    await eventually(() => again.items.size === 2)
    t.same([again.names(), sorted(again), again.items.get('n1').deleted], [['items'], ['n2'], true], 'with the deletion')
  })

  await t.test('an item that changes while its only client leaves is read again for the next one', async (t) => {
    const { put } = await open(t, 'left')
    await put(['a', '0'])
    for (let n = 1; n <= 20; n++) {
      const first = await live(t, 'left')
      await eventually(() => first.items.has('a'))
      first.close()
      await put(['a', String(n)])
      const next = await live(t, 'left')
      await eventually(() => next.items.get('a')?.value === String(n))
      next.close()
    }
  })

  await t.test('a client that reads late gets the newest versions, which are no longer kept', async (t) => {
    const written = await open(t, 'slow')
    await written.put(['a', '1'])
    const slow = await openLive(t, reader.url, '/v1/feeds/slow/live?encoding=utf8', { isReading: false })
    const value = 'x'.repeat(500)
    for (const version of ['1', '2']) {
      for (let n = 0; n < LARGE; n++) written.append(`n${n}`, `${version}${value}`)
      await written.flush()
      await pause(1200)
    }
    await written.remove('n7')
    slow.read()
    await eventually(() => slow.items.size === LARGE && isGone(slow, 'n7'))
    t.ok([...slow.items].every(([id, one]) => id === 'n7' || one.value.startsWith('2')))
    t.same(slow.wentBack, [])
    t.notOk(await viewed('slow'))
  })

  await t.test('what an entry names and the server does not have sends nothing again', async (t) => {
    const { put, remove, append, flush } = await open(t, 'refused')
    const connection = await connectFor(t, server.url)
    const follower = await live(t, 'refused')
    await put(['a', '1'], ['b', '1'])
    await eventually(() => follower.items.size === 2)
    const ts = Date.now() + 1000
    await refuse(connection, 'refused', [{ id: 'a', ts, deleted: false }, { id: 'b', ts, deleted: true }])
    append('a', 'late', Date.now() - 1000)
    await flush()
    await put(['last', '1'])
    await remove('b')
    await eventually(() => follower.items.has('last') && isGone(follower, 'b'))
    const sent = (/** @type {string} */ id) => follower.events.flatMap(({ data }) => data.items ?? []).filter((one) => one.id === id)
    t.same([sent('a').map(({ value }) => value), sent('b').map(({ value }) => value)], [['1'], ['1', null]])
  })

  await t.test('many streams that begin at once share what is read', async (t) => {
    const { append, flush, put } = await open(t, 'shared')
    for (let n = 0; n < ITEMS; n++) append(`n${n}`, '1')
    await flush()
    const connection = await connectFor(t, server.url)
    const calls = async () => Number(/cmdstat_mget:calls=(\d+)/.exec(String(await connection.send('INFO', 'commandstats')))?.[1])
    const before = await calls()
    const all = await Promise.all(Array.from({ length: 50 }, () => live(t, 'shared', '&limit=1000')))
    await eventually(() => all.every(({ items }) => items.size === 1000))
    await put(['n1', '2'])
    await eventually(() => all.every(({ items }) => items.get('n1')?.value === '2'))
    t.ok(await calls() - before < 50)
  })
})

/**
 * The entry of a batch of which the server stored nothing else.
 * @param {import('../../src/store/connection.js').Connection} connection @param {string} feed
 * @param {{ id: string, ts: number, deleted: boolean }[]} named
 */
async function refuse (connection, feed, named) {
  const origin = createOrigin({ name: 'refused', epoch: 1 })
  const log = createArrivals({ key: (part) => `fr:{${feed}:0}:${part}`, ttlMs: 0, clock: Date.now, origin })
  for (const { id, ts, deleted } of named) log.add(Buffer.from(id), ts, 0, deleted)
  const { before, after, replies } = log.around()
  await connection.sendEncoded({ bytes: Buffer.concat([before, ...after]), replies })
}
