/**
 * Nodes whose replication links come from an address where nothing listens, as behind Docker or NAT: replicas are found at the addresses
 * that they announce, and where none can be used, readiness says so.
 */
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { probeServers } from '../../src/store/probe.js'
import { nodesFor } from './deployments.js'
import { startCluster, startNode } from '../cluster.js'
import { nightEngines, scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, inSync, silentLog, startServer } from '../servers.js'
import { startReader } from '../services.js'

t.setTimeout(300_000)
/** the servers listen on 127.0.0.1 only */
const ELSEWHERE = ['--bind-source-addr', '127.0.0.9']
/** What ROLE shows. The bus of a cluster of Redis 7.0 does not work from another address. */
const SHOWN_ELSEWHERE = ['--replica-announce-ip', '127.0.0.9']
const BY_NAME = ['--cluster-announce-hostname', 'localhost', '--cluster-preferred-endpoint-type', 'hostname']

/** @param {string} redisUrl */
async function store (redisUrl) {
  const feed = await openFeed('latest', { redisUrl, log: silentLog, deadlineMs: 30_000 })
  feed.append({ id: 'a', value: '1' })
  await feed.flush({ deadlineMs: 60_000 })
  await feed.close()
}

/** @param {import('tap').Test} t @param {Parameters<typeof startReader>[1]} options */
async function readerFor (t, options) {
  const reader = await startReader(t, options)
  const nodes = async () => (await reader.ask('/readyz')).json.nodes ?? []
  return { ...reader, replicas: async () => (await nodes()).filter((/** @type {any} */ { role }) => role === 'replica') }
}

for (const engine of await scopedEngines()) {
  t.test(`${engineName(engine)}, a cluster`, async (t) => {
    for (const [host, args] of /** @type {const} */ ([['127.0.0.1', []], ['localhost', BY_NAME]])) {
      const cluster = await startCluster(t, { engine, primaries: 1, replicas: 1, args: [...SHOWN_ELSEWHERE, ...args], behind: 1 })
      const port = cluster.replicas[0].proxy?.port
      await store(cluster.url)
      const reader = await readerFor(t, { redisUrl: cluster.url, flags: ['--read-from', 'replica'] })
      await eventually(async () => (await reader.ask('/v1/feeds/latest/items/a')).status === 200)
      t.match(await reader.replicas(), [{ address: `${host}:${port}`, connected: true, state: 'connected' }])
      t.equal((await reader.ask('/readyz')).status, 200)

      const watch = await nodesFor(t, cluster, 30_000)
      t.teardown(() => watch.close())
      await eventually(async () => (await watch.figures()).some(({ role, address }) => role === 'replica' && address === `${host}:${port}`))
      const [{ replicas }] = await probeServers(cluster.url, { replicas: null, keyPrefix: 'fr:', deadlineMs: 30_000 })
      t.match(replicas, [{ address: `${host}:${port}`, error: null }])
    }
  })
}

for (const engine of await nightEngines()) {
  t.test(`${engineName(engine)}, a cluster that gets a replica`, async (t) => {
    const cluster = await startCluster(t, { engine, primaries: 1, replicas: 0 })
    await store(cluster.url)
    const reader = await readerFor(t, { redisUrl: cluster.url })
    await eventually(async () => (await reader.ask('/v1/feeds/latest/items/a')).status === 200)
    const { url, port } = await startNode(t, cluster)
    const [admin, own] = await Promise.all([connectFor(t, cluster.url), connectFor(t, url)])
    await own.send('CLUSTER', 'REPLICATE', String(await admin.send('CLUSTER', 'MYID')))
    const isFound = (/** @type {any} */ { address, state }) => address === `127.0.0.1:${port}` && state === 'connected'
    await eventually(async () => (await reader.replicas()).some(isFound))
    await reader.service.until(/replicas are read/)
  })

  t.test(`${engineName(engine)}, a primary outside a cluster`, async (t) => {
    // Redis 7.0 takes other addresses than 127.0.0.1 for those of other machines
    const primary = await startServer(t, { engine, args: ['--protected-mode', 'no'] })
    const start = (/** @type {string[]} */ args) => startServer(t, { engine, replicaOf: primary, args: [...ELSEWHERE, ...args] })
    await store(primary.url)
    const reader = await readerFor(t, { redisUrl: primary.url })
    /** @param {(readiness: { status: number, json: any }) => boolean} check @param {typeof reader} [of] */
    const readiness = (check, of = reader) => eventually(async () => {
      const answer = await of.get('/readyz')
      return check(answer) && answer
    })
    await readiness(({ status, json }) => status === 200 && json.reasons.length === 0)

    await inSync(await start([]))
    const { json } = await readiness(({ json }) => json.reasons.some((/** @type {string} */ reason) => reason.includes('(down)')))
    t.match(json.reasons, [new RegExp(`^REPLICAS_GONE: the primary at 127.0.0.1:${primary.port} is read itself, because none of 1 ` +
      'replicas can answer \\(down\\); check the address that they announce')])
    t.equal(json.ready, true, 'answers go on')
    t.equal((await reader.ask('/v1/feeds/latest/items/a')).status, 200)

    const later = await readerFor(t, { redisUrl: primary.url })
    const { status, json: { reasons } } = await readiness(({ status }) => status === 503, later)
    t.equal(status, 503, 'where replicas are wanted from the start')
    t.match(reasons, [/^REPLICAS_GONE: none of 1 replicas can answer \(down\)/])

    const { port } = await start(['--replica-announce-ip', '127.0.0.1'])
    for (const one of [reader, later]) {
      await readiness(({ status, json }) => status === 200 && json.reasons.length === 0 && json.nodes.length === 3, one)
      await eventually(async () => (await one.replicas()).some(({ connected, address }) => connected && address === `127.0.0.1:${port}`))
      t.equal((await one.ask('/v1/feeds/latest/items/a')).status, 200)
    }
  })
}
