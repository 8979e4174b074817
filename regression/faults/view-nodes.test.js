/** Nodes that a view follows: killed, frozen, lagging, put in place of another; while items come. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { layoutNames, layoutOf } from '../../src/layouts/index.js'
import { startProxy } from '../../test/proxy.js'
import { connectFor, engineName, eventually, inSync, openWriterFor, startDeployment, startServer } from '../../test/servers.js'
import { everything, openViews, shown } from '../../test/view/viewing.js'
import { nightly, scopedEngines } from '../../test/scope.js'

const bytes = (/** @type {string} */ text) => Buffer.from(text)
const followed = layoutNames().filter((name) => name !== 'ids')
const isLog = (/** @type {string} */ layout) => layoutOf(layout).log !== undefined

/** Writes on until it is stopped. @param {import('tap').Test} t @param {Awaited<ReturnType<typeof openWriterFor>>} writer */
function keepWriting (t, { pipeline }) {
  const over = new AbortController()
  let n = 0
  const writing = (async () => {
    while (!over.signal.aborted) {
      for (let i = 0; i < 20; i++, n++) pipeline.append(bytes(`id-${n % 300}`), Date.now(), bytes(`value ${n}`))
      await pause(nightly(2, 10))
    }
    await pipeline.flush({ deadlineMs: 20_000 })
  })()
  t.teardown(() => over.abort())
  return {
    /** Resolves when all is acknowledged. */
    stop () {
      over.abort()
      return writing
    }
  }
}

/** The view has what a node has. @param {{ views: any }} readers @param {string} feed @param {any} queries */
const isAs = ({ views }, feed, queries) => eventually(async () => {
  const [found, asked] = await Promise.all([everything(views, feed), everything(queries, feed)])
  if (found.map(shown).join() !== asked.map(shown).join()) {
    throw new Error(`the view has ${found.length} items, such as ${found[0] && shown(found[0])}; asked, there are ${asked.length}, such ` +
      `as ${asked[0] && shown(asked[0])}`)
  }
  return views.revision(feed) !== null
})

/** Clients of that name on a server. @param {import('../../src/store/connection.js').Connection} connection @param {string} word */
const clientsNamed = async (connection, word) =>
  String(await connection.send('CLIENT', 'LIST')).split('\n').filter((line) => line.includes(word))

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  for (const layout of followed) {
    await t.test(`${layout}: its replica is killed, then frozen, then left behind: another one is followed, and nothing is ` +
      'missed', async (t) => {
      const { primary, replicas } = await startDeployment(t, { engine })
      const feed = 'nodes'
      const writer = await openWriterFor(t, { redisUrl: primary.url, feed, layout, partitions: 2, windowMs: 86_400_000 })
      const writing = keepWriting(t, writer)
      const readers = await openViews(t, { primary, readFrom: 'replica', deadlineMs: 1500 })
      const truth = await openViews(t, { primary, mode: 'none' })
      await readers.isComplete(feed)
      const controls = await Promise.all(replicas.map(({ url }) => connectFor(t, url)))
      const whichIsFollowed = () => eventually(async () => {
        for (const [i, control] of controls.entries()) if ((await clientsNamed(control, `view-${feed}`)).length > 0) return { i }
        return false
      })

      const { i: first } = /** @type {{ i: number }} */ (await whichIsFollowed())
      await replicas[first].kill()
      controls[first] = controls[1 - first]
      await eventually(async () => (await clientsNamed(controls[1 - first], `view-${feed}`)).length > 0)
      await eventually(() => readers.views.revision(feed))
      await replicas[first].restart()
      await inSync(replicas[first])
      controls[first] = await connectFor(t, replicas[first].url)
      await eventually(() =>
        readers.deployment.nodes().every(({ connected, role, state }) => connected && (role === 'primary' || state === 'connected')))

      replicas[1 - first].freeze()
      await eventually(async () => (await clientsNamed(controls[first], `view-${feed}`)).length > 0)
      await eventually(() => readers.views.revision(feed))
      replicas[1 - first].thaw()

      await writing.stop()
      await isAs(readers, feed, truth.queries)
      t.match(await readers.views.count(feed), { count: 300, exact: true })
      if (isLog(layout)) t.equal(readers.countsOf(feed)?.skipped.corrupt, 0)
    })
  }

  await t.test('a replica that cannot keep up is left while another may answer', async (t) => {
    const { primary, replicas } = await startDeployment(t, { engine })
    const writer = await openWriterFor(t, { redisUrl: primary.url, feed: 'lag', layout: 'segments' })
    writer.pipeline.append(bytes('a'), Date.now(), bytes('1'))
    await writer.pipeline.flush()
    const readers = await openViews(t, { primary, readFrom: 'replica', deadlineMs: 1000 })
    await readers.isComplete('lag')
    const controls = await Promise.all(replicas.map(({ url }) => connectFor(t, url)))
    const counts = () => Promise.all(controls.map(async (control) => (await clientsNamed(control, 'view-lag')).length))
    const lagging = (await counts()).findIndex((count) => count > 0)
    // its primary is unreachable now, so it cannot keep up
    await controls[lagging].send('REPLICAOF', '127.0.0.1', '1')
    await eventually(async () => (await counts())[1 - lagging] > 0)
    writer.pipeline.append(bytes('b'), Date.now(), bytes('2'))
    await writer.pipeline.flush()
    await eventually(async () => (await readers.views.count('lag')).count === 2)
    t.same(readers.countsOf('lag')?.rebuilt, 0)
  })

  for (const layout of followed) {
    await t.test(`${layout}: another server in place of the one that was followed: the view is of what is there now`, async (t) => {
      const [before, after] = await Promise.all([startServer(t, { engine }), startServer(t, { engine })])
      const writers = await Promise.all([before, after].map(({ url }) => openWriterFor(t, { redisUrl: url, feed: 'swapped', layout })))
      for (const [i, { pipeline }] of writers.entries()) {
        for (let n = 0; n < 50 + i; n++) pipeline.append(bytes(`${i}-${n}`), Date.now() - n, bytes(`of server ${i}`))
        await pipeline.flush()
      }
      const proxy = await startProxy(t, before.port)
      const readers = await openViews(t, { primary: proxy, deadlineMs: 500 })
      await readers.isComplete('swapped')
      await eventually(async () => (await readers.views.count('swapped')).count === 50)
      proxy.switchTo(after.port)
      proxy.resetAll()
      const truth = await openViews(t, { primary: after, mode: 'none' })
      await isAs(readers, 'swapped', truth.queries)
      t.match(await readers.views.count('swapped'), { count: 51, exact: true })
    })
  }

  for (const layout of followed) {
    await t.test(`${layout}: a primary that takes over with the same definition and less than the one before: the view is of what it ` +
      'has', async (t) => {
      const { primary, replicas } = await startDeployment(t, { engine, replicas: 1 })
      const writer = await openWriterFor(t, { redisUrl: primary.url, feed: 'over', layout })
      const write = async (/** @type {string} */ word) => {
        writer.pipeline.append(bytes(word), Date.now(), bytes(word))
        await writer.pipeline.flush()
      }
      await write('both')
      const control = await connectFor(t, replicas[0].url)
      await eventually(async () => (await control.send('EXISTS', `fr:{over:0}:${layoutOf(layout).log?.part ?? layout}`)) === 1)
      await control.send('REPLICAOF', 'NO', 'ONE')
      await write('lost')
      const proxy = await startProxy(t, primary.port)
      const readers = await openViews(t, { primary: proxy, deadlineMs: 500 })
      await readers.isComplete('over')
      await eventually(async () => (await readers.views.count('over')).count === 2)
      proxy.switchTo(replicas[0].port)
      proxy.resetAll()
      await eventually(async () => (await readers.views.count('over')).count === 1)
      t.same((await readers.views.latest('over', { limit: 10 })).items.map(({ id }) => String(id)), ['both'])
      t.equal(readers.countsOf('over')?.rebuilt, 1)
      const next = await openWriterFor(t, { redisUrl: replicas[0].url, feed: 'over', layout })
      next.pipeline.append(bytes('new'), Date.now(), bytes('new'))
      await next.pipeline.flush()
      await eventually(async () => (await readers.views.count('over')).count === 2)
    })
  }
})
