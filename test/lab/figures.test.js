/** What nodes say before and after: counters that must come out exactly, and changes that make them worthless. */
import t from 'tap'
import { figuresBetween, takeFigures, untilQuiet } from '../../lab/servers/figures.js'
import { createAuthority, tlsEngines } from '../certificates.js'
import { startProxy } from '../proxy.js'
import { connectFor, engineName, eventually, inSync, startDeployment, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const enginesWithTls = await tlsEngines()

const VALUE = Buffer.alloc(10_000, 'v')
const INCRBY_TWICE = "redis.call('INCRBY', KEYS[1], 1) redis.call('INCRBY', KEYS[1], 1) for i = 1, 20000 do end"

/** @param {import('tap').Test} t @param {import('../servers.js').Engine} engine */
async function startPair (t, engine) {
  const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
  const connection = await connectFor(t, primary.url)
  return { primary, replica, connection, urls: [primary.url, replica.url] }
}

/** @param {any[]} figures @param {object} change of the first node */
const changed = ([first, ...others], change) => [{ ...first, ...change }, ...others]

const [engine] = await scopedEngines()
t.test(engineName(engine), async (t) => {
  const { primary, replica, connection, urls } = await startPair(t, engine)

  await t.test('what happened between two looks, on each node', async (t) => {
    const before = await takeFigures(urls)
    for (let i = 0; i < 10; i++) await connection.send('SET', `key:${i}`, VALUE)
    for (let i = 0; i < 5; i++) await connection.send('EVAL', INCRBY_TWICE, 1, 'counter')
    await connection.send('PING')
    await untilQuiet(urls, { deadlineMs: 20_000 })
    const after = await takeFigures(urls)
    const [ofPrimary, ofReplica] = figuresBetween(before, after, { items: 10, seconds: 2 })

    t.match(ofPrimary, {
      role: 'primary',
      address: `127.0.0.1:${primary.port}`,
      engine: engineName(engine),
      calls: { set: 10, eval: 5, incrby: 10 },
      commands: 25,
      fullSyncs: 0,
      evictedKeys: 0
    })
    t.ok(ofPrimary.netInputBytes > 10 * VALUE.length && ofPrimary.netInputBytes < 12 * VALUE.length, String(ofPrimary.netInputBytes))
    const replicatedBytes = Number(ofPrimary.replicatedBytes)
    t.ok(replicatedBytes > 10 * VALUE.length && replicatedBytes < 12 * VALUE.length, String(replicatedBytes))
    t.ok(ofPrimary.netOutputBytes >= replicatedBytes, 'what goes to replicas is output too')
    t.ok(Number(ofPrimary.scriptSeconds) > 0)
    t.ok(ofPrimary.cpuSeconds > 0 && Number(ofPrimary.mainThreadCpuSeconds) > 0)
    t.equal(ofPrimary.cpuMicrosPerItem, ofPrimary.cpuSeconds * 1e6 / 10)
    t.equal(ofPrimary.cpuPercent, ofPrimary.cpuSeconds / 2 * 100)
    t.equal(ofPrimary.usedMemoryBytes, after[0].usedMemoryBytes)

    t.match(ofReplica, {
      role: 'replica',
      address: `127.0.0.1:${replica.port}`,
      calls: { set: 10, incrby: 10 },
      scriptSeconds: 0,
      replicatedBytes: null,
      fullSyncs: 0
    })
    t.ok(ofReplica.netInputBytes > 10 * VALUE.length)
    t.equal('eval' in ofReplica.calls, false, 'commands that were not called are not named')
  })

  await t.test('no items, no time an item; no counters of commands, nothing is claimed about them', async (t) => {
    const before = await takeFigures(urls)
    await connection.send('SET', 'key', 'v')
    const after = await takeFigures(urls)
    t.equal(figuresBetween(before, after, { items: 0, seconds: 1 })[0].cpuMicrosPerItem, null)
    const silent = (/** @type {any[]} */ nodes) => nodes.map((node) => ({ ...node, calls: null, mainThreadCpuSeconds: null }))
    t.match(figuresBetween(silent(before), silent(after), { items: 1, seconds: 1 })[0],
      { scriptSeconds: null, mainThreadCpuSeconds: null, calls: {} })
  })

  await t.test('counters that were reset are found out', async (t) => {
    const before = await takeFigures(urls)
    await connection.send('CONFIG', 'RESETSTAT')
    const after = await takeFigures(urls)
    t.throws(() => figuresBetween(before, after, { items: 1, seconds: 1 }),
      { code: 'LAB_SERVERS_CHANGED', message: /127\.0\.0\.1:\d+ had its counters reset/ })
    const made = changed(before, { calls: { ...before[0].calls, set: { calls: 1e9, usec: 1 } } })
    t.throws(() => figuresBetween(made, changed(before, {}), { items: 1, seconds: 1 }), { code: 'LAB_SERVERS_CHANGED' },
      'those of one command too')
  })

  await t.test('after quiet the replica has everything that was written before', async (t) => {
    const onReplica = await connectFor(t, replica.url)
    for (let round = 0; round < 5; round++) {
      await connection.sendAll(Array.from({ length: 200 }, (_, i) => ['SET', `much:${round}:${i}`, VALUE]))
      await untilQuiet(urls, { deadlineMs: 20_000 })
      t.equal(await onReplica.send('EXISTS', ...Array.from({ length: 200 }, (_, i) => `much:${round}:${i}`)), 200)
    }
    await untilQuiet([primary.url], { deadlineMs: 20_000 }) // without replicas there is nothing to wait for
  })

  await t.test('a replica that does not come after its primary is reported, with how far behind it is', async (t) => {
    const onReplica = await connectFor(t, replica.url)
    await onReplica.send('REPLICAOF', '127.0.0.1', 1)
    await t.rejects(untilQuiet(urls, { deadlineMs: 300 }),
      { code: 'LAB_REPLICAS_BEHIND', message: new RegExp(`${replica.port} is not linked to its primary`) })
    await onReplica.send('REPLICAOF', '127.0.0.1', primary.port)
    await untilQuiet(urls, { deadlineMs: 20_000 })
    const proxy = await startProxy(t, primary.port)
    const far = await startServer(t, { engine, replicaOf: proxy })
    await inSync(far)
    await untilQuiet([primary.url, far.url], { deadlineMs: 20_000 })
    proxy.goSilent()
    await connection.send('SET', 'key', VALUE)
    await t.rejects(untilQuiet([primary.url, far.url], { deadlineMs: 300 }),
      { code: 'LAB_REPLICAS_BEHIND', message: new RegExp(`${far.port} is 1\\d{4} bytes behind`) })
    replica.freeze()
    t.teardown(() => replica.thaw())
    await t.rejects(untilQuiet(urls, { deadlineMs: 500 }), { code: 'SERVER_UNREACHABLE' }, 'one that is silent')
    replica.thaw()
  })

  await t.test('a node that restarted or changed its role is no node to compare', async (t) => {
    const { replica, urls } = await startPair(t, engine)
    const before = await takeFigures(urls)
    await (await connectFor(t, replica.url)).send('REPLICAOF', 'NO', 'ONE')
    await t.rejects(untilQuiet(urls, { deadlineMs: 5_000 }), { code: 'LAB_SERVERS_CHANGED', message: /is no longer a replica/ })
    const promoted = await takeFigures(urls)
    t.throws(() => figuresBetween(before, promoted, { items: 1, seconds: 1 }),
      { code: 'LAB_SERVERS_CHANGED', message: /became a primary/ })
    await replica.restart()
    const restarted = await eventually(() => takeFigures(urls))
    t.throws(() => figuresBetween(promoted, restarted, { items: 1, seconds: 1 }),
      { code: 'LAB_SERVERS_CHANGED', message: /restarted during the measurement/ })
    await replica.kill()
    await t.rejects(takeFigures(urls), { code: 'SERVER_UNREACHABLE' })
  })

  await t.test('a full copy for a replica and an eviction are counted', async (t) => {
    const server = await startServer(t, { engine, args: ['--maxmemory-policy', 'allkeys-lru'] })
    const connection = await connectFor(t, server.url)
    await connection.send('SET', 'large', VALUE)
    const before = await takeFigures([server.url])
    await startServer(t, { engine, replicaOf: server })
    await eventually(async () => (await takeFigures([server.url]))[0].fullSyncs === 1)
    await connection.send('CONFIG', 'SET', 'maxmemory', 1)
    await connection.send('SET', 'next', 'v').catch(() => {})
    await eventually(async () => (await takeFigures([server.url]))[0].evictedKeys > 0)
    const [node] = figuresBetween(before, await takeFigures([server.url]), { items: 1, seconds: 1 })
    t.match(node, { fullSyncs: 1 })
    t.ok(node.evictedKeys > 0)
  })
})

for (const engine of enginesWithTls) {
  t.test(`${engineName(engine)}: over TLS, as a user that may ask and no more`, async (t) => {
    const tls = await (await createAuthority(t)).issue('server')
    const { primary, replicas } = await startDeployment(t, { engine, replicas: 1, tls, args: ['--user', 'asker', 'on', '>word', '+info'] })
    const urls = [primary, ...replicas].map(({ url }) => url.replace('//', '//asker:word@'))
    await untilQuiet(urls, { deadlineMs: 20_000 })
    t.same((await takeFigures(urls)).map(({ role }) => role), ['primary', 'replica'])
    await t.rejects(takeFigures([primary.url.replace('//', '//asker:wrong@')]), { code: 'SERVER_REFUSED' })
  })
}
