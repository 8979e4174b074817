/** Streams of a reader process: snapshots, changes, filters, rates and resuming. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startFollowing } from '../client/following.js'
import { engineName, eventually, openWriterFor, startServer } from '../servers.js'
import { startReader } from '../services.js'
import { scopedEngines } from '../scope.js'
import { openLive } from './live-client.js'

const DAY_MS = 86_400_000
const LAYOUTS = ['segments', 'values', 'ids']
const bytes = (/** @type {string} */ text) => Buffer.from(text)
const text = (/** @type {any} */ { id, value, deleted }) => deleted ? `${id} deleted` : `${id} ${Buffer.from(value)}`

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const reader = await startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary'] })

  /** @param {import('tap').Test} t @param {string} feed @param {string} layout */
  async function open (t, feed, layout) {
    const writer = await openWriterFor(t, { redisUrl: server.url, feed, layout, windowMs: DAY_MS })
    return {
      async put (/** @type {[id: string, value: string, ts?: number][]} */ ...items) {
        for (const [id, value, ts = Date.now()] of items) writer.pipeline.append(bytes(id), ts, bytes(value))
        await writer.pipeline.flush()
      },
      async remove (/** @type {string} */ id) {
        writer.pipeline.remove(bytes(id), Date.now())
        await writer.pipeline.flush()
      }
    }
  }

  for (const layout of LAYOUTS) {
    await t.test(`${layout}: a snapshot, oldest first, then changes; with ids and maxRate`, async (t) => {
      const feed = `push-${layout}`
      const { put, remove } = await open(t, feed, layout)
      const now = Date.now() - 1000
      await put(['a', 'first', now], ['b', 'first', now + 1], ['c', 'first', now + 2])
      const all = startFollowing(t, reader.url, feed)
      const some = startFollowing(t, reader.url, feed, { ids: ['b', 'later'], encoding: 'utf8' })
      const seldom = startFollowing(t, reader.url, feed, { maxRate: 2, limit: 1 })
      await eventually(() => [all, some, seldom].every(({ events }) => events.length > 0))
      t.equal(all.events[0].event, 'snapshot')
      t.same(all.events[0].items.map(text), ['a first', 'b first', 'c first'])
      t.same(some.events[0].items.map((/** @type {any} */ { id, value }) => `${id} ${value}`), ['b first'])
      t.same(seldom.events[0].items.map(text), ['c first'])
      let last = 0
      // until there were more events than one that is given two a second can have had
      for (; all.events.length < 2 * seldom.events.length + 10; last++) {
        await put(['a', `${last + 1}`], ['b', `${last + 1}`])
        await sleep(5)
      }
      await put(['later', 'new'])
      await eventually(() =>
        [all, seldom].every(({ items }) => items.has('later') && text(items.get('a')) === `a ${last}`) && some.items.has('later'))
      t.equal(some.items.get('b').value, `${last}`)
      t.same([...some.items.keys()].sort(), ['b', 'later'])
      t.ok(seldom.events.length < all.events.length, `${seldom.events.length} events, ${all.events.length} without a limit`)
      await remove('a')
      await eventually(() => [all, seldom].every(({ items }) => items.get('a').deleted))
      t.same([all, some, seldom].flatMap(({ wentBack }) => wentBack), [])
      await all.stop()
    })
  }

  await t.test('events are parsed whatever ids and values contain', async (t) => {
    const feed = 'odd'
    const { put, remove } = await open(t, feed, 'segments')
    await remove('nothing') // the first version creates the feed
    const client = startFollowing(t, reader.url, feed, { encoding: 'json' })
    await eventually(() => client.events.length > 0)
    const values = ['{\n"a":\r\n1}', 'data: x\n\nevent: reset\ndata: {}\n\n', '"\u2028"', '\r', '']
    await put(...values.map((value, n) => /** @type {[string, string]} */ ([`id: ${n}\ndata: \u{1f600}`, value])))
    await eventually(() => client.items.size >= values.length)
    t.same(values.map((value, n) => {
      const { value: got } = client.items.get(`id: ${n}\ndata: \u{1f600}`)
      return got instanceof Uint8Array ? Buffer.from(got).toString() : got
    }), [{ a: 1 }, values[1], '\u2028', '\r', ''])
    t.notOk(client.events.some(({ event }) => event === 'reset'))
  })

  for (const layout of LAYOUTS) {
    await t.test(`${layout}: with limit=0, everything comes that was appended after the head of the response`, async (t) => {
      const feed = `from-now-${layout}`
      const { put } = await open(t, feed, layout)
      await put(['old', '0'])
      // a view that lags behind may send what was appended a moment before the head, too
      await eventually(async () => (await fetch(`${reader.url}/v1/feeds/${feed}/items/old`)).status === 200)
      for (let n = 0; n < 20; n++) {
        const filter = n % 2 === 0 ? '' : `&id=a${n}&id=b${n}`
        const client = await openLive(t, reader.url, `/v1/feeds/${feed}/live?limit=0&encoding=utf8${filter}`)
        await put([`a${n}`, 'first'])
        await put([`b${n}`, 'second'])
        await eventually(() => client.items.has(`b${n}`))
        t.same([client.events[0].event, client.events[0].data.items, client.items.has(`a${n}`)], ['snapshot', [], true], `${n}`)
        t.notOk(client.items.has('old'))
        t.not(client.position, '', 'it can resume')
        client.close()
      }
    })

    await t.test(`${layout}: clients resume after what was sent; forged, foreign and old positions are reset`, async (t) => {
      const feed = `resumed-${layout}`
      const { put } = await open(t, feed, layout)
      await put(['a', '0'])
      const first = startFollowing(t, reader.url, feed)
      await eventually(() => first.events.length > 0)
      await put(['b', '1'])
      await eventually(() => first.items.has('b'))
      const { position } = first.events.at(-1)
      await first.stop()
      await put(['c', '2'], ['d', '2'], ['c', '3'])
      const again = startFollowing(t, reader.url, feed, { from: position })
      await eventually(() => again.items.has('d'))
      t.notOk(again.events.some(({ event }) => event !== 'items'), 'no snapshot')
      t.equal(text(again.items.get('c')), 'c 3')
      const { put: putOther } = await open(t, `other-${layout}`, layout)
      await putOther(['x', 'y'])
      const wrong = ['x', 'x'.repeat(1000), `${position}A`, position.slice(0, -2) + (position.endsWith('AA') ? 'BB' : 'AA')]
      for (const [name, id] of [...wrong.map((id) => [feed, id]), [`other-${layout}`, position]]) {
        const path = `/v1/feeds/${name}/live`
        const asking = openLive(t, reader.url, path, { headers: { 'last-event-id': id } })
        await eventually(async () => (await asking).events.length > 1)
        const { status, events } = await asking
        t.match([status, events[0].event, events[0].data.reason, events[1].event], [200, 'reset', 'invalid', 'snapshot'], 'no 400')
      }
    })
  }

  await t.test('no cache keeps a stream, and no proxy compresses it', async (t) => {
    const { headers } = await openLive(t, reader.url, '/v1/feeds/odd/live')
    t.equal(headers['cache-control'], 'no-store, no-transform')
  })

  await t.test('errors before the stream', async (t) => {
    const refusal = async (/** @type {string} */ path) => {
      const response = await fetch(`${reader.url}/v1/feeds/${path}`)
      return [response.status, (/** @type {any} */ (await response.json())).code]
    }
    t.same(await refusal('nobody/live'), [404, 'FEED_UNKNOWN'])
    t.same(await refusal('odd/live?maxRate=0'), [400, 'REQUEST_INVALID'])
    t.same(await refusal('odd/live?limit=x'), [400, 'REQUEST_INVALID'])
    t.same(await refusal('odd/live?nonsense=1'), [400, 'REQUEST_INVALID'])
    await t.rejects(startFollowing(t, reader.url, 'nobody', { wait: false }).following,
      { name: 'FollowError', code: 'FEED_UNKNOWN', status: 404 })
  })
})
