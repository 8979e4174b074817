/** Logs of arrivals: what views and subscriptions of `ids` and `values` see of late items, deletions, batches sent again, and gaps. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { agree, definitionOf, readDefinition } from '../../src/feeds/definitions.js'
import { onlyKey } from '../../src/feeds/keys.js'
import { openFeed } from '../../src/index.js'
import { KEPT_BYTES } from '../../src/layouts/arrivals.js'
import { layoutOf } from '../../src/layouts/index.js'
import { nightly, scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, openWriterFor, startServer } from '../servers.js'
import { take } from './changes.js'
import { openViews } from './viewing.js'

const LAYOUTS = /** @type {const} */ (['ids', 'values'])
const MINUTE_MS = 60_000
const bytes = (/** @type {string} */ text) => Buffer.from(text)

t.jobs = 2
t.setTimeout(180_000)
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const admin = await connectFor(t, server.url)

  /** @param {import('tap').Test} t @param {string} name @param {object} options */
  async function open (t, name, options) {
    const feed = await openFeed(name, { redisUrl: server.url, readFrom: 'primary', windowMs: 10 * MINUTE_MS, ...options })
    t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
    return feed
  }

  /** @param {import('tap').Test} t @param {string} feed */
  async function watched (t, feed) {
    const { views } = await openViews(t, { primary: server, mode: 'all' })
    const { view, release } = await views.watch(feed)
    t.teardown(release)
    const ready = /** @type {import('../../src/view/view.js').View} */ (view())
    await eventually(() => ready.isComplete)
    return ready
  }

  for (const layout of LAYOUTS) {
    await t.test(`${layout}: late items and deletions come in order of arrival, each once`, async (t) => {
      const feed = await open(t, `order-${layout}`, { layout, partitions: 1, batchItems: 10 })
      feed.append({ id: 'first', value: '0' })
      await feed.flush()
      const view = await watched(t, feed.name)
      const position = view.position()
      const nowMs = Date.now()
      feed.append({ id: 'a', ts: nowMs, value: '1' })
      feed.append({ id: 'late', ts: nowMs - 30_000, value: '2' })
      feed.delete({ id: 'first', ts: nowMs })
      feed.append({ id: 'hour', ts: nowMs - 5 * MINUTE_MS, value: '3' })
      await feed.flush()
      const changes = feed.subscribe({ from: position, pollMs: 5 })
      t.same((await take(changes, 4)).map(({ id, value }) => `${id} ${value}`), ['a 1', 'late 2', 'first null', 'hour 3'])
      await changes.return()
      await eventually(() => view.count() === 3)
      t.same(view.get(['a', 'late', 'hour', 'first'].map(bytes)).map((one) => one && String(one.value)), ['1', '2', '3', null])
    })

    await t.test(`${layout}: a log trimmed past a follower is a gap, and the view is read again`, async (t) => {
      const feed = await open(t, `gap-${layout}`, { layout, partitions: 1 })
      feed.append({ id: 'a', value: '1' })
      await feed.flush()
      const view = await watched(t, feed.name)
      const position = view.position()
      feed.append({ id: 'b', value: '2' })
      await feed.flush()
      feed.append({ id: 'c', value: '3' })
      await feed.flush()
      await admin.send('XTRIM', onlyKey('fr:', feed.name)('arrivals'), 'MAXLEN', 1)
      await t.rejects(take(feed.subscribe({ from: position, pollMs: 5 }), 1), { code: 'POSITION_EXPIRED' })
      await eventually(() => view.count() === 3)
    })

    await t.test(`${layout}: an idle feed resumes from its newest entry, however old; a window of 0 keeps a minute`, async (t) => {
      const feed = await open(t, `idle-${layout}`, { layout, partitions: 1, windowMs: 0, maxItems: 1000 })
      feed.append({ id: 'a', value: '1' })
      await feed.flush()
      const key = onlyKey('fr:', feed.name)
      const retention = { windowMs: 0, maxItems: 1000 }
      feed.append({ id: 'b', value: '2' })
      await feed.flush()
      await layoutOf(layout).trim(admin, key, { retention, nowMs: Date.now() + MINUTE_MS / 2 })
      t.equal(await admin.send('XLEN', key('arrivals')), 2)
      await layoutOf(layout).trim(admin, key, { retention, nowMs: Date.now() + 10 * MINUTE_MS })
      t.equal(await admin.send('EXISTS', key('arrivals')), 1, 'its newest entry stays')
      const position = (await watched(t, feed.name)).position()
      const changes = feed.subscribe({ from: position, pollMs: 5 })
      const next = changes.next()
      feed.append({ id: 'c', value: '3' })
      await feed.flush()
      t.equal(/** @type {any} */ ((await next).value).id, 'c')
      await changes.return()
    })

    await t.test(`${layout}: maxItems under what the log names`, async (t) => {
      const feed = await open(t, `few-${layout}`, { layout, partitions: 1, maxItems: 50, batchItems: 100 })
      feed.append({ id: 'first', value: '0' })
      await feed.flush()
      const view = await watched(t, feed.name)
      for (let n = 0; n < 500; n++) feed.append({ id: `n${n}`, value: String(n) })
      await feed.flush()
      await eventually(() => view.count() === 50 && view.get([bytes('n499')])[0] !== null)
      t.same(view.get([bytes('n449'), bytes('n450'), bytes('n499')]).map((one) => one && String(one.value)), [null, '450', '499'])
    })

    await t.test(`${layout}: a batch sent again comes once`, async (t) => {
      const feed = await open(t, `again-${layout}`, { layout, partitions: 1 })
      feed.append({ id: 'a', value: '1' })
      await feed.flush()
      const view = await watched(t, feed.name)
      const changes = feed.subscribe({ from: view.position(), pollMs: 5 })
      feed.append({ id: 'b', value: '2' })
      await feed.flush()
      const name = onlyKey('fr:', feed.name)('arrivals')
      const [[, [field, entry]]] = await admin.send('XREVRANGE', name, '+', '-', 'COUNT', 1)
      await admin.send('XADD', name, '*', field, entry)
      await admin.send('XADD', name, '*', field, 'nonsense')
      feed.append({ id: 'c', value: '3' })
      await feed.flush()
      t.same((await take(changes, 2)).map(({ id }) => id), ['b', 'c'])
      await changes.return()
      await eventually(() => view.count() === 3)
    })

    await t.test(`${layout}: dropped and created again while it is followed`, async (t) => {
      const name = `anew-${layout}`
      const first = await open(t, name, { layout, partitions: 1 })
      first.append({ id: 'old', value: '1' })
      await first.close()
      const { views } = await openViews(t, { primary: server, mode: 'all' })
      const { view, release } = /** @type {any} */ (await views.watch(name))
      t.teardown(release)
      await eventually(() => view()?.isComplete)
      await admin.send('UNLINK', ...(await admin.send('KEYS', `fr:{${name}*`)))
      const second = await open(t, name, { layout, partitions: 1 })
      second.append({ id: 'new', value: '2' })
      await second.flush()
      await eventually(() => view()?.isComplete && view()?.count() === 1 && view()?.get([bytes('new')])[0] !== null)
    })

    await t.test(`${layout}: a feed of an older writer is refused, and not followed`, async (t) => {
      const feed = `older-${layout}`
      const { log, ...older } = definitionOf({ feed, layout, partitions: 1, windowMs: MINUTE_MS, maxItems: 0, late: 'newest' })
      t.equal(log, 1)
      await agree(admin, 'fr:', older)
      await t.rejects(openWriterFor(t, { redisUrl: server.url, feed, layout }), { code: 'FEED_DEFINITION_DIFFERS', message: /log of arrivals/ })
      const reading = await open(t, `reading-${layout}`, { layout })
      reading.append({ id: 'a', value: '1' })
      await reading.flush()
      await t.rejects(agree(admin, 'fr:', { ...older, feed: reading.name }), { code: 'FEED_DEFINITION_DIFFERS' })
      t.equal((await readDefinition(admin, 'fr:', reading.name)).log, 1)
    })

    await t.test(`${layout}: the log holds about 16 MiB`, async (t) => {
      const key = onlyKey('fr:', `bytes-${layout}`)
      const feed = await open(t, `bytes-${layout}`, { layout, partitions: 1, batchItems: 500 })
      for (let n = 0; n < 300_000; n++) {
        // the longest ids
        const ready = feed.append({ id: `${n % 1000}`.padStart(128, '0'), value: '' })
        if (!ready) await feed.ready({ deadlineMs: 60_000 })
      }
      await feed.flush({ deadlineMs: 60_000 })
      const used = await admin.send('MEMORY', 'USAGE', key('arrivals'))
      t.ok(used < 1.2 * KEPT_BYTES && used > 0.5 * KEPT_BYTES, `${used} bytes`)
    })
  }

  await t.test('many items of one millisecond', async (t) => {
    const count = nightly(300_000, 30_000)
    for (const layout of LAYOUTS) {
      const feed = await open(t, `burst-${layout}`, { layout, partitions: 1, batchItems: 900 })
      feed.append({ id: 'first', value: '0' })
      await feed.flush()
      const view = await watched(t, feed.name)
      const ts = Date.now()
      for (let n = 0; n < count; n++) if (!feed.append({ id: `n${n}`, ts, value: 'x' })) await feed.ready({ deadlineMs: 60_000 })
      await feed.flush({ deadlineMs: 60_000 })
      const begunMs = performance.now()
      await eventually(() => view.count() === count + 1, { deadlineMs: 60_000 })
      t.comment(`${layout}: ${count} items, in the view ${Math.round(performance.now() - begunMs)} ms after the last one was stored`)
      t.ok(view.isComplete, layout)
    }
  })

  await t.test('a batch with an item an hour old in a fast feed', async (t) => {
    // by day other tests run beside it
    const withinMs = nightly(1000, 10_000)
    for (const layout of LAYOUTS) {
      const feed = await open(t, `fast-${layout}`, { layout, partitions: 1, windowMs: 120 * MINUTE_MS })
      feed.append({ id: 'first', value: '0' })
      await feed.flush()
      const view = await watched(t, feed.name)
      const run = { isOver: false }
      const writing = (async () => {
        for (let n = 0; !run.isOver; n++) {
          for (let i = 0; i < 250; i++) feed.append({ id: `n${(250 * n + i) % 10_000}`, value: 'x'.repeat(64) })
          await pause(nightly(5, 25))
        }
      })()
      await pause(500)
      const begunMs = performance.now()
      feed.append({ id: 'hour', ts: Date.now() - 60 * MINUTE_MS, value: 'old' })
      await eventually(() => view.get([bytes('hour')])[0] !== null)
      t.ok(performance.now() - begunMs < withinMs, `${layout}: in the view after ${Math.round(performance.now() - begunMs)} ms`)
      t.ok(Date.now() - view.asOf < withinMs, `${layout}: ${Date.now() - view.asOf} ms behind`)
      run.isOver = true
      await writing
    }
  })
})
