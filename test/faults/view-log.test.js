/**
 * What is wrong with a log that a view follows: entries that cannot be read or come twice, a key of another kind, what
 * was trimmed before it was read.
 */
import t from 'tap'
import { agree, setRetention } from '../../src/feeds/definitions.js'
import { spreadTag } from '../../src/store/slots.js'
import { layoutNames, layoutOf } from '../../src/layouts/index.js'
import { startProxy } from '../proxy.js'
import { connectFor, engineName, eventually, openWriterFor, startDeployment, startServer } from '../servers.js'
import { everything, openViews, shown } from '../view/viewing.js'
import { scopedEngines } from '../scope.js'

const HOUR_MS = 3_600_000
const bytes = (/** @type {string} */ text) => Buffer.from(text)
const logs = layoutNames().filter((name) => layoutOf(name).log)

/** @param {Awaited<ReturnType<typeof openWriterFor>>} writer @param {string} word @param {number} count */
async function write ({ pipeline }, word, count) {
  for (let n = 0; n < count; n++) pipeline.append(bytes(`${word}-${n}`), Date.now(), bytes(`${word} ${n}`))
  await pipeline.flush()
}

/** @param {{ queries: any, views: any }} readers @param {string} feed */
const isAsAsked = ({ queries, views }, feed) => eventually(async () => {
  const [found, asked] = [await everything(views, feed), await everything(queries, feed)].map((items) => items.map(shown).join('\n'))
  if (found !== asked) throw new Error(`the view has\n${found.slice(0, 500)}\nasked\n${asked.slice(0, 500)}`)
  return views.revision(feed) !== null
})

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const primary = await startServer(t, { engine })
  const admin = await connectFor(t, primary.url)

  for (const layout of logs) {
    const { part } = /** @type {any} */ (layoutOf(layout).log)

    await t.test(`${layout}: entries that are corrupt, cut, newer or doubled are counted and passed over, before and after the view is ` +
      'in', async (t) => {
      const feed = `poison-${layout}`
      const name = `fr:{${feed}:0}:${part}`
      const writer = await openWriterFor(t, { redisUrl: primary.url, feed, layout })
      await write(writer, 'early', 20)

      async function poison () {
        const [[, [field, entry]]] = await admin.send('XREVRANGE', name, '+', '-', 'COUNT', 1)
        const flipped = Buffer.from(entry)
        flipped[flipped.length - 1] ^= 1
        const newer = Buffer.from(entry)
        newer[layout === 'segments' ? 3 : 0] = 200
        const add = (/** @type {Buffer} */ what) => admin.send('XADD', name, '*', field, what)
        for (const what of [flipped, entry.subarray(0, entry.length - 5), entry.subarray(0, 10), bytes('mine'), bytes('')]) {
          await add(what)
        }
        await add(newer)
        await add(entry)
      }

      await poison()
      const readers = await openViews(t, { primary })
      await readers.isComplete(feed)
      await isAsAsked(readers, feed)
      t.same(readers.countsOf(feed)?.skipped, { corrupt: 5, version: 1, duplicate: 1 })
      await write(writer, 'late', 20)
      await poison()
      await write(writer, 'last', 20)
      await isAsAsked(readers, feed)
      t.equal((await readers.views.count(feed)).count, 60)
      t.same(readers.countsOf(feed), { skipped: { corrupt: 10, version: 2, duplicate: 2 }, rebuilt: 0 })
      await eventually(() => readers.views.status().ready)
    })

    await t.test(`${layout}: what comes twice counts once among the newest that are kept`, async (t) => {
      const feed = `twice-${layout}`
      const name = `fr:{${feed}:0}:${part}`
      const writer = await openWriterFor(t, { redisUrl: primary.url, feed, layout, maxItems: 30 })
      await write(writer, 'early', 20)
      const readers = await openViews(t, { primary })
      await readers.isComplete(feed)
      for (const [, [field, entry]] of await admin.send('XRANGE', name, '-', '+')) await admin.send('XADD', name, '*', field, entry)
      await write(writer, 'late', 10)
      await eventually(async () => (await readers.views.count(feed)).count === 30)
      await write(writer, 'more', 1)
      await eventually(async () => (await readers.views.latest(feed, { limit: 1 })).items[0].id.equals(bytes('more-0')))
      t.equal((await readers.views.count(feed)).count, 30)
      await isAsAsked(readers, feed)
    })

    await t.test(`${layout}: a key that holds something else is reported, and the view is built once it is gone`, async (t) => {
      const feed = `other-${layout}`
      const name = `fr:{${feed}:0}:${part}`
      await agree(admin, 'fr:', (await openWriterFor(t, { redisUrl: primary.url, feed, layout })).definition)
      await admin.send('SET', name, 'mine')
      const readers = await openViews(t, { primary })
      await eventually(() => readers.views.status().reasons.some((reason) => reason.startsWith(`feed ${feed}: KEY_HOLDS_OTHER`)))
      t.equal(readers.views.status().ready, false)
      await t.rejects(readers.views.latest(feed, { limit: 1 }), { code: 'KEY_HOLDS_OTHER' })
      await t.rejects(readers.views.get(feed, [bytes('a')]), { code: 'KEY_HOLDS_OTHER' })
      await admin.send('DEL', name)
      await readers.isComplete(feed)
      t.match(await readers.views.count(feed), { count: 0, exact: true })
    })
  }
})

t.test(`${engineName(engine)}: a tail that falls behind what is trimmed rebuilds its view, and counts that`, {
  buffered: true
}, async (t) => {
  const { primary, replicas } = await startDeployment(t, { engine, replicas: 1 })
  const proxy = await startProxy(t, replicas[0].port)
  const replica = await connectFor(t, replicas[0].url)
  for (const layout of logs) {
    const feed = `trimmed-${layout}`
    const { part } = /** @type {any} */ (layoutOf(layout).log)
    const name = `fr:{${spreadTag(feed, 1, 2)}}:${part}`
    const writer = await openWriterFor(t, { redisUrl: primary.url, feed, layout, maxItems: 200, partitions: 2, batchItems: 20 })
    await write(writer, 'early', 300)
    const readers = await openViews(t, { primary, readFrom: 'replica', replicaUrls: [proxy.url], deadlineMs: 500 })
    await readers.isComplete(feed)
    await isAsAsked(readers, feed)
    t.equal(readers.countsOf(feed)?.rebuilt, 0)

    proxy.goSilent()
    const [[place]] = await replica.send('XREVRANGE', name, '+', '-', 'COUNT', 1)
    for (let round = 0; round < 5; round++) await write(writer, `round ${round}`, 500)
    // trimming comes with housekeeping, once a second and while something is written
    await eventually(async () => {
      await write(writer, 'more', 30)
      return (await replica.send('XRANGE', name, place, place)).length === 0
    })
    await eventually(() => readers.views.status().ready === false)
    proxy.speak()
    await eventually(() => Number(readers.countsOf(feed)?.rebuilt) >= 1)
    await isAsAsked(readers, feed)
    await write(writer, 'after', 50)
    await isAsAsked(readers, feed)
    await eventually(() => readers.views.status().ready)
    t.ok(Number(readers.countsOf(feed)?.rebuilt) <= 2, 'once for a partition')
    await readers.views.close()
  }
})

t.test(`${engineName(engine)}: a follower that hears nothing opens connections until one speaks, and /readyz says so`, {
  buffered: true
}, async (t) => {
  const primary = await startServer(t, { engine })
  /** @type {import('../proxy.js').Line[]} */
  const lines = []
  let isDeaf = false
  const proxy = await startProxy(t, primary.port, {
    onLine (line) {
      lines.push(line)
      line.onceSent('XREAD', () => { if (isDeaf) line.goSilent() })
    }
  })
  const following = () => lines.filter(({ name }) => name?.includes('view-deaf'))
  const writer = await openWriterFor(t, { redisUrl: primary.url, feed: 'deaf', layout: 'segments' })
  await write(writer, 'early', 5)
  const readers = await openViews(t, { primary: proxy, deadlineMs: 500 })
  await readers.isComplete('deaf')

  isDeaf = true
  following().forEach((line) => line.goSilent())
  await write(writer, 'late', 5)
  await eventually(() => following().length > 2 &&
    readers.views.status().reasons.some((reason) => reason.startsWith('VIEW_BEHIND: the view of feed deaf is ')))
  const { items: [newest] } = await readers.views.latest('deaf', { limit: 1 })
  t.equal(String(newest.id), 'late-4', 'nodes are asked in the meantime')
  isDeaf = false
  await eventually(() => readers.views.status().reasons.length === 0)
  t.equal((await readers.views.count('deaf')).count, 10)
  t.equal(readers.countsOf('deaf')?.rebuilt, 0)
})

t.test(`${engineName(engine)}: retention that is changed while more comes`, { buffered: true }, async (t) => {
  const primary = await startServer(t, { engine })
  const admin = await connectFor(t, primary.url)
  for (const layout of logs) {
    const feed = `changed-${layout}`
    const open = () => openWriterFor(t, { redisUrl: primary.url, feed, layout, partitions: 2, windowMs: HOUR_MS })
    let writer = await open()
    const readers = await openViews(t, { primary })
    await write(writer, 'early', 200)
    await readers.isComplete(feed)
    for (const change of [{ maxItems: 40 }, { windowMs: 2 * HOUR_MS }, { maxItems: 0 }]) {
      // a writer that learns it late would still trim what the view has read again
      if (change.maxItems === 0) await writer.close({ drainMs: 10_000 })
      await setRetention(admin, 'fr:', feed, change)
      if (change.maxItems === 0) writer = await open()
      await write(writer, JSON.stringify(change).replaceAll('"', ''), 50)
      await isAsAsked(readers, feed)
    }
    t.same(readers.countsOf(feed)?.rebuilt, 0)
    await readers.views.close()
  }
})
