/** Feeds and a system over a cluster of one or two nodes, and what cannot be one: plain errors. Failovers: regression/faults. */
import { dirname } from 'node:path'
import t from 'tap'
import { newest } from '../../src/embedded/engine.js'
import { openFeed, openReader } from '../../src/index.js'
import { ROLES } from '../../src/store/commands.js'
import { slotOf, SLOTS } from '../../src/store/slots.js'
import { endOfMain } from '../bin/in-process.js'
import { moveSlots, startCluster, startNode } from '../cluster.js'
import { startWriter } from '../flow/writer.js'
import { connectFor, engineName, eventually, silentLog, startServer } from '../servers.js'
import { startGateway, startReader } from '../services.js'
import { startGuardedCluster } from './guarded.js'
import { openViews } from '../view/viewing.js'
import { isNight, isWhole, scopedEngines } from '../scope.js'
import { openQueries } from '../../src/systems/index.js'
import { openSeats, SEAT } from '../systems/seats.js'

t.setTimeout(300_000)
/** Without pip, whose version takes longer to find out than everything else. @param {import('../servers.js').Engine} engine */
const envOf = ({ program }) => ({ PATH: dirname(program) })
const ofCluster = ['--cluster-enabled', 'yes', '--cluster-require-full-coverage', 'no']

const engines = await scopedEngines()
for (const engine of engines) {
  /** Commands, gateway and reader send the same to other engines. */
  const isSame = !isNight && engine !== newest(engines)
  t.test(engineName(engine), async (t) => {
    const cluster = await startCluster(t, { engine, primaries: 2, replicas: 0 })
    const { url: redisUrl, primaries } = cluster
    const both = primaries.map(({ url }) => url).join(',')
    const open = (/** @type {string} */ name, /** @type {any} */ options = {}) => openFeed(name, { redisUrl, log: silentLog, ...options })

    await t.test('commands, gateway and reader use all primaries, by the address of any node', { skip: isSame }, async (t) => {
      const flags = ['--items', '200', '--partitions', '4', '--rate', '0']
      const { code, summary } = await startWriter(t, flags, { redisUrl: primaries[1].url }).ended()
      t.equal(code, 0)
      t.match(summary, { items: 200, nodes: [{ role: 'primary' }, { role: 'primary' }] })
      const shown = await endOfMain(['feed', 'show', 'latest', '--redis-url', both])
      t.match(JSON.parse(shown.stdout), { partitions: 4, format: 2, primaries: [{ partitions: [0, 1] }, { partitions: [2, 3] }] })

      const [gateway, reader] = await Promise.all([startGateway(t, { redisUrl }), startReader(t, { redisUrl: both })])
      t.equal((await gateway.post('/v1/feeds/latest/items', [{ id: 'posted', value: 1 }])).status, 200)
      await eventually(async () => (await reader.ask('/v1/feeds/latest/items/posted')).status === 200)
      t.match((await reader.ask('/v1/feeds/latest/count')).json, { exact: true })
      await eventually(async () => (await reader.ask('/readyz')).json.nodes.length === 2)
      // its heartbeat would come again
      t.equal(await gateway.service.stop(), 0)
      const dropped = await eventually(async () => {
        const { code, stdout } = await endOfMain(['feed', 'drop', 'latest', '--redis-url', redisUrl])
        return code === 0 && JSON.parse(stdout)
      })
      t.ok(dropped.keys > 10, 'keys on both')
      const sizes = await Promise.all(primaries.map(async ({ url }) => (await connectFor(t, url)).send('DBSIZE')))
      t.same(sizes, [0, 0])
    })

    await t.test('bench leaves no key', { skip: isSame || !isWhole }, async (t) => {
      const { code, stderr } = await endOfMain(['bench', '--redis-url', both, '--deadline-ms', '10000'], { more: { seconds: 0.5 } })
      t.equal(code, 0, stderr)
      const sizes = await Promise.all(primaries.map(async ({ url }) => (await connectFor(t, url)).send('DBSIZE')))
      t.same(sizes, [0, 0])
    })

    await t.test('an address that does not answer is no fault while another one does', { skip: isSame }, async (t) => {
      const second = `redis://127.0.0.1:1,${redisUrl}`
      const feed = await open('second', { redisUrl: second })
      feed.append({ id: 'a', value: '1' })
      await feed.flush()
      await feed.close()
      const dropped = await eventually(async () => {
        const { code, stdout } = await endOfMain(['feed', 'drop', 'second', '--redis-url', second])
        return code === 0 && JSON.parse(stdout)
      })
      t.equal(dropped.feed, 'second')
      await t.rejects(open('none', { redisUrl: 'redis://127.0.0.1:1,redis://127.0.0.1:2' }), { code: 'SERVER_UNREACHABLE' })
    })

    await t.test('doctor and dead-letters take several addresses', { skip: isSame }, async (t) => {
      const [doctor, letters] = await Promise.all([['doctor'], ['dead-letters', 'list']].map((words) =>
        endOfMain([...words, '--redis-url', both], { env: envOf(engine) })))
      t.same([doctor.code, letters.code], [0, 0], doctor.stderr + letters.stderr)
    })

    await t.test('a feed with one partition, as it may come from a server without a cluster, is on one primary', async (t) => {
      const feed = await open('single')
      t.equal(feed.definition.format, 1)
      feed.append({ id: 'a', value: '1' })
      await feed.flush()
      t.equal(String((await feed.get('a'))?.value), '1')
      await t.rejects(open('single', { partitions: 2 }), { code: 'FEED_DEFINITION_DIFFERS', message: /with partitions 1, not 2/ })
      await feed.close()
    })

    await t.test('a view goes on at the new owner of its slot', async (t) => {
      for (const layout of /** @type {const} */ (['segments', 'ids', 'values'])) {
        const name = `viewed-${layout}`
        const feed = await open(name, { layout })
        const write = async (/** @type {string} */ word) => {
          for (let n = 0; n < 50; n++) feed.append({ id: `${word}-${n}`, value: word })
          await feed.flush()
        }
        await write('before')
        const { views, isComplete, countsOf, figuresOf } = await openViews(t, {
          primary: cluster, isCluster: true, mode: 'all', deadlineMs: 10_000
        })
        await isComplete(name)
        const slot = slotOf(`{${name}:0}`)
        await moveSlots(t, cluster, { slots: [slot], to: slot < SLOTS / 2 ? 1 : 0, isAtomic: false })
        await write('after')
        await eventually(() => figuresOf(name)?.items === 100 && views.status().reasons.length === 0)
        t.equal(countsOf(name)?.rebuilt, 0, layout)
        await feed.close()
      }
    })

    await t.test('a system of a user has its partitions on all primaries', async (t) => {
      const keys = Array.from({ length: 8 }, (_, n) => `n${n}`)
      const { code, system } = await openSeats(t, { redisUrl, keyPrefix: 'seats:', partitions: 4 })
      t.same(new Set(await Promise.all(keys.map((key) => code(key, 'hold', 'ann')))), new Set(['held']))
      /** @type {Set<string>} */
      const consumed = new Set()
      await system.consume('receipts', (entries) => { for (const { key } of entries) consumed.add(key) })
      await eventually(() => consumed.size === keys.length)
      const events = system.follow('n3')
      t.match((await events.next()).value, { type: 'held', holder: 'ann' })
      await events.return(undefined)

      const queries = openQueries({ name: 'seats', rules: { seat: { lua: SEAT } } }, { redisUrl, keyPrefix: 'seats:', deadlineMs: 10_000 })
      t.teardown(queries.close)
      const { parts } = await queries.opened()
      for (const key of keys) t.match(await parts.get(key), { state: { holder: 'ann' }, seq: 1 }, 'queries of a program ask all primaries')
      const more = keys.map((key) => `more-${key}`)
      await Promise.all(more.map((key) => code(key, 'hold', 'bob')))
      for (const key of more) await parts.until(key, () => parts.find(key), (found) => found !== null, 10_000)
      for (const key of more) t.match(await parts.get(key), { state: { holder: 'bob' } }, 'and follow them')
    })

    await t.test('a slot that moved, and one that no primary has', async (t) => {
      const feed = await open('moving', { partitions: 2, layout: 'segments' })
      feed.append({ id: 'a', value: '1' })
      await feed.flush()
      const node = await startNode(t, cluster)
      const admin = await connectFor(t, redisUrl)
      const slot = await admin.send('CLUSTER', 'KEYSLOT', 'fr:{moving}:feed')
      await moveSlots(t, { primaries: [...primaries, node] }, { slots: [slot], to: 2, isAtomic: false })
      const reader = await openReader({ redisUrl, log: silentLog })
      t.teardown(() => reader.close())
      t.match((await reader.feeds()).map(({ feed }) => feed), ['moving', 'single', 'viewed-ids', 'viewed-segments', 'viewed-values'])
      await feed.close()
      const own = await connectFor(t, node.url)
      await own.send('FLUSHALL')
      for (const { url } of [node, ...primaries]) await (await connectFor(t, url)).send('CLUSTER', 'DELSLOTS', slot)
      // until the map was read again, the node that had it answers that it has not
      await eventually(async () => {
        const { code, message } = /** @type {any} */ (await open('moving').catch((error) => error))
        t.match(code, /^SERVER_(LOST|UNREACHABLE)$/)
        return message === `no primary of the cluster has slot ${slot}; assign it to one (CLUSTER ADDSLOTS)`
      })
    })
  })

  t.test(`${engineName(engine)}, what is no cluster`, async (t) => {
    const [{ url: alone }, { url: empty }, one] = await Promise.all([
      startServer(t, { engine }), startServer(t, { engine, args: ofCluster }), startCluster(t, { engine, primaries: 1, replicas: 0 })
    ])
    /** @param {string} redisUrl */
    const open = (redisUrl) => openFeed('latest', { redisUrl, log: silentLog })
    await t.rejects(open(empty), { code: 'SERVER_UNREACHABLE', message: /knows no primary with slots; form the cluster first/ })
    await t.rejects(open(`${alone},${one.url}`), { code: 'SERVER_REFUSED', message: /is not a node of a cluster; several addresses are those/ })
    const other = await startCluster(t, { engine, primaries: 1, replicas: 0 })
    await t.rejects(open(`${one.url},${other.url}`), { code: 'SERVER_REFUSED', message: /are nodes of different clusters; give nodes of one/ })
    const admin = await connectFor(t, one.url)
    await admin.send('ACL', 'SETUSER', 'narrow', 'on', '>secret', '~*', '+@all', '-cluster')
    const { code, stderr } = await startWriter(t, ['--items', '5'], { redisUrl: one.url.replace('//', '//narrow:secret@') }).ended()
    t.equal(code, 1)
    t.match(stderr, /(narrow|this user) has no permissions to run the 'cluster\|(slots|info)' command/)
    const feed = await openFeed('latest', { redisUrl: one.url, log: silentLog })
    feed.append({ id: 'a', value: '1' })
    await feed.flush()
    t.equal(await feed.count().then(({ count }) => count), 1, 'a cluster without replicas is read from its primaries')
    await feed.close()
  })
}

t.test('the users of docs/acl suffice, and without a permission the error names it', async (t) => {
  const engine = /** @type {import('../servers.js').Engine} */ (newest(engines))
  const { urlOf, refused, nodes } = await startGuardedCluster(t, engine)
  const feed = await openFeed('latest', { redisUrl: urlOf('library'), partitions: 2, log: silentLog })
  for (const id of ['a', 'b', 'c']) feed.append({ id, value: '1' })
  await feed.flush()
  const gateway = await startGateway(t, { redisUrl: urlOf('writer') })
  const reader = await startReader(t, { redisUrl: urlOf('reader') })
  t.equal((await gateway.post('/v1/feeds/latest/items', [{ id: 'd', value: 1 }])).status, 200)
  const terms = { startPrice: 1, minIncrement: 1, closeAt: Date.now() + 600_000, currency: 'EUR' }
  t.equal((await gateway.send('PUT', '/v1/auctions/a', JSON.stringify(terms), { 'content-type': 'application/json' })).status, 201)
  await eventually(async () => (await reader.ask('/v1/feeds/latest/items?limit=9')).json.items.length === 4)
  t.equal((await reader.ask('/v1/auctions/a')).json.bids, 0)
  await feed.close()
  const listed = await endOfMain(['feed', 'list', '--redis-url', urlOf('admin'), '--deadline-ms', '10000'])
  t.match(listed, { code: 0, stdout: /"latest"/ })
  t.same(await refused(), [])
  for (const role of ROLES) {
    const { code, stdout } = await endOfMain(['doctor', '--redis-url', urlOf(role)], { env: envOf(engine) })
    t.match(stdout, new RegExp(`${role} +has all permissions`), stdout)
    t.equal(code, 0)
  }
  for (const command of ['cluster|info', 'cluster|slots', 'readonly']) {
    for (const node of nodes) await node.send('ACL', 'SETUSER', 'freshet-reader', `-${command}`)
    const why = new RegExp(`no permissions to run the '${command.replace('|', '.')}' command`)
    // the map of the other address is known already
    const redisUrl = urlOf('reader').replace('127.0.0.1', 'localhost')
    await t.rejects(openReader({ redisUrl, log: silentLog }), { code: 'SERVER_REFUSED', message: why }, command)
    for (const node of nodes) await node.send('ACL', 'SETUSER', 'freshet-reader', `+${command}`)
  }
})
