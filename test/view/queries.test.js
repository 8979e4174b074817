import t from 'tap'
import { FreshetError } from '../../src/errors.js'
import { agree, setRetention } from '../../src/feeds/definitions.js'
import { layoutNames } from '../../src/layouts/index.js'
import { createServers } from '../../src/store/servers.js'
import { createQueries } from '../../src/view/queries.js'
import { connectFor, engineName, eventually, openWriterFor, silentLog, startDeployment } from '../servers.js'
import { scopedEngines } from '../scope.js'

const bytes = (/** @type {string} */ text) => Buffer.from(text)

/** @param {import('tap').Test} t @param {{ url: string }} primary @param {Partial<Parameters<typeof createServers>[0]>} [more] */
async function askFor (t, primary, more) {
  const deployment = createServers({
    redisUrl: primary.url, replicaUrls: null, readFrom: 'replica', name: 'test-reader', deadlineMs: 1500, log: silentLog, ...more
  })
  t.teardown(() => deployment.close())
  await deployment.ready
  return { deployment, queries: createQueries({ deployment, keyPrefix: 'fr:', now: Date.now }) }
}

/** Members and values that come over a connection. @param {import('../../src/store/connection.js').Connection} connection */
function counting (connection) {
  const seen = { replies: 0 }
  const count = (/** @type {any} */ reply) => {
    seen.replies += Array.isArray(reply) ? reply.flat().length : 1
    return reply
  }
  return {
    seen,
    deployment: /** @type {any} */ ({
      confirmedAt: Number,
      shard () { return this },
      pick: () => ({
        lagMs: null,
        connection: {
          ...connection,
          send: async (/** @type {string} */ command, /** @type {string[]} */ ...args) => count(await connection.send(command, ...args)),
          runScript: async (/** @type {[string, string[], string[]]} */ ...run) => count(await connection.runScript(...run))
        }
      })
    })
  }
}

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const { primary, replicas } = await startDeployment(t, { engine })
  const connection = await connectFor(t, primary.url)
  const inSync = async () => {
    await connection.send('INCR', 'marker')
    await connection.send('WAIT', replicas.length, 20_000)
  }
  const writer = await openWriterFor(t, { redisUrl: primary.url, feed: 'positions', partitions: 3 })
  const now = Date.now()
  for (let i = 0; i < 100; i++) writer.pipeline.append(bytes(`bus-${i}`), now - i, bytes(`at ${i}`))
  await writer.pipeline.flush()
  await inSync()
  const { deployment, queries } = await askFor(t, primary)

  await t.test('an answer has the time of its query and the lag of its node', async (t) => {
    const before = Date.now()
    const { items, next, asOf, lagMs } = await queries.latest('positions', { limit: 10 })
    t.equal(items.length, 10)
    t.same(next, { ts: items[9].ts, seq: items[9].seq, id: items[9].id })
    t.ok(asOf >= before && asOf <= Date.now())
    t.ok(lagMs === null || lagMs >= 0)
  })

  await t.test('the last page has no next', async (t) => {
    t.equal((await queries.latest('positions', { limit: 100 })).next, null)
    t.equal((await queries.latest('positions', { limit: 1000 })).next, null)
    t.ok((await queries.latest('positions', { limit: 99 })).next)
  })

  await t.test('the pages of one listing come from one node while it lives', async (t) => {
    let page = await queries.latest('positions', { limit: 9 })
    const { node } = page
    const ids = page.items.map(({ id }) => String(id))
    while (page.next) {
      page = await queries.latest('positions', { limit: 9, after: page.next, node })
      t.equal(page.node.of(deployment), node.of(deployment))
      ids.push(...page.items.map(({ id }) => String(id)))
    }
    t.same(ids, Array.from({ length: 100 }, (_, i) => `bus-${i}`))
  })

  await t.test('a feed in an unknown format fails with a code', async (t) => {
    await connection.send('SET', 'fr:{newer}:feed',
      JSON.stringify({ feed: 'newer', layout: 'ids', partitions: 1, windowMs: 0, maxItems: 0, format: 99 }))
    await connection.send('SET', 'fr:{stranger}:feed',
      JSON.stringify({ feed: 'stranger', layout: 'sticks', partitions: 1, windowMs: 0, maxItems: 0, format: 1 }))
    await inSync()
    await t.rejects(queries.count('newer'), { code: 'FEED_DEFINITION_DIFFERS', message: /format 99/ })
    await t.rejects(queries.count('stranger'), { code: 'FEED_LAYOUT_UNKNOWN', message: /sticks/ })
  })

  await t.test('items by id come in the order of the ids', async (t) => {
    const { items } = await queries.get('positions', ['bus-7', 'absent', 'bus-3', 'bus-7'].map(bytes))
    t.same(items.map((item) => item && String(item.value)), ['at 7', null, 'at 3', 'at 7'])
    t.same((await queries.get('positions', [])).items, [])
  })

  await t.test('definitions come from the server, and a changed retention holds within a second', async (t) => {
    t.match(await queries.definition('positions'), { feed: 'positions', partitions: 3, maxItems: 1_000_000 })
    t.same((await queries.definitions()).map(({ feed }) => feed), ['positions'])
    await setRetention(connection, 'fr:', 'positions', { maxItems: 2 })
    await eventually(async () => (await queries.count('positions')).count === 6)
    t.equal((await queries.latest('positions', { limit: 100 })).items.length, 6, 'maxItems is kept per partition')
    await setRetention(connection, 'fr:', 'positions', { maxItems: 0 })
    await eventually(async () => (await queries.definition('positions')).maxItems === 0)
  })

  await t.test('an unknown feed fails with a code, and is known as soon as it exists', async (t) => {
    for (const question of [() => queries.latest('later', { limit: 1 }), () => queries.get('later', [bytes('a')]),
      () => queries.count('later'), () => queries.definition('later')]) {
      await t.rejects(/** @type {() => Promise<unknown>} */ (question), { code: 'FEED_UNKNOWN' })
    }
    await t.rejects(queries.count('{x}'), { code: 'FEED_NAME_INVALID' })
    await agree(connection, 'fr:', { feed: 'later', layout: 'ids', partitions: 1, windowMs: 60_000, maxItems: 0, format: 1 })
    await inSync()
    t.same(await queries.count('later').then(({ count, exact }) => ({ count, exact })), { count: 0, exact: true })
  })

  await t.test('a key of another type fails with a code', async (t) => {
    await agree(connection, 'fr:', { feed: 'other', layout: 'ids', partitions: 1, windowMs: 60_000, maxItems: 0, format: 1 })
    await connection.send('SET', 'fr:{other:0}:ids', 'text')
    await inSync()
    await t.rejects(queries.latest('other', { limit: 1 }), { code: 'KEY_HOLDS_OTHER' })
  })

  await t.test('the pages of one listing, of one partition or several, read little more than they show', async (t) => {
    for (const layout of layoutNames()) {
      for (const partitions of [1, 4]) {
        const feed = `wide-${layout}-${partitions}`
        const writer = await openWriterFor(t, { redisUrl: primary.url, feed, layout, partitions })
        for (let i = 0; i < 4000; i++) writer.pipeline.append(bytes(`id-${i}`), now - Math.floor(i / 3), bytes('x'))
        await writer.pipeline.flush()
        const { seen, deployment } = counting(connection)
        const queries = createQueries({ deployment, keyPrefix: 'fr:', now: Date.now })
        const ids = []
        /** @type {any} */
        let page = { next: null }
        do {
          page = await queries.latest(feed, { limit: 500, after: page.next, scan: page.scan })
          ids.push(...page.items.map((/** @type {any} */ { id }) => String(id)))
        } while (page.next)
        t.equal(new Set(ids).size, 4000)
        // a member and its score, and in ids the value
        const perItem = layout === 'ids' ? 3 : 2
        t.ok(seen.replies < 4000 * perItem * 1.7, `${feed}: ${seen.replies} for ${ids.length} items`)
      }
    }
  })

  await t.test('a read that is too large for a connection is repeated in smaller ones', async (t) => {
    const most = 600
    let ended = 0
    const limited = async (/** @type {Promise<any>} */ reply, /** @type {number} */ parts) => {
      if ((await reply).length <= most * parts) return reply
      ended++
      throw new FreshetError('SERVER_LOST', 'it sent or announced a reply of more than it may')
    }
    const narrow = {
      ...connection,
      send: (/** @type {string} */ command, /** @type {any[]} */ ...args) =>
        command === 'MGET' ? limited(connection.send(command, ...args), 1) : connection.send(command, ...args),
      runScript: (/** @type {Parameters<typeof connection.runScript>} */ ...run) => limited(connection.runScript(...run), 3)
    }
    const queries = createQueries({
      deployment: /** @type {any} */ ({
        confirmedAt: Number, shard: () => ({ pick: () => ({ lagMs: null, connection: narrow }) })
      }),
      keyPrefix: 'fr:',
      now: Date.now
    })
    const { items } = await queries.latest('wide-ids-1', { limit: 100 })
    t.equal(items.length, 100)
    t.equal((await queries.latest('wide-ids-1', { limit: 1000 })).items.length, 1000)
    t.equal(ended, 1)
    t.equal((await queries.get('wide-ids-1', Array.from({ length: 1000 }, (_, i) => bytes(`id-${i}`)))).items.filter((item) =>
      item).length, 1000)
  })

  await t.test('when a node is lost during a query, another is tried once', async (t) => {
    const { queries, deployment } = await askFor(t, primary, { deadlineMs: 400 })
    await eventually(() => deployment.nodes().filter(({ state }) => state === 'connected').length === 2)
    const [frozen] = replicas
    frozen.freeze()
    for (let i = 0; i < 4; i++) t.equal((await queries.latest('positions', { limit: 5 })).items.length, 5)
    frozen.thaw()
    await eventually(() => deployment.nodes().filter(({ state }) => state === 'connected').length === 2)
  })

  await t.test('without a node, a query fails and the status has the reason', async (t) => {
    const { queries, deployment } = await askFor(t, primary)
    await eventually(() => queries.status().ready)
    t.same(queries.status().reasons, [])
    t.equal(queries.status().nodes.length, 3)
    await Promise.all(replicas.map((replica) => replica.kill()))
    await eventually(() => !queries.status().ready)
    await t.rejects(queries.count('positions'), { code: 'REPLICAS_GONE' })
    t.match(queries.status().reasons[0], /^REPLICAS_GONE: /)
    await deployment.close()
  })
})
