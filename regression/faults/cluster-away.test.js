/**
 * What writers and readers of a cluster do while nodes are away, late or silent: what needs those nodes waits or says so, everything
 * else goes on, and nothing acknowledged is lost. All cases share one cluster.
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { openFeed, openReader } from '../../src/index.js'
import { SLOTS, slotOf } from '../../src/store/slots.js'
import { healed, startCluster, startNode } from '../../test/cluster.js'
import { startRun, WHOLE } from '../../test/cluster-run.js'
import { connectFor, engineName, eventually, silentLog } from '../../test/servers.js'
import { nightly, scopedEngines } from '../../test/scope.js'

t.setTimeout(nightly(7_200_000, 600_000))
const CLIENTS = 30
const AWAY_MS = 5000
const SAMPLE_MS = 50
/** nodes that a client asks for the map at once, at most */
const ASKED = 4
const ITEMS = 1000
const HOLDS_MS = 2000
/** after it readers read a definition again */
const DEFINITION_MS = 600
/** what a busy machine may need; only a failure takes as long */
const PATIENT = { deadlineMs: 60_000 }

/** @typedef {import('../../test/cluster.js').Cluster & { behind: import('../../test/proxy.js').Proxy }} Cluster */
/** @typedef {(t: import('tap').Test, cluster: Cluster) => Promise<unknown>} Case */

let feeds = 0

/**
 * A feed with one partition, which a shard has.
 * @param {import('tap').Test} t @param {Cluster} cluster @param {number} shard
 * @param {Record<string, any>} [options] `definedIn`: the shard that has its definition
 */
async function feedOn (t, { url: redisUrl, primaries }, shard, { definedIn, ...options } = {}) {
  const shardOf = (/** @type {string} */ tag) => Math.floor(slotOf(tag) * primaries.length / SLOTS)
  let name = ''
  do name = `feed-${feeds++}`
  while (shardOf(`{${name}:0}`) !== shard || shardOf(`{${name}}`) !== (definedIn ?? shardOf(`{${name}}`)))
  return openPatiently(t, name, { redisUrl, ...options })
}

/**
 * A busy machine may not answer within the deadline.
 * @param {import('tap').Test} t @param {string} name @param {Record<string, any>} options
 */
async function openPatiently (t, name, options) {
  const feed = await eventually(() => openFeed(name, /** @type {any} */ ({ deadlineMs: 1000, log: silentLog, ...options })))
  t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
  return feed
}

/** @param {import('tap').Test} t @param {Cluster} cluster */
async function readerOf (t, { url: redisUrl }) {
  const reader = await eventually(() => openReader({ redisUrl, deadlineMs: 1000, log: silentLog }))
  t.teardown(() => reader.close())
  return reader
}

/** @param {any} feed @param {string[]} ids */
const append = (feed, ids) => { for (const id of ids) feed.append({ id, value: id }) }

/** @type {Record<string, Case>} */
const CASES = {
  async 'replicas that lag, load their data or are gone: others answer, and the shard says what it cannot do' (t, cluster) {
    const { engine, primaries: [primary], replicas: [replica] } = cluster
    const admin = await connectFor(t, primary.url)
    const second = await startNode(t, cluster)
    const own = await connectFor(t, second.url)
    const id = await own.send('CLUSTER', 'MYID')
    await own.send('CLUSTER', 'REPLICATE', await admin.send('CLUSTER', 'MYID'))
    await eventually(async () => String(await admin.send('INFO', 'replication')).split('state=online').length === 3)
    const [near, far, reader] = await Promise.all([
      feedOn(t, cluster, 0), feedOn(t, cluster, 1, { ack: 'replica', definedIn: 0 }), readerOf(t, cluster)
    ])
    const isRead = (/** @type {any} */ { name }, /** @type {string} */ id) => eventually(() => reader.feed(name).get(id))
    append(near, Array.from({ length: ITEMS }, (_, n) => `n${n}`))
    append(far, ['a'])
    await Promise.all([near.flush(PATIENT), far.flush(PATIENT)])
    await Promise.all([isRead(near, 'n0'), isRead(far, 'a')])

    // it loads each key so slowly that it still does so when this is over
    const loading = await connectFor(t, replica.url)
    for (const [name, value] of [['key-load-delay', 100_000], ['loading-process-events-interval-bytes', 1024]]) {
      await loading.send('CONFIG', 'SET', name, value)
    }
    await admin.send('CONFIG', 'SET', 'repl-backlog-size', 16_384)
    replica.freeze()
    await admin.send('CLIENT', 'KILL', 'TYPE', 'replica')
    append(near, ['late'])
    for (const id of ['large', 'larger']) near.append({ id, value: 'x'.repeat(100_000) })
    await near.flush(PATIENT)
    await isRead(near, 'late')
    replica.thaw()
    const isLoading = async () => /loading:1/.test(await loading.send('INFO', 'persistence'))
    await eventually(isLoading)
    append(near, ['while it loads'])
    await near.flush(PATIENT)
    await isRead(near, 'while it loads')
    t.ok(await isLoading(), `${engineName(engine)} loads`)
    await loading.send('CONFIG', 'SET', 'key-load-delay', 0)

    await Promise.all([replica.kill(), second.kill()])
    const confirmed = await openPatiently(t, near.name, { redisUrl: cluster.url, ack: 'replica' })
    append(confirmed, ['unconfirmed'])
    await eventually(() => /** @type {any} */ (confirmed.status()).reasons.join().includes('REPLICAS_GONE: no replica confirms writes'))
    t.equal(confirmed.account.items, 0)
    await eventually(async () => (await reader.feed(near.name).get('a').catch((error) => error)).code === 'REPLICAS_GONE')
    append(far, ['b'])
    await far.flush(PATIENT)
    await isRead(far, 'b')
    await pause(DEFINITION_MS)
    t.ok(await reader.feed(far.name).get('b'), 'its definition cannot be read again')
    await replica.restart()
    await confirmed.flush(PATIENT)
    await isRead(near, 'unconfirmed')
    for (const { url } of cluster.nodes) await (await connectFor(t, url)).send('CLUSTER', 'FORGET', id)
  },

  async 'a primary that accepts and never answers: waits end, memory is bounded, other shards go on' (t, cluster) {
    const run = await startRun(t, { redisUrl: cluster.url, layout: 'segments', ack: 'primary', inFlightBytes: 65_536 })
    await run.goOn(500)
    cluster.behind.goSilent()
    const { delivered: { size } } = run
    // a flush that follows the last reply has nothing to wait for
    await eventually(() => run.feed.flush({ deadlineMs: 1000 }).then(() => false, (error) => error.code === 'DEADLINE_PASSED'))
    let appended = -1
    await eventually(async () => {
      const isStill = run.next === appended
      appended = run.next
      await pause(HOLDS_MS)
      return isStill
    })
    t.ok(run.delivered.size > size, 'other shards went on')
    cluster.behind.speak()
    await run.goOn(500)
    t.same(await run.end(), WHOLE)
  },

  async 'an older connection of a writer, whose commands are still on their way, is fenced' (t, cluster) {
    const { behind, primaries: [, , primary] } = cluster
    const run = await startRun(t, { redisUrl: cluster.url, layout: 'segments', ack: 'primary' })
    const admin = await connectFor(t, primary.url)
    const clients = async () => {
      const list = String(await admin.send('CLIENT', 'LIST'))
      return [...list.matchAll(/id=(\d+) .* name=[^ ]*:items /g)].map(([, id]) => id)
    }
    await run.goOn(500)
    const older = await clients()
    t.ok(older.length > 0)
    behind.hold()
    await eventually(() => behind.lines.some(({ heldBytes }) => heldBytes > 1000))
    behind.resetClients()
    await eventually(async () => {
      const now = await clients()
      return now.length >= older.length && !now.some((id) => older.includes(id))
    })
    t.ok(behind.release() > 0)
    await run.goOn(500)
    t.same(await run.end(), WHOLE)
  },

  async 'clients of a shard that was away ask for the map at most once a second each' (t, cluster) {
    const { nodes } = cluster
    const admins = await Promise.all(nodes.map(({ url }) => connectFor(t, url)))
    const requests = async (asked = admins) => (await Promise.all(asked.map(async (admin) =>
      Number(/cmdstat_cluster\|slots:calls=(\d+)/.exec(await admin.send('INFO', 'commandstats'))?.[1] ?? 0))))
      .reduce((sum, calls) => sum + calls, 0)
    // clients with the same addresses share a map in this process
    const addresses = nodes.flatMap(({ url }) => nodes.flatMap((other) => other.url === url ? [] : `${url},${other.url}`))
    /** @type {Awaited<ReturnType<typeof openFeed>>[]} */
    const clients = []
    for (const redisUrl of addresses.slice(0, CLIENTS)) clients.push(await openPatiently(t, 'crowd', { redisUrl, partitions: 3 }))
    const flushed = (/** @type {string} */ when) => Promise.all(clients.map((feed, n) => {
      append(feed, ['a', 'b', 'c', 'd', 'e'].map((id) => `${id}-${n}-${when}`))
      return feed.flush(PATIENT)
    }))
    await flushed('before')

    const before = await requests()
    const sinceMs = performance.now()
    const away = [cluster.primaries[1], cluster.replicas[1]]
    for (const node of away) node.freeze()
    const written = flushed('while it was away')
    const others = admins.filter((_, i) => !away.includes(nodes[i]))
    const counts = [await requests(others)]
    while (performance.now() < sinceMs + AWAY_MS) {
      await pause(SAMPLE_MS)
      counts.push(await requests(others))
    }
    for (const node of away) node.thaw()
    await written
    await pause(1000)
    const asked = await requests() - before
    const seconds = (performance.now() - sinceMs) / 1000
    const most = Math.max(...counts.slice(1).map((count, i) => count - counts[i]))
    const each = (asked / CLIENTS / ASKED / seconds).toFixed(2)
    t.comment(`${CLIENTS} clients, ${seconds.toFixed(1)} s: ${asked} requests for the map, ${each} refreshes a second each; at most ` +
      `${most} requests in one of ${counts.length} samples`)
    t.ok(asked <= CLIENTS * ASKED * (seconds + 1))
    t.ok(most < asked / 2, 'they do not all ask at the same time')
  },

  async 'a primary that sees no majority and no replica acknowledges nothing, and heals by itself' (t, cluster) {
    const { nodes, primaries: [primary], replicas: [replica] } = cluster
    const admin = await connectFor(t, primary.url)
    const [feed, reader] = await Promise.all([feedOn(t, cluster, 0), readerOf(t, cluster)])
    append(feed, ['before'])
    await feed.flush(PATIENT)
    for (const [name, value] of [['min-replicas-to-write', 1], ['min-replicas-max-lag', 1]]) await admin.send('CONFIG', 'SET', name, value)
    replica.freeze()
    await eventually(() => admin.send('SET', `{${feed.name}:0}:test`, 1).then(() => false, ({ reply }) => reply === 'NOREPLICAS'))
    append(feed, ['no replica'])
    await t.rejects(feed.flush({ deadlineMs: HOLDS_MS }), { code: 'DEADLINE_PASSED' })
    for (const node of nodes) if (node !== primary) node.freeze()
    await eventually(async () => /cluster_state:fail/.test(await admin.send('CLUSTER', 'INFO')))
    append(feed, ['no majority'])
    await t.rejects(feed.flush({ deadlineMs: HOLDS_MS }), { code: 'DEADLINE_PASSED' })
    t.equal(feed.account.items, 1)
    for (const node of nodes) node.thaw()
    await feed.flush(PATIENT)
    await admin.send('CONFIG', 'SET', 'min-replicas-to-write', 0)
    await eventually(async () => (await reader.feed(feed.name).count()).count === 3)
    for (const id of ['before', 'no replica', 'no majority']) t.ok(await reader.feed(feed.name).get(id), id)
  }
}

const engines = await scopedEngines()
for (const engine of nightly(engines, engines.slice(0, 1))) {
  t.test(engineName(engine), async (t) => {
    const started = await startCluster(t, { engine, behind: 2 })
    const behind = /** @type {import('../../test/proxy.js').Proxy} */ (started.nodes[2].proxy)
    for (const [title, act] of Object.entries(CASES)) {
      for (let n = 0; n < nightly(10, 1); n++) await t.test(title, async (t) => act(t, { ...await healed(started), behind }))
    }
  })
}
