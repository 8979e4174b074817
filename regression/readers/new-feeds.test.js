/** A reader never denies what was just acknowledged, although its replica does not have it yet. */
import t from 'tap'
import { follow } from '../../src/client.js'
import { openReader } from '../../src/index.js'
import { isProblem } from '../../test/gateway/requests.js'
import { startProxy } from '../../test/proxy.js'
import { scopedEngines } from '../../test/scope.js'
import { eventually, inSync, silentLog, startDeployment, startServer } from '../../test/servers.js'
import { startGateway, startReader } from '../../test/services.js'
import { startAuctions } from '../../test/systems/auctions/auctioning.js'

const LAG_MS = 200
const FEEDS = 20
const [engine] = await scopedEngines()

/** A primary with one replica behind a line, in sync. @param {import('tap').Test} t @param {number} delayMs of the line */
async function startLagging (t, delayMs) {
  const { primary } = await startDeployment(t, { engine, replicas: 0 })
  const line = await startProxy(t, primary.port, { delayMs })
  const replica = await startServer(t, { engine, replicaOf: line })
  await inSync(replica)
  return { primary, replica }
}

/** @param {string} url @returns {Promise<number>} the status of a stream, which is then closed */
async function statusOfStream (url) {
  const stop = new AbortController()
  const { status } = await fetch(url, { signal: stop.signal })
  stop.abort()
  return status
}

/** What is asked for right after the POST that created a feed. @param {any} reader @param {string} feed */
const statusesOf = (reader, feed) => Promise.all([
  reader.get(`/v1/feeds/${feed}`).then(({ status }) => status),
  reader.get(`/v1/feeds/${feed}/items`).then(({ status }) => status),
  statusOfStream(`${reader.url}/v1/feeds/${feed}/live`)
])

/** @param {any} reader @param {string[]} paths @returns {Promise<number[]>} the different ones */
async function statusesAt (reader, paths) {
  const replies = await Promise.all(paths.map((path) => reader.get(path)))
  return [...new Set(replies.map(({ status, json }) => status === 503 ? json.detail : status))]
}

/** Round trips to the primary so far. @param {any} reader */
const lookupsOf = async (reader) => Number(/^freshet_lookups_total (\d+)$/m.exec((await reader.get('/metrics')).body)?.[1])

/** @param {any} gateway @param {string} feed */
const write = async (gateway, feed) => (await gateway.post(`/v1/feeds/${feed}/items`, [{ id: 'a', value: '1' }])).status

t.test('with a replica that is behind', async (t) => {
  const { primary } = await startLagging(t, LAG_MS)
  const [gateway, reader] = await Promise.all([startGateway(t, { redisUrl: primary.url }), startReader(t, { redisUrl: primary.url })])

  await t.test('definition, pages and live of a feed are there right after the POST that created it', async (t) => {
    for (let n = 0; n < FEEDS; n++) {
      t.equal(await write(gateway, `new-${n}`), 200)
      // 503: on a busy machine the only replica may be further behind than replicas that are asked
      const statuses = await eventually(async () => {
        const found = await statusesOf(reader, `new-${n}`)
        return !found.includes(503) && found
      })
      t.same(statuses, [200, 200, 200])
    }
  })

  await t.test('an item is what the replica has of it, and a 404 says how far that is behind', async (t) => {
    await write(gateway, 'items')
    const reply = await reader.get('/v1/feeds/items/items/a')
    isProblem(t, reply, 404, 'ITEM_UNKNOWN')
    t.ok(Number(reply.headers.get('freshet-lag-ms')) > 0)
    await eventually(async () => (await reader.get('/v1/feeds/items/items/a')).status === 200)
  })

  await t.test('a client follows a feed from the moment of its creation, and so does a reader of the library', async (t) => {
    await write(gateway, 'followed')
    const got = []
    for await (const { event, items } of follow(reader.url, 'followed', { encoding: 'utf8' })) {
      got.push(event, ...items ?? [])
      if (items?.length) break
    }
    t.match(got.at(-1), { id: 'a', value: '1' })
    const library = await openReader({ redisUrl: primary.url, log: silentLog })
    t.teardown(() => library.close())
    await write(gateway, 'library')
    t.ok((await library.feed('library').latest()).items)
    await write(gateway, 'counted')
    t.type((await library.feed('counted').count()).count, 'number')
  })

  await t.test('the view of a followed feed stays although the replica does not list the feed yet', async (t) => {
    await write(gateway, 'kept')
    const stop = new AbortController()
    const events = []
    for await (const { event } of follow(reader.url, 'kept', { signal: stop.signal })) {
      events.push(event)
      // on a busy machine the snapshot has the first item already
      if (events.length === 1) await write(gateway, 'kept')
      else stop.abort()
    }
    t.same(events, ['snapshot', 'items'])
  })

  await t.test('a feed that was asked for before it was created is there, too', async (t) => {
    for (let n = 0; n < 3; n++) {
      t.equal((await reader.get(`/v1/feeds/asked-${n}`)).status, 404)
      await write(gateway, `asked-${n}`)
      t.same(await statusesOf(reader, `asked-${n}`), [200, 200, 200])
    }
  })

  await t.test('while the primary is away, an unknown name is 503 with Retry-After, and a known one is answered', async (t) => {
    await write(gateway, 'known')
    await eventually(async () => (await reader.get('/v1/feeds/known/items/a')).status === 200)
    await primary.kill()
    for (const path of ['', '/items', '/items/a', '/live', '/count']) {
      const reply = await reader.get(`/v1/feeds/nowhere${path}`)
      t.equal(reply.status, 503, path)
      t.ok(Number(reply.headers.get('retry-after')) > 0, path)
    }
    t.equal((await reader.get('/v1/feeds/known/items')).status, 200)
    await primary.restart()
    await eventually(async () => (await reader.get('/v1/feeds/nowhere')).status === 404)
  })
})

t.test('with a replica that was attached a moment ago, a feed is there right after the POST that created it', async (t) => {
  const { primary } = await startDeployment(t, { engine, replicas: 0 })
  const flags = ['--read-from', 'replica']
  const [gateway, reader] = await Promise.all([
    startGateway(t, { redisUrl: primary.url }), startReader(t, { redisUrl: primary.url, flags })
  ])
  const replica = await startServer(t, { engine, replicaOf: primary })
  await eventually(async () => (await reader.get('/v1/feeds')).status === 200)
  for (let n = 0; n < FEEDS; n++) {
    t.equal(await write(gateway, `new-${n}`), 200)
    t.same(await statusesOf(reader, `new-${n}`), [200, 200, 200])
  }
  await inSync(replica)
})

t.test('keys of a system are there right after they were created, with a replica that is behind', async (t) => {
  const { primary } = await startLagging(t, LAG_MS)
  const { gateway, reader } = await startAuctions(t, { primary })
  for (let n = 0; n < FEEDS; n++) {
    t.equal((await reader.get(`/v1/auctions/new-${n}`)).status, 404)
    t.equal((await gateway.create(`new-${n}`)).status, 201)
    t.same(await Promise.all([
      reader.get(`/v1/auctions/new-${n}`).then(({ status }) => status), statusOfStream(`${reader.url}/v1/auctions/new-${n}/live`)
    ]), [200, 200])
  }
  const before = await lookupsOf(reader)
  t.same(await statusesAt(reader, Array.from({ length: 200 }, (_, n) => `/v1/auctions/none-${n}`)), [404])
  t.ok(await lookupsOf(reader) > before, 'they are looked up together with others')
  await primary.kill()
  for (const path of ['', '/live', '/bids', '/result']) {
    const reply = await reader.get(`/v1/auctions/nowhere${path}`)
    t.equal(reply.status, 503, path)
    t.ok(Number(reply.headers.get('retry-after')) > 0, path)
  }
})
