/** Queries of a library user: arguments, results, and errors after close. */
import t from 'tap'
import { openFeed, openReader } from '../../src/index.js'
import { layoutNames } from '../../src/layouts/index.js'
import { engineName, eventually, startServer } from '../servers.js'
import { begun } from './changes.js'
import { scopedEngines } from '../scope.js'

const [engine] = await scopedEngines()
t.test(engineName(engine), async (t) => {
  const server = await startServer(t, { engine })
  const options = { redisUrl: server.url, readFrom: /** @type {const} */ ('primary') }
  let feeds = 0

  /** @param {import('tap').Test} t @param {Partial<Parameters<typeof openFeed>[1]>} more */
  async function open (t, more) {
    const feed = await openFeed(`read-${++feeds}`, { ...options, ...more })
    t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
    return feed
  }

  for (const layout of layoutNames()) {
    await t.test(`${layout}: a kept value does not keep the rest of the reply in memory`, async (t) => {
      const feed = await open(t, { layout, views: 'none' })
      const held = await openFeed(feed.name, { ...options, layout, views: 'all' })
      t.teardown(() => held.close({ drainMs: 0 }).catch(() => {}))
      const { changes, stop } = await begun(feed)
      feed.append({ id: 'small', value: 'x'.repeat(100) })
      for (let n = 0; n < 20; n++) feed.append({ id: `large ${n}`, value: Buffer.alloc(20_000, 'y') })
      await feed.flush()
      await eventually(async () => (await held.latest({ limit: 30 })).items.length === 22)
      const values = [...(await feed.latest()).items, await feed.get('small'), ...(await held.latest()).items, await held.get('small')]
      while (values.filter((item) => item?.id === 'small').length < 5) values.push(/** @type {any} */ ((await changes.next()).value))
      stop()
      for (const { id, value } of /** @type {{ id: string, value: Buffer }[]} */ (values)) {
        if (id === 'small') t.equal(String(value), 'x'.repeat(100))
        // small buffers share one of so many bytes
        t.ok(value.buffer.byteLength <= Math.max(value.length, Buffer.poolSize), `${id}: ${value.buffer.byteLength}`)
      }
    })
  }

  await t.test('since: pages of items of a time and newer; an invalid time is refused', async (t) => {
    for (const layout of layoutNames()) {
      const feed = await open(t, { layout })
      const now = Date.now()
      for (let n = 0; n < 30; n++) feed.append({ id: `${n}`, ts: now - n, value: '' })
      await feed.flush()
      const first = await feed.since(now - 9, { limit: 6 })
      t.same(first.items.map(({ id }) => id), ['0', '1', '2', '3', '4', '5'])
      const second = await feed.since(now - 9, { limit: 6, after: first.next })
      t.same([second.items.map(({ id }) => id), second.next], [['6', '7', '8', '9'], null])
      t.same((await feed.since(now + 1)).items, [])
      for (const since of [undefined, null, NaN, 1.5, -1, 2 ** 41, '5', new Date()]) {
        await t.rejects(feed.since(/** @type {any} */ (since)),
          { code: 'ARGUMENT_INVALID', message: /^since .*; expected integer milliseconds since 1970$/ })
      }
      await t.rejects(feed.since(0, /** @type {any} */ ({ limits: 5 })),
        { message: 'limits is unknown; the options are limit sinceMs after' })
    }
  })

  await t.test('get takes an id as text or bytes; a count says when it is an estimate', async (t) => {
    for (const layout of layoutNames()) {
      const exact = layout === 'ids'
      const feed = await open(t, { layout, views: 'none' })
      const held = await open(t, { layout, views: 'all' })
      for (const { append, flush } of [feed, held]) {
        for (let n = 0; n < 3; n++) append({ id: 'bus é', value: `${n}` })
        await flush()
      }
      for (const id of ['bus é', Buffer.from('bus é'), new Uint8Array(Buffer.from('bus é'))]) {
        t.match(await feed.get(id), { id: 'bus é', value: Buffer.from('2') })
      }
      for (const id of ['', Buffer.from([0xff]), 7, null, undefined]) {
        await t.rejects(feed.get(/** @type {any} */ (id)), { code: 'ARGUMENT_INVALID' })
      }
      t.match(await feed.count(), { count: exact ? 1 : 3, exact })
      t.match(await held.count(), { count: 1, exact: true })
    }
  })

  await t.test('every query of a closed reader fails', async (t) => {
    const { name, append, flush } = await open(t, {})
    append({ id: 'a', value: '' })
    await flush()
    const reader = await openReader(options)
    t.teardown(() => reader.close())
    const feed = reader.feed(name)
    t.equal((await feed.latest()).items.length, 1)
    await reader.close()
    const questions = [reader.feeds, feed.latest, feed.count, () => feed.since(0), () => feed.get('a'), () => feed.subscribe().next(),
      () => reader.feed(name).latest()]
    for (const ask of questions) {
      await t.rejects(/** @type {Promise<unknown>} */ (ask()),
        { code: 'PIPELINE_CLOSED', retryable: false, message: 'the reader is closed; open it again' })
    }
    await reader.close()
  })
})
