/** Several feeds in one stream: events name their feed, and one position resumes all. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { follow } from '../../src/client.js'
import { dropFeed } from '../../src/feeds/definitions.js'
import { openFeed } from '../../src/index.js'
import { layoutNames } from '../../src/layouts/index.js'
import { startFollowing } from '../client/following.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, startServer } from '../servers.js'
import { startReader } from '../services.js'
import { openLive } from './live-client.js'

const MAX_POSITION = 6 * 1024

/** @param {readonly { event: string, data: any }[]} events @param {string} feed */
const of = (events, feed) => events.filter(({ data }) => data.feed === feed)
/** @param {any[]} events @returns {Record<string, string>} values by id */
const valuesIn = (events) => Object.fromEntries(events.flatMap(({ data }) => data.items ?? []).map(({ id, value }) => [id, value]))

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const reader = await startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary'] })

  /** @param {import('tap').Test} t @param {string} feed @param {object} [options] */
  async function open (t, feed, options) {
    const one = await openFeed(feed, { redisUrl: server.url, deadlineMs: 20_000, ...options })
    t.teardown(() => one.close())
    return {
      /** @param {Record<string, string>} items */
      async put (items) {
        for (const [id, value] of Object.entries(items)) one.append({ id, value })
        await one.flush()
      }
    }
  }
  const live = (/** @type {import('tap').Test} */ t, /** @type {string} */ query, /** @type {string} */ from = '') =>
    openLive(t, reader.url, `/v1/live?encoding=utf8&${query}`, { headers: from === '' ? {} : { 'last-event-id': from } })

  await t.test('events name their feed, in all layouts, and one position resumes all', async (t) => {
    const feeds = layoutNames().map((layout) => `each-${layout}`)
    const all = await Promise.all(layoutNames().map((layout, i) => open(t, feeds[i], { layout, partitions: i + 1 })))
    for (const { put } of all) await put({ a: '1', b: '1' })
    const query = feeds.map((feed) => `feed=${feed}`).join('&')
    const first = await live(t, query)
    await eventually(() => feeds.every((feed) => of(first.events, feed).length > 0))
    for (const feed of feeds) {
      const [snapshot] = of(first.events, feed)
      t.same([snapshot.event, snapshot.data.items.map((/** @type {any} */ { id }) => id).sort()], ['snapshot', ['a', 'b']], feed)
    }
    t.not(first.events[0].id, '', 'the first event has a position')
    for (const { put } of all) await put({ a: '2' })
    await eventually(() => feeds.every((feed) => valuesIn(of(first.events, feed)).a === '2'))
    // with the next event, a second after the last one
    await pause(1100)
    await all[0].put({ c: '1' })
    await eventually(() => valuesIn(of(first.events, feeds[0])).c === '1')
    const { position } = first
    first.close()
    for (const { put } of all) await put({ b: '3' })
    const again = await live(t, query, position)
    await eventually(() => feeds.every((feed) => valuesIn(of(again.events, feed)).b === '3'))
    t.notOk(again.events.some(({ event }) => event !== 'items'), 'no snapshot')
    t.same(valuesIn(of(again.events, feeds[1])), { b: '3' }, 'nothing that it had')
    const other = await live(t, [...feeds].reverse().map((feed) => `feed=${feed}`).join('&'), position)
    await eventually(() => feeds.every((feed) => valuesIn(of(other.events, feed)).b === '3'))
    t.notOk(other.events.some(({ event }) => event !== 'items'), 'the order of feeds does not matter')
  })

  await t.test('a position comes at most once a second', async (t) => {
    const [a, b] = await Promise.all([open(t, 'paced-a'), open(t, 'paced-b')])
    await a.put({ x: '0' })
    await b.put({ x: '0' })
    const client = await live(t, 'feed=paced-a&feed=paced-b')
    await eventually(() => client.events.length === 2)
    const begunMs = performance.now()
    const positions = () => new Set(client.events.map(({ id }) => id)).size
    // on a busy machine writes may take long
    for (let n = 1; performance.now() - begunMs < 2500 || positions() < 2 || client.events.length <= 2 * positions(); n++) {
      await a.put({ x: String(n) })
      await b.put({ x: String(n) })
    }
    t.ok(positions() <= 2 + (performance.now() - begunMs) / 1000, `${positions()} positions`)
  })

  await t.test('ids, a limit and a feed that comes later, which begins with its first item', async (t) => {
    const known = await open(t, 'known')
    await known.put({ a: '1', b: '1', c: '1' })
    let bytes = ''
    const waiting = await openLive(t, reader.url, '/v1/live?feed=known&feed=later', { onBytes: (some) => { bytes += some } })
    await eventually(() => bytes.includes(': no items yet in later\n'))
    waiting.close()
    const some = await live(t, 'feed=known&feed=later&id=a&id=z')
    const none = await live(t, 'feed=known&feed=later&limit=0')
    await eventually(() => some.events.length === 1 && none.events.length === 1)
    t.same(valuesIn(some.events), { a: '1' })
    t.same(none.events[0].data, { feed: 'known', items: [] })
    const later = await open(t, 'later', { partitions: 2 })
    await later.put({ a: '1', z: '1', y: '1' })
    await eventually(() => of(some.events, 'later').length > 0 && of(none.events, 'later').length > 0)
    t.same([of(some.events, 'later')[0].event, valuesIn(of(some.events, 'later'))], ['snapshot', { a: '1', z: '1' }])
    t.same(valuesIn(of(none.events, 'later')), { a: '1', z: '1', y: '1' }, 'all of its items, whatever the limit')
    await known.put({ b: '2' })
    await eventually(() => valuesIn(of(none.events, 'known')).b === '2')
    t.equal(of(some.events, 'known').length, 1)
  })

  await t.test('a feed that begins while the client is away comes whole', async (t) => {
    const there = await open(t, 'there')
    await there.put({ a: '1' })
    const positions = await Promise.all([0, 1].map(async (limit) => {
      const client = await live(t, `feed=there&feed=begun&limit=${limit}`)
      await eventually(() => client.position !== '')
      client.close()
      return client.position
    }))
    const begun = await open(t, 'begun', { partitions: 2 })
    await begun.put({ x: '1', y: '1', z: '1' })
    for (const [limit, position] of positions.entries()) {
      const { events } = await live(t, `feed=there&feed=begun&limit=${limit}`, position)
      await eventually(() => of(events, 'begun').length > 0)
      t.same([of(events, 'begun')[0].event, valuesIn(of(events, 'begun'))], ['snapshot', { x: '1', y: '1', z: '1' }], `limit=${limit}`)
      t.notOk(events.some(({ event }) => event === 'reset'))
    }
  })

  await t.test('the client follows a list of feeds, and resumes all of them', async (t) => {
    const one = await open(t, 'listed-a', { layout: 'segments' })
    await one.put({ a: '1' })
    /** @type {any[]} */
    const waits = []
    const options = { encoding: /** @type {const} */ ('utf8'), onWaiting: (/** @type {string | undefined} */ feed) => waits.push(feed) }
    const first = startFollowing(t, reader.url, ['listed-a', 'listed-b'], options)
    await eventually(() => first.events.length === 1 && waits.length === 1)
    t.same(waits, ['listed-b'])
    const two = await open(t, 'listed-b')
    await two.put({ b: '1' })
    await eventually(() => first.items.has('b'))
    t.same(first.events.map(({ event, feed }) => `${event} ${feed}`), ['snapshot listed-a', 'snapshot listed-b'])
    await pause(1100)
    await one.put({ a: '2' })
    await eventually(() => first.items.get('a').value === '2')
    const { position } = first.events.at(-1)
    t.type(position, 'string')
    await first.stop()
    await one.put({ a: '3' })
    await two.put({ b: '3' })
    const again = startFollowing(t, reader.url, ['listed-b', 'listed-a'], { ...options, from: position })
    await eventually(() => again.items.get('a')?.value === '3' && again.items.get('b')?.value === '3')
    t.same(new Set(again.names()), new Set(['items']))
    const wrong = startFollowing(t, reader.url, ['listed-a', 'listed-b'], { ...options, from: `${position}A` })
    await eventually(() => wrong.events.length === 4)
    t.same(wrong.events.map(({ event }) => event).sort(), ['reset', 'reset', 'snapshot', 'snapshot'])
    t.throws(() => follow(reader.url, []), { code: 'ARGUMENT_INVALID', message: /feed: undefined/ })
    t.throws(() => follow(reader.url, ['a', '']), { code: 'ARGUMENT_INVALID' })
    t.throws(() => follow(reader.url, ['a'], { wait: false }), { code: 'ARGUMENT_INVALID', message: /wait: false/ })
  })

  await t.test('positions of other feeds, too long or changed ones are reset, each feed by itself', async (t) => {
    const both = await Promise.all([open(t, 'own-a'), open(t, 'own-b'), open(t, 'own-c')])
    for (const { put } of both) await put({ x: '1' })
    const client = await live(t, 'feed=own-a&feed=own-b')
    await eventually(() => client.events.length === 2 && client.position !== '')
    const { position } = client
    const bytes = Buffer.from(position, 'base64url')
    bytes[bytes.length - 1] ^= 1
    const single = await openLive(t, reader.url, '/v1/feeds/own-a/live')
    await single.until('snapshot')
    const wrong = [
      ['own-a', 'own-c', position], ['own-a', 'own-b', bytes.toString('base64url')], ['own-a', 'own-b', 'A'.repeat(MAX_POSITION + 1)],
      ['own-a', 'own-b', single.position], ['own-a', 'own-b', 'x']
    ]
    for (const [a, b, from] of wrong) {
      const { events } = await live(t, `feed=${a}&feed=${b}`, from)
      await eventually(() => events.length === 4)
      for (const feed of [a, b]) {
        t.same(of(events, feed).map(({ event, data }) => [event, data.reason]), [['reset', 'invalid'], ['snapshot', undefined]])
      }
    }
    const alone = await openLive(t, reader.url, '/v1/feeds/own-a/live', { headers: { 'last-event-id': position } })
    await alone.until('snapshot')
    t.same(alone.names(), ['reset', 'snapshot'], 'a feed does not take the position of several')
  })

  await t.test('a feed that is dropped and created again is reset, and the others go on', async (t) => {
    const kept = await open(t, 'kept')
    const gone = await openFeed('gone', { redisUrl: server.url, deadlineMs: 20_000 })
    gone.append({ id: 'a', value: '1' })
    await gone.close()
    await kept.put({ a: '1' })
    const client = await live(t, 'feed=kept&feed=gone')
    await eventually(() => client.events.length === 2)
    await pause(1100)
    await kept.put({ a: '2' })
    await eventually(() => client.events.length === 3)
    const { position } = client
    await dropFeed(await connectFor(t, server.url), 'fr:', 'gone')
    const created = await open(t, 'gone')
    await created.put({ b: '2' })
    await eventually(() => valuesIn(of(client.events, 'gone')).b === '2')
    await kept.put({ b: '2' })
    await eventually(() => valuesIn(of(client.events, 'kept')).b === '2')
    await eventually(() => of(client.events, 'gone').some(({ event }) => event === 'reset'))
    t.notOk(of(client.events, 'kept').some(({ event }) => event === 'reset'))
    const again = await live(t, 'feed=kept&feed=gone', position)
    await eventually(() => valuesIn(of(again.events, 'kept')).b === '2' && valuesIn(of(again.events, 'gone')).b === '2')
    t.same(of(again.events, 'gone')[0].data.reason, 'expired')
    t.notOk(of(again.events, 'kept').some(({ event }) => event !== 'items'))
  })

  await t.test('requests that are refused before the stream', async (t) => {
    const wide = await open(t, 'wide', { partitions: 200 })
    const other = await open(t, 'wider', { partitions: 100 })
    await wide.put({ a: '1' })
    await other.put({ a: '1' })
    const refusal = async (/** @type {string} */ query) => {
      const response = await fetch(`${reader.url}/v1/live${query}`)
      const { code, detail } = /** @type {any} */ (await response.json())
      return [response.status, code, detail]
    }
    t.match(await refusal(''), [400, 'REQUEST_INVALID', /expected one or more of feed, auction/])
    t.match(await refusal('?feed=wide&feed=wider'), [400, 'REQUEST_INVALID', /300 partitions together.*at most 256/])
    t.match(await refusal('?feed=A'), [400])
    t.match(await refusal('?feed=wide&wait=no'), [400, 'REQUEST_INVALID', /wait/])
    t.match(await refusal(`?${Array.from({ length: 257 }, (_, n) => `feed=f${n}`).join('&')}`), [400, 'REQUEST_INVALID', /256/])
    t.match(await refusal('?auction=nothing'), [404, 'AUCTION_UNKNOWN'])
    const waited = await live(t, 'feed=wide&feed=later-wide')
    await eventually(() => waited.events.length === 1)
    const grown = await live(t, 'feed=wide&feed=grown')
    const later = await open(t, 'later-wide', { partitions: 57 })
    await later.put({ a: '1' })
    await waited.ended
    t.match(await refusal('?feed=wide&feed=later-wide'), [400, 'REQUEST_INVALID', /257 partitions together/], 'the next request is refused')
    const fits = await open(t, 'grown', { partitions: 56 })
    await fits.put({ a: '1' })
    await eventually(() => of(grown.events, 'grown').length === 1)
    const many = await live(t, `feed=wide&${Array.from({ length: 56 }, (_, n) => `feed=f${n}`).join('&')}`)
    await eventually(() => many.events.length === 1)
    t.ok(many.position.length <= MAX_POSITION, `${many.position.length} bytes`)
  })
})
