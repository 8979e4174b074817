/**
 * openFeed and openReader: what a caller hands over, what comes back, and that every wait ends.
 */
import t from 'tap'
import { FreshetError, SettingsInvalid, openFeed, openReader } from '../../src/index.js'
import { layoutNames } from '../../src/layouts/index.js'
import { engineName, eventually, startDeployment, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const [engine] = await scopedEngines()

const REDIS = { redisUrl: 'redis://127.0.0.1:1' }

t.test('all settings are checked before any connection', async (t) => {
  const error = await openFeed('x', /** @type {any} */ ({ redisUrl: 'http://h', batchItems: 0, layoutt: 'ids' })).catch((error) => error)
  t.ok(error instanceof SettingsInvalid && error instanceof FreshetError)
  t.equal(error.retryable, false)
  t.equal(error.faults.length, 3, error.message)
  await t.rejects(openFeed('No Such', REDIS), { code: 'FEED_NAME_INVALID' })
  // such as a variable of the environment that is not set: nothing listens there, so no server was asked
  for (const name of [undefined, null, 7, ['a']]) await t.rejects(openFeed(/** @type {any} */ (name), REDIS), { code: 'FEED_NAME_INVALID' })
  await t.rejects(openFeed('x', /** @type {any} */ ({})), { message: /redisUrl is missing/ })
  await t.rejects(openReader(/** @type {any} */ ({ redisUrl: 'redis://h', rate: 5, ack: 'primary' })),
    { message: /rate is unknown.*\nack is unknown/ })
  await t.rejects(openFeed('x', /** @type {any} */ (undefined)), { code: 'SETTINGS_INVALID' })
})

t.test('without a server opening fails with a coded error', async (t) => {
  await t.rejects(openFeed('x', REDIS), { code: 'SERVER_UNREACHABLE', retryable: true })
  await t.rejects(openReader(REDIS), { code: 'SERVER_UNREACHABLE' })
})

t.test(engineName(engine), async (t) => {
  const { primary } = await startDeployment(t, { engine, replicas: 1 })
  const options = { redisUrl: primary.url, readFrom: /** @type {const} */ ('primary') }
  let feeds = 0

  /** @param {import('tap').Test} t @param {Partial<Parameters<typeof openFeed>[1]>} [more] */
  async function open (t, more, name = `feed-${++feeds}`) {
    const feed = await openFeed(name, { ...options, ...more })
    t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
    return feed
  }

  for (const layout of layoutNames()) {
    t.test(`${layout}: what was appended is read, newest first, in pages, since a time and by id`, async (t) => {
      const feed = await open(t, { layout })
      t.match(feed.definition, { feed: feed.name, layout, partitions: 1 })
      const now = Date.now()
      for (let i = 0; i < 5; i++) t.equal(feed.append({ id: `bus-${i}`, ts: now - 10 * i, value: `stop ${i}` }), true)
      feed.append({ id: Buffer.from('bytes-é'), ts: now - 100, value: new Uint8Array([0, 255]) })
      await feed.flush()
      t.match(feed.account, { offered: 6, items: 6 })
      const first = await feed.latest({ limit: 2 })
      t.same(first.items.map(({ id, ts, value }) => [id, ts, String(value)]), [['bus-0', now, 'stop 0'], ['bus-1', now - 10, 'stop 1']])
      t.ok(first.asOf >= now)
      const rest = await feed.latest({ after: first.next })
      t.same(rest.items.map(({ id }) => id), ['bus-2', 'bus-3', 'bus-4', 'bytes-é'])
      t.equal(rest.next, null)
      t.same((await feed.since(now - 20)).items.map(({ id }) => id), ['bus-0', 'bus-1', 'bus-2'])
      t.same((await feed.get('bytes-é'))?.value, Buffer.from([0, 255]))
      t.equal(await feed.get('nobody'), null)
      t.equal((await feed.count()).count, 6)
    })

    t.test(`${layout}: a deletion hides its item until a newer version comes`, async (t) => {
      const feed = await open(t, { layout })
      feed.append({ id: 'a', value: '1' })
      feed.append({ id: 'b', value: '1' })
      feed.delete({ id: 'a' })
      await feed.flush()
      t.same((await feed.latest()).items.map(({ id }) => id), ['b'])
      t.equal(await feed.get('a'), null)
      t.match(feed.account, { offered: 3, items: 3 })
      feed.append({ id: 'a', ts: Date.now() + 5, value: '2' })
      await feed.flush()
      t.same((await feed.latest()).items.map(({ id, value }) => `${id}${value}`), ['a2', 'b1'])
    })

    t.test(`${layout}: subscribers get what changes, each id never going back, and go on from a position`, async (t) => {
      const feed = await open(t, { layout, partitions: 3 })
      feed.append({ id: 'old', value: 'before' })
      await feed.flush()
      const stop = new AbortController()
      /** @type {Map<string, import('../../src/index.js').Change>} */
      const seen = new Map()
      let position = ''
      const watching = (async () => {
        for await (const change of feed.subscribe({ signal: stop.signal, pollMs: 10 })) {
          const before = seen.get(change.id)
          if (before) t.ok(change.ts >= before.ts, 'newer')
          seen.set(change.id, change)
          position = change.position
        }
      })()
      let round = 0
      // the subscription begins at a moment of its own
      await eventually(async () => {
        round++
        for (let i = 0; i < 50; i++) feed.append({ id: `id-${i}`, value: String(round) })
        await feed.flush()
        return seen.size >= 50
      })
      const last = String(round)
      await eventually(() => [...seen.values()].every((change) => String(change.value) === last))
      t.notOk(seen.has('old'), 'what was there before is no change')
      stop.abort()
      await watching

      for (let i = 0; i < 10; i++) feed.append({ id: `later-${i}`, value: 'x' })
      await feed.flush()
      const missed = new Set(Array.from({ length: 10 }, (_, i) => `later-${i}`))
      for await (const { id } of feed.subscribe({ from: position, pollMs: 10 })) {
        missed.delete(id)
        if (missed.size === 0) break
      }
      await t.rejects(feed.subscribe({ from: 'nonsense' }).next(), { code: 'POSITION_INVALID' })
      await t.rejects(feed.subscribe({ from: position.slice(1) }).next(), { code: 'POSITION_INVALID' })
    })
  }

  t.test('a subscription goes on from the position of any change, in the middle of a page too', async (t) => {
    const feed = await open(t, { windowMs: 0 })
    const oldest = Date.now() - 60_000
    const first = feed.subscribe({ pollMs: 10 })
    const begun = first.next()
    let attempts = 0
    await eventually(async () => {
      feed.append({ id: 'begun', ts: oldest + attempts++, value: '' })
      await feed.flush()
      return Promise.race([begun, new Promise((resolve) => setTimeout(() => resolve(false), 50))])
    })
    // more than the overlap apart, so that nothing is read twice
    for (let i = 0; i < 20; i++) feed.append({ id: `b${i}`, ts: oldest + 2500 * (i + 1), value: '' })
    await feed.flush()
    let change
    do change = (await first.next()).value
    while (change?.id === 'begun')
    t.equal(change?.id, 'b0')
    const position = change?.position
    await first.return()
    const missed = new Set(Array.from({ length: 19 }, (_, i) => `b${i + 1}`))
    for await (const { id } of feed.subscribe({ from: position, pollMs: 10 })) {
      missed.delete(id)
      if (missed.size === 0) break
    }
    t.equal((await feed.subscribe({ from: position, signal: AbortSignal.abort() }).next()).done, true)
    await t.rejects(feed.subscribe({ pollMs: -1 }).next(), { code: 'ARGUMENT_INVALID' })
    await t.rejects(feed.subscribe(/** @type {any} */ ({ form: position })).next(),
      { message: 'form is unknown; the options are from signal pollMs wait onWaiting' })
    await t.rejects(feed.since(/** @type {any} */ ('x')), { code: 'ARGUMENT_INVALID' })
    await t.rejects(feed.latest(/** @type {any} */ ('5')), { code: 'ARGUMENT_INVALID' })
  })

  t.test('a slow consumer is not made slower', async (t) => {
    const feed = await open(t)
    const ticking = setInterval(() => feed.append({ id: 'a', value: '' }), 5)
    t.teardown(() => clearInterval(ticking))
    let count = 0
    const startedMs = performance.now()
    for await (const { id } of feed.subscribe({ pollMs: 1 })) {
      if (id !== 'a') continue
      await new Promise((resolve) => setTimeout(resolve, 500))
      if (++count === 6) break
    }
    // with the consumer's own time slept once more it would be twice as long
    t.comment(`6 changes of 500 ms each took ${Math.round(performance.now() - startedMs)} ms`)
  })

  t.test('a feed can be read right after it was created and written, from replicas too', async (t) => {
    const feed = await openFeed(`feed-${++feeds}`, { redisUrl: primary.url })
    t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
    feed.append({ id: 'a', value: 'x' })
    await feed.flush()
    t.ok(Array.isArray((await feed.latest()).items))
    await eventually(async () => (await feed.get('a')) !== null)
  })

  t.test('without a replica questions say so, in words of an option, and what to do', async (t) => {
    const { url: redisUrl } = await startServer(t, { engine })
    const feed = await open(t, { redisUrl, readFrom: 'replica' })
    await t.rejects(feed.latest(),
      { code: 'REPLICAS_GONE', message: 'the primary has no replicas; use --read-from primary (option readFrom), or add one' })
  })

  t.test('an invalid item throws, is counted, and is not written', async (t) => {
    const feed = await open(t)
    /** @type {[any, string][]} */
    const bad = [
      [{ id: '', value: '' }, 'ITEM_ID_INVALID'], [{ id: 'a\nb', value: '' }, 'ITEM_ID_INVALID'],
      [{ id: 7, value: '' }, 'ITEM_ID_INVALID'],
      [{ id: Buffer.from([0x61, 0]), value: '' }, 'ITEM_ID_INVALID'], [{ id: Buffer.from([0xff]), value: '' }, 'ITEM_ID_INVALID'],
      [{ id: Buffer.alloc(129, 'a'), value: '' }, 'ITEM_ID_INVALID'],
      [{ id: 'a', ts: 1.5, value: '' }, 'ITEM_TS_INVALID'], [{ id: 'a', ts: '5', value: '' }, 'ITEM_TS_INVALID'],
      [{ id: 'a', ts: 2 ** 41, value: '' }, 'ITEM_TS_INVALID'],
      [{ id: 'a' }, 'ITEM_VALUE_INVALID'], [{ id: 'a', value: { b: 1 } }, 'ITEM_VALUE_INVALID'],
      [{ id: 'a', value: Buffer.alloc(1024 * 1024 + 1) }, 'ITEM_VALUE_TOO_LARGE']
    ]
    for (const [item, code] of bad) t.throws(() => feed.append(item), { code })
    t.match(feed.account,
      { offered: bad.length, items: 0, refused: { id_invalid: 6, ts_invalid: 3, value_invalid: 2, value_too_large: 1 } })
    t.same((await feed.latest()).items, [])
  })

  t.test('items too old or ahead of the clock are refused, counted and reported', async (t) => {
    /** @type {string[]} */
    const told = []
    const feed = await open(t, { onRefused: (code, id) => told.push(`${code} ${id}`) })
    feed.append({ id: 'old', ts: Date.now() - 61_000, value: '' })
    feed.append({ id: 'new', ts: Date.now() + 90_000, value: '' })
    t.same(told, ['ITEM_TOO_OLD old', 'ITEM_FROM_FUTURE new'])
    t.match(feed.account, { offered: 2, refused: { too_old: 1, from_future: 1 } })
  })

  t.test('back-pressure: append returns false, ready waits, and appending on without it throws', async (t) => {
    const server = await startServer(t, { engine })
    const feed = await open(t, { redisUrl: server.url, inFlightBytes: 100_000, deadlineMs: 60_000 })
    const value = Buffer.alloc(50_000)
    t.equal(feed.append({ id: 'a', value }), true)
    server.freeze()
    while (feed.append({ id: 'b', value }));
    await t.rejects(feed.ready({ deadlineMs: 50 }), { code: 'DEADLINE_PASSED', retryable: true })
    await t.rejects(feed.flush({ deadlineMs: 50 }), { code: 'DEADLINE_PASSED' })
    t.throws(() => { for (let i = 0; i < 10_000; i++) feed.append({ id: 'c', value }) },
      { code: 'PIPELINE_FULL', message: /await ready/ })
    server.thaw()
    await feed.ready({ deadlineMs: 20_000 })
    await feed.flush({ deadlineMs: 20_000 })
    t.equal(feed.account.items, feed.account.offered)
  })

  t.test('after close every method reports it, and subscriptions end', async (t) => {
    const feed = await open(t)
    const changes = feed.subscribe()
    const next = changes.next()
    feed.append({ id: 'a', value: '' })
    await Promise.all([feed.close(), feed.close()])
    t.equal(feed.account.items, 1, 'closing flushes')
    t.equal((await next).done, true)
    t.throws(() => feed.append({ id: 'a', value: '' }), { code: 'PIPELINE_CLOSED' })
    await t.rejects(feed.flush(), { code: 'PIPELINE_CLOSED' })
    await t.rejects(feed.latest(), { code: 'PIPELINE_CLOSED' })
  })

  t.test('a reader sees all feeds and writes nothing', async (t) => {
    const feed = await open(t, {}, 'read-me')
    feed.append({ id: 'a', value: 'x' })
    await feed.flush()
    const reader = await openReader({ redisUrl: primary.url })
    t.teardown(() => reader.close())
    await eventually(async () => (await reader.feeds()).some((one) => one.feed === 'read-me'))
    await eventually(async () => (await reader.feed('read-me').get('a')) !== null)
    t.match(await reader.feed('read-me').count(), { count: 1, exact: true })
    await t.rejects(reader.feed('no-such').latest(), { code: 'FEED_UNKNOWN' })
    t.ok(reader.status().ready)
    t.ok(new FreshetError('SERVER_LOST', 'x').retryable)
  })
})
