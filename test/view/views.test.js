/** Answers of views and of nodes: while a view is built, over its bound, behind, or without a node. */
import t from 'tap'
import { dropFeed } from '../../src/feeds/definitions.js'
import { layoutNames } from '../../src/layouts/index.js'
import { MAX_SCAN } from '../../src/layouts/log.js'
import { startProxy } from '../proxy.js'
import { connectFor, engineName, eventually, openWriterFor, startDeployment, startServer } from '../servers.js'
import { everything, openViews, shown } from './viewing.js'
import { scopedEngines } from '../scope.js'

const bytes = (/** @type {string} */ text) => Buffer.from(text)
const ids = (/** @type {any[]} */ items) => items.map(({ id }) => String(id))

/** @param {any} views @param {string} feed @param {object} [question] @returns {{ ids: string[], next: any } | null} what is visited */
function visited (views, feed, question = {}) {
  /** @type {string[]} */
  const seen = []
  const page = views.visit(feed, { limit: 1000, ...question },
    (/** @type {Buffer} */ from, /** @type {number} */ at, /** @type {number} */ end) => { seen.push(from.toString('utf8', at, end)) })
  return page && { ids: seen, next: page.next }
}

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const primary = await startServer(t, { engine })

  let prefixes = 0
  /** Feeds of one test: the views of others would open them, too. */
  function apart () {
    const keyPrefix = `test-${++prefixes}:`
    return {
      keyPrefix,

      /** @param {import('tap').Test} t @param {string} feed @param {number} count @param {object} [more] */
      async write (t, feed, count, more = {}) {
        const writer = await openWriterFor(t, { redisUrl: primary.url, keyPrefix, feed, layout: 'segments', batchItems: 100, ...more })
        const now = Date.now()
        for (let n = 0; n < count; n++) writer.pipeline.append(bytes(`${n}`), now - n, bytes(`value ${n}`))
        await writer.pipeline.flush()
        return { now, writer }
      },

      /** @param {import('tap').Test} t @param {Parameters<typeof openViews>[1]} options */
      views: (t, options) => openViews(t, { keyPrefix, ...options })
    }
  }

  await t.test('views of the layouts that cannot answer everything by themselves, of all feeds, or of none', async (t) => {
    const feeds = apart()
    for (const layout of layoutNames()) await feeds.write(t, `mode-${layout}`, 3, { layout })
    /** @type {Record<string, string[]>} */
    const wanted = { auto: ['segments', 'stream', 'values'], all: ['ids', 'segments', 'stream', 'values'], none: [] }
    for (const mode of /** @type {const} */ (['auto', 'all', 'none'])) {
      const { views } = await feeds.views(t, { primary, mode })
      await eventually(() => views.status().ready && views.figures().views.every(({ isComplete }) => isComplete) &&
        views.figures().views.length === wanted[mode].length)
      t.same(views.figures().views.map(({ feed }) => feed.slice('mode-'.length)).sort(), wanted[mode])
      for (const layout of layoutNames()) {
        const isAnswered = wanted[mode].includes(layout)
        // on a busy machine a view may be behind for a moment, and then answers nothing
        await eventually(async () => {
          const { count, exact } = await views.count(`mode-${layout}`)
          return count === 3 && exact === (layout === 'ids' || isAnswered) && (views.revision(`mode-${layout}`) !== null) === isAnswered
        })
      }
    }
  })

  await t.test('answers equal those of the servers and have a time and a revision; equal revisions have equal content', async (t) => {
    const feeds = apart()
    const { now, writer } = await feeds.write(t, 'watched', 250, { partitions: 3 })
    const { views, queries, isComplete } = await feeds.views(t, { primary })
    await isComplete('watched')
    const page = await views.latest('watched', { limit: 10 })
    t.same(ids(page.items), Array.from({ length: 10 }, (_, n) => String(n)))
    t.match(page, { next: { ts: now - 9, seq: 0, id: bytes('9') }, lagMs: 0 })
    t.ok(page.asOf >= now && page.asOf <= Date.now())
    t.same(ids((await views.latest('watched', { limit: 5, after: page.next })).items), ['10', '11', '12', '13', '14'])
    t.same(await everything(views, 'watched', { limit: 7 }), await everything(queries, 'watched'))
    t.equal((await views.latest('watched', { limit: 250 })).next, null)
    t.same((await views.get('watched', [bytes('3'), bytes('none'), bytes('0')])).items.map((item) => item && shown(item)),
      [`${now - 3}+0 3 value 3`, null, `${now}+0 0 value 0`])
    t.equal((await views.latest('watched', { limit: 100, maxBytes: 40 })).items.length, 5, 'a page ends when its bytes are full')
    t.match(visited(views, 'watched', { sinceMs: now - 2 }), { ids: ['0', '1', '2'], next: null })
    t.match(visited(views, 'watched', { limit: 3 }), { ids: ['0', '1', '2'], next: { ts: now - 2 } })
    const before = views.revision('watched')?.key
    t.equal(views.revision('watched')?.key, before)
    writer.pipeline.append(bytes('0'), now + 1, bytes('changed'))
    await writer.pipeline.flush()
    await eventually(async () => String((await views.get('watched', [bytes('0')])).items[0]?.value) === 'changed')
    t.not(views.revision('watched')?.key, before)
    t.equal(views.revision('unknown'), null)
    t.equal(visited(views, 'unknown'), null)
    await t.rejects(views.count('unknown'), { code: 'FEED_UNKNOWN' })
  })

  for (const layout of ['segments', 'values']) {
    await t.test(`${layout}: over its bound a view has the newest items and reports it; the rest comes from a node or is ` +
      'refused', async (t) => {
      const feeds = apart()
      const feed = `over-${layout}`
      const { now } = await feeds.write(t, feed, 2000, { layout, partitions: 2 })
      const { views, queries, isComplete, figuresOf } = await feeds.views(t, { primary, boundItems: 500 })
      await isComplete(feed)
      const figures = figuresOf(feed)
      t.ok(figures?.isOverBound && figures.items <= 500 && figures.items > 300)
      await eventually(() => views.status().ready)
      t.ok(views.status().reasons.some((/** @type {string} */ reason) => reason.startsWith('VIEW_OVER_BOUND') && reason.includes(feed)),
        'it is said, and no reason to ask elsewhere')
      t.same(ids((await views.latest(feed, { limit: 200 })).items), Array.from({ length: 200 }, (_, n) => String(n)))
      t.same((await everything(views, feed, { limit: 150 })).map(shown), (await everything(queries, feed)).map(shown),
        'deeper pages are asked')
      await eventually(() => (figuresOf(feed)?.behindMs ?? Infinity) < 200)
      await t.rejects(views.count(feed), { code: 'VIEW_OVER_BOUND', retryable: true, message: /--max-view-items/ })
      t.same(ids((await views.get(feed, [bytes('7'), bytes('0')])).items), ['7', '0'])
      await t.rejects(views.get(feed, [bytes('0'), bytes('1999')]), { code: 'VIEW_OVER_BOUND' })
      t.ok(views.revision(feed))
      t.match(visited(views, feed, { sinceMs: now - 50 }), { ids: { length: 51 }, next: null })
      const above = visited(views, feed)
      t.ok(above && above.ids.length > 300 && above.next, 'what is visited ends above what was let go of, and is not all')
      t.equal(visited(views, feed, { after: above?.next }), null)
    })
  }

  await t.test('while a view is built, a node answers as far as the layout can', async (t) => {
    const feeds = apart()
    await feeds.write(t, 'making', 10)
    const { views } = await feeds.views(t, { primary, deadlineMs: 500 })
    // before feeds are known
    t.match(views.status(), { ready: false, reasons: [/^VIEW_BEHIND/] })
    t.match(await views.count('making'), { count: 10 })
    t.equal((await views.latest('making', { limit: 10 })).items.length, 10)
    await eventually(() => views.status().ready)
  })

  await t.test('more than a second behind, newest items come from a node and the rest is refused; it recovers', async (t) => {
    const feeds = apart()
    const { writer, now } = await feeds.write(t, 'behind', 10)
    /** @type {import('../proxy.js').Line[]} */
    const lines = []
    const proxy = await startProxy(t, primary.port, { onLine: (line) => lines.push(line) })
    const { queries, views, isComplete, figuresOf } = await feeds.views(t, { primary: proxy, deadlineMs: 60_000 })
    await isComplete('behind')
    // the deployment has the first line
    for (const line of lines.slice(1)) line.goSilent()
    writer.pipeline.append(bytes('new'), now + 1, bytes('1'))
    await writer.pipeline.flush()
    await eventually(() => views.revision('behind') === null)
    await t.rejects(views.count('behind'), { code: 'VIEW_BEHIND', retryable: true })
    await t.rejects(views.get('behind', [bytes('1')]), { code: 'VIEW_BEHIND' })
    t.equal(visited(views, 'behind'), null)
    t.same(ids((await views.latest('behind', { limit: 2 })).items), ['new', '0'])
    t.match(views.status(), { ready: false })
    t.ok(views.status().reasons.some((/** @type {string} */ reason) => /^VIEW_BEHIND: the view of feed behind is \d/.test(reason)))
    t.notMatch(views.status('another').reasons.join(), 'behind', 'those who may read another feed do not learn its name')
    t.ok(Number(figuresOf('behind')?.behindMs) > 1000)

    // so many that came since are older, which a node finds out by reading all of them
    for (let n = 0; n < MAX_SCAN; n++) writer.pipeline.append(bytes(`late ${n}`), now - 1, bytes(''))
    await writer.pipeline.flush()
    await t.rejects(queries.latest('behind', { limit: 2 }), { code: 'VIEW_NEEDED' })
    await t.rejects(views.latest('behind', { limit: 2 }), { code: 'VIEW_BEHIND', retryable: true }, 'the view will know')
    const { views: fresh } = await feeds.views(t, { primary })
    await t.rejects(fresh.latest('behind', { limit: 2 }), { code: 'VIEW_BEHIND', retryable: true }, 'so will one that is not open yet')
    const { views: none } = await feeds.views(t, { primary, mode: 'none' })
    await t.rejects(none.latest('behind', { limit: 2 }), { code: 'VIEW_NEEDED', retryable: false })
    for (const line of lines.slice(1)) line.reset()
    await eventually(async () => (await views.count('behind')).count === 11 + MAX_SCAN)
    t.ok(views.revision('behind'))
  })

  await t.test('without discovery, the first query opens a view, and it is closed when idle', async (t) => {
    const feeds = apart()
    await feeds.write(t, 'lazy', 30)
    const { views } = await feeds.views(t, { primary, discover: false, idleMs: 300 })
    t.match(views.status(), { ready: true, reasons: { length: 0 } })
    t.same(views.figures().views, [])
    t.match(await views.count('lazy'), { count: 30, exact: true }, 'a count waits for the view')
    t.same(ids((await views.latest('lazy', { limit: 2 })).items), ['0', '1'])
    t.same(views.figures().views.map(({ feed }) => feed), ['lazy'])
    await eventually(() => views.figures().views.length === 0)
    t.match(await views.count('lazy'), { count: 30, exact: true })
    await t.rejects(views.count('nowhere'), { code: 'FEED_UNKNOWN' })
  })

  await t.test('a feed with an unreadable definition does not affect other views', async (t) => {
    const feeds = apart()
    const admin = await connectFor(t, primary.url)
    await admin.send('SADD', `${feeds.keyPrefix}feeds`, 'broken')
    await admin.send('SET', `${feeds.keyPrefix}{broken}:feed`, 'no JSON')
    await feeds.write(t, 'whole', 5)
    const { views, isComplete } = await feeds.views(t, { primary })
    await isComplete('whole')
    await eventually(() => views.status().ready)
    await t.rejects(views.count('broken'), { code: 'KEY_HOLDS_OTHER' })
    await admin.send('SREM', `${feeds.keyPrefix}feeds`, 'broken')
  })

  await t.test('a feed that is dropped and created again gets another view, in whatever layout', async (t) => {
    const feeds = apart()
    const admin = await connectFor(t, primary.url)
    const { views, queries } = await feeds.views(t, { primary, mode: 'all' })
    for (const [round, layout] of ['segments', 'values', 'ids', 'segments', 'stream', 'stream'].entries()) {
      const { writer } = await feeds.write(t, 'again', 20 + round, { layout, partitions: 1 + round % 3 })
      await eventually(async () => {
        const { count, exact } = await views.count('again')
        return count === 20 + round && exact && views.revision('again') !== null
      })
      t.same((await everything(views, 'again')).map(shown), (await everything(queries, 'again')).map(shown))
      await writer.close({ drainMs: 0 })
      await dropFeed(admin, feeds.keyPrefix, 'again')
      await eventually(() => views.revision('again') === null)
      await eventually(() => views.latest('again', { limit: 1 }).then(() => false, ({ code }) => code === 'FEED_UNKNOWN'))
    }
  })
})

t.test(`${engineName(engine)}: a view that only a watcher needs does not block readiness`, { buffered: true }, async (t) => {
  const { primary } = await startDeployment(t, { engine, replicas: 0 })
  const writer = await openWriterFor(t, { redisUrl: primary.url, feed: 'watched', layout: 'ids' })
  for (let n = 0; n < 10; n++) writer.pipeline.append(bytes(`${n}`), Date.now(), bytes('x'))
  await writer.pipeline.flush()
  let ahead = 0
  const { views } = await openViews(t, { primary, now: () => Date.now() + ahead })
  await eventually(() => views.status().ready)
  t.same(views.figures().views, [])
  const { view, release } = await views.watch('watched')
  t.match(views.status(), { ready: true, reasons: { length: 0 } })
  t.match(await views.count('watched'), { count: 10, exact: true })
  await eventually(() => view()?.isComplete)
  // as if nothing had been heard for 5 s
  ahead = 5000
  t.equal(views.status().ready, true)
  t.match(await views.count('watched'), { count: 10, exact: true })
  release()
  await eventually(() => view() === null)
})

t.test(`${engineName(engine)}: a view that only a watcher needs calls the watcher and answers no queries`, {
  buffered: true
}, async (t) => {
  const { primary } = await startDeployment(t, { engine, replicas: 0 })
  const old = Date.now() - 10_000
  for (const layout of ['ids', 'segments']) {
    const writer = await openWriterFor(t, { redisUrl: primary.url, feed: layout, layout })
    for (let n = 0; n < 5000; n++) writer.pipeline.append(bytes(`${n}`), old - n, bytes('x'))
    await writer.pipeline.flush()
    for (const mode of /** @type {const} */ (['auto', 'all'])) {
      const { views } = await openViews(t, { primary, mode })
      const answers = layout === 'segments' || mode === 'all'
      const { view, release } = await views.watch(layout)
      await eventually(() => view()?.isComplete)
      t.equal(views.revision(layout) !== null, answers, `${layout} ${mode}`)
      t.same(visited(views, layout, { limit: 1 })?.ids, answers ? ['0'] : undefined)
      if (!answers) {
        /** @type {string[]} */
        const told = []
        view()?.watch({
          changed: (from, at, end, isForgotten) => told.push(`${/** @type {Buffer} */ (from).toString('utf8', at, end)} ${isForgotten}`),
          rebuilt: () => {},
          isWanted: () => true
        })
        writer.pipeline.remove(bytes('2000'), Date.now())
        await writer.pipeline.flush()
        t.same((await views.get(layout, [bytes('2000'), bytes('7')])).items.map((item) => item && String(item.id)), [null, '7'])
        t.match(await views.count(layout), { count: 4999, exact: true })
        t.same(ids((await views.latest(layout, { limit: 1, after: { ts: old - 1999, seq: 4095, id: bytes('') } })).items), ['1999'])
        t.same(ids((await views.latest(layout, { limit: 1, sinceMs: null, after: { ts: old - 1999, seq: 0, id: bytes('') } })).items),
          ['2001'])
        await eventually(() => told.includes('2000 true'))
        const one = view()
        t.match(one && 'load' in one ? one.newest('2000') : one?.newest(bytes('2000')), { deleted: true })
      }
      release()
      if (answers) t.ok(view())
      else await eventually(() => view() === null)
    }
    await writer.close({ drainMs: 0 })
  }
})

t.test(`${engineName(engine)}: without nodes a view answers with its age, until it is too old`, { buffered: true }, async (t) => {
  const { primary, replicas } = await startDeployment(t, { engine, replicas: 1 })
  const writer = await openWriterFor(t, { redisUrl: primary.url, feed: 'gone', layout: 'segments' })
  for (let n = 0; n < 10; n++) writer.pipeline.append(bytes(`${n}`), Date.now(), bytes('x'))
  await writer.pipeline.flush()
  let ahead = 0
  const { views, isComplete } = await openViews(t, { primary, readFrom: 'replica', now: () => Date.now() + ahead, maxStaleMs: 30_000 })
  await isComplete('gone')
  await eventually(async () => (await views.count('gone')).count === 10)
  await replicas[0].kill()
  await eventually(() => !views.status().ready)
  const { asOf } = /** @type {any} */ (views.revision('gone'))
  ahead += 5000
  t.match(views.revision('gone'), { asOf, lagMs: null }, 'asOf stands still')
  t.match(await views.count('gone'), { count: 10, exact: true, asOf })
  t.equal((await views.latest('gone', { limit: 10 })).items.length, 10)
  t.match(views.status().reasons, [/^REPLICAS_GONE/, /^VIEW_BEHIND/])
  ahead += 30_000
  t.equal(views.revision('gone'), null)
  for (const question of [() => views.count('gone'), () => views.get('gone', [bytes('1')]), () => views.latest('gone', { limit: 1 })]) {
    await t.rejects(/** @type {Promise<unknown>} */ (question()), { code: 'REPLICAS_GONE' })
  }
  ahead = 0
  await replicas[0].restart()
  await eventually(async () => views.status().ready && (await views.count('gone')).count === 10)
})

t.test(`${engineName(engine)}: a feed that is watched without a view and cannot be followed is named`, { buffered: true }, async (t) => {
  const { primary, replicas } = await startDeployment(t, { engine, replicas: 1 })
  const writer = await openWriterFor(t, { redisUrl: primary.url, feed: 'followed', layout: 'ids' })
  writer.pipeline.append(bytes('a'), Date.now(), bytes('x'))
  await writer.pipeline.flush()
  const { views, figuresOf } = await openViews(t, { primary, readFrom: 'replica' })
  const reasons = (/** @type {string} */ feed) => views.status(feed).reasons.join()
  await eventually(() => views.status().ready)
  const { view, release } = await views.watch('followed')
  await eventually(() => view()?.isComplete === true && views.status().reasons.length === 0)
  t.equal(figuresOf('followed'), undefined, 'it has no view')
  await replicas[0].kill()
  await eventually(() => /feed followed(: REPLICAS_GONE| is \d)/.test(reasons('followed')))
  t.notMatch(reasons('another'), 'followed', 'those who may read another feed do not learn its name')
  await replicas[0].restart()
  await eventually(() => views.status().ready && views.status().reasons.length === 0)
  await replicas[0].kill()
  await eventually(() => /feed followed/.test(reasons('followed')))
  release()
  t.notMatch(reasons('followed'), 'feed followed', 'no one waits for it')
})
