import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { layoutNames } from '../../src/layouts/index.js'
import { agree, dropFeed, listDefinitions, readDefinition, setRetention } from '../../src/feeds/definitions.js'
import { spreadTag } from '../../src/store/slots.js'
import { startProxy } from '../proxy.js'
import { connectFor, engineName, eventually, openWriterFor, silentLog, startDeployment, startServer } from '../servers.js'
import { nightEngines, scopedEngines } from '../scope.js'
import { accounted } from './fake-server.js'

const VALUE = Buffer.alloc(200, 'v')
const LATEST = { feed: 'latest', layout: 'ids', partitions: 1, windowMs: 60_000, maxItems: 1_000_000, format: 1, log: 1 }

/** @param {Awaited<ReturnType<typeof openWriterFor>>} writer @param {number} from @param {number} to */
function appendIds (writer, from, to, value = VALUE) {
  for (let i = from; i < to; i++) writer.pipeline.append(Buffer.from(`id-${i}`), Date.now(), value)
}

t.jobs = 2
const once = (await nightEngines()).map(engineName)
for (const engine of await scopedEngines()) {
  t.test(engineName(engine), { buffered: true }, async (t) => {
    await t.test('flushed items are stored, over all partitions, with the commands of this engine', async (t) => {
      const server = await startServer(t, { engine })
      const connection = await connectFor(t, server.url)
      const writer = await openWriterFor(t, { redisUrl: server.url, partitions: 4 })
      appendIds(writer, 0, 10_000)
      await writer.pipeline.flush()
      t.match(writer.pipeline.account, { offered: 10_000, items: 10_000, failed: 0, retried: 0, bytes: 2_000_000, refused: {} })
      const counts = await Promise.all([0, 1, 2, 3].map((partition) =>
        connection.send('ZCARD', `fr:{${spreadTag('latest', partition, 4)}}:ids`)))
      t.equal(counts.reduce((sum, count) => sum + count, 0), 10_000)
      t.ok(counts.every((count) => count > 2000), counts.join(' '))
      t.match(await readDefinition(connection, 'fr:', 'latest'),
        { feed: 'latest', layout: 'ids', partitions: 4, windowMs: 60_000, maxItems: 1_000_000, format: 2 })
      const stats = String(await connection.send('INFO', 'commandstats'))
      t.equal(stats.includes('cmdstat_msetex'), engine.hasMsetex)
      t.equal(stats.includes('cmdstat_set:calls=10'), !engine.hasMsetex)
    })

    await t.test('batches in order go without the script where the server is near, and no replica must confirm', async (t) => {
      const { primary } = await startDeployment(t, { engine, replicas: 1 })
      const far = await startProxy(t, primary.port, { delayMs: 15 })
      const writers = [['near', 'primary', primary.url], ['confirmed', 'replica', primary.url], ['far', 'primary', far.url]]
      for (const [feed, ack, redisUrl] of writers) {
        const writer = await openWriterFor(t, { redisUrl, feed, ack, deadlineMs: 10_000 })
        for (let n = 0; n < 40; n++) {
          appendIds(writer, 0, 50)
          await writer.pipeline.flush()
        }
        const { items, batches, watched, scripts, refused } = writer.pipeline.account
        t.same([items, watched + scripts, refused], [2000, batches, {}])
        // on a busy machine every server may look far for a while
        if (feed === 'near') t.ok(watched > 0, `${watched} of ${batches} watched`)
        else t.ok(watched <= 8, `${watched} of ${batches} watched`)
      }
    })

    await t.test('a key that holds another type fails the writer, and all items are accounted for', async (t) => {
      const server = await startServer(t, { engine })
      const connection = await connectFor(t, server.url)
      for (const late of /** @type {const} */ (['overwrite', 'newest'])) {
        await connection.send('SET', `fr:{latest-${late}:0}:ids`, 'somebody else\'s')
        const writer = await openWriterFor(t, { redisUrl: server.url, feed: `latest-${late}`, late })
        appendIds(writer, 0, 1500)
        await t.rejects(writer.pipeline.flush(), { code: 'KEY_HOLDS_OTHER' })
        t.throws(() => appendIds(writer, 0, 1), { code: 'KEY_HOLDS_OTHER' })
        await writer.close({ drainMs: 20_000 })
        t.match(writer.pipeline.account, { offered: 1500, items: 0, failed: 1500 })
      }
    })

    await t.test('a server that is full is waited for, and nothing is lost', async (t) => {
      const server = await startServer(t, { engine, args: ['--maxmemory-policy', 'noeviction'] })
      const connection = await connectFor(t, server.url)
      const writer = await openWriterFor(t, { redisUrl: server.url })
      const used = Number(/used_memory:(\d+)/.exec(String(await connection.send('INFO', 'memory')))?.[1])
      await connection.send('CONFIG', 'SET', 'maxmemory', used + 3_000_000)
      appendIds(writer, 0, 20_000)
      await eventually(() => writer.pipeline.account.full >= 2)
      const { items } = writer.pipeline.account
      t.ok(items < 20_000, `${items} before it was full`)
      t.equal(writer.pipeline.failure, null)
      await connection.send('CONFIG', 'SET', 'maxmemory', 0)
      await writer.pipeline.flush()
      t.match(writer.pipeline.account, { offered: 20_000, items: 20_000, failed: 0, dropped: 0 })
      t.ok(writer.pipeline.account.retried > 0)
      t.equal(await connection.send('ZCARD', 'fr:{latest:0}:ids'), 20_000)
    })

    if (engine.hasMsetex) {
      await t.test('a lost permission for MSETEX is reported as such, not as a server without it', async (t) => {
        const server = await startServer(t, { engine })
        const admin = await connectFor(t, server.url)
        await admin.send('ACL', 'SETUSER', 'writing', 'on', '>word', '~*', '+@all')
        /** @type {string[]} */
        const reasons = []
        const log =
          /** @type {any} */ ({ ...silentLog, warn: (/** @type {{ reason?: string }} */ { reason }) => { reasons.push(String(reason)) } })
        const writer = await openWriterFor(t, { redisUrl: server.url.replace('//', '//writing:word@'), log })
        await admin.send('ACL', 'SETUSER', 'writing', '-msetex')
        await admin.send('CLIENT', 'KILL', 'USER', 'writing')
        await eventually(() => reasons.some((reason) => /this user may not use MSETEX at .* any more; allow it again/.test(reason)))
        await admin.send('ACL', 'SETUSER', 'writing', '+msetex')
        appendIds(writer, 0, 10)
        await writer.pipeline.flush()
        t.match(writer.pipeline.account, { items: 10, failed: 0 })
      })
    }

    // what follows has the same commands on all engines
    if (!once.includes(engineName(engine))) return
    await t.test('a writer that differs from the definition, or is sent to a replica, is refused and leaves no connection', async (t) => {
      const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
      const connection = await connectFor(t, primary.url)
      const onReplica = await connectFor(t, replica.url)
      const writer = await openWriterFor(t, { redisUrl: primary.url, partitions: 2 })
      appendIds(writer, 0, 1)
      await writer.close({ drainMs: 20_000 })
      await t.rejects(openWriterFor(t, { redisUrl: primary.url, partitions: 3 }), { code: 'FEED_DEFINITION_DIFFERS', stored: 2, wanted: 3 })
      await t.rejects(openWriterFor(t, { redisUrl: replica.url, partitions: 2 }), { code: 'SERVER_REFUSED', message: /is a replica/ })
      await t.rejects(openWriterFor(t, { redisUrl: primary.url, layout: 'no-such' }), { code: 'FEED_LAYOUT_UNKNOWN' })
      for (const node of [connection, onReplica]) {
        await eventually(async () => !String(await node.send('CLIENT', 'LIST')).includes('test-writer'))
      }
    })

    await t.test('a feed is created by its first accepted item, in every layout', async (t) => {
      const server = await startServer(t, { engine })
      const connection = await connectFor(t, server.url)
      const keys = async () => (await connection.send('KEYS', '*')).map(String).sort()
      for (const layout of layoutNames()) {
        const options = { redisUrl: server.url, feed: layout, layout, windowMs: 1000, isLazy: true }
        const wrong = await openWriterFor(t, options)
        wrong.pipeline.append(Buffer.from('a'), Date.now() - 5000, VALUE)
        t.match(wrong.pipeline.account, { offered: 1, refused: { too_old: 1 } })
        await pause(1100)
        await wrong.close({ drainMs: 20_000 })
        t.same(await keys(), [], `${layout}: rounds of maintenance and the end leave nothing`)
        const right = await openWriterFor(t, { ...options, windowMs: 3_600_000, partitions: 3 })
        appendIds(right, 0, 10)
        await right.close({ drainMs: 20_000 })
        t.match(right.pipeline.account, { items: 10, failed: 0 })
        t.match(await readDefinition(connection, 'fr:', layout), { windowMs: 3_600_000, partitions: 3 })
        await connection.send('FLUSHALL')
      }
    })

    await t.test('writers that open a feed before it is stored agree with the one whose item comes first', async (t) => {
      const server = await startServer(t, { engine })
      const connection = await connectFor(t, server.url)
      const open = (/** @type {object} */ options) => openWriterFor(t, { redisUrl: server.url, isLazy: true, ...options })
      const [first, same, other, idle] = await Promise.all([{}, { windowMs: 5_000 }, { partitions: 2 }, { partitions: 4 }].map(open))
      appendIds(first, 0, 10)
      await first.pipeline.flush()
      appendIds(same, 10, 20)
      await same.pipeline.flush()
      t.same(same.definition, first.definition)
      t.same(same.definition, await readDefinition(connection, 'fr:', 'latest'))
      appendIds(other, 20, 30)
      await t.rejects(other.pipeline.flush(), { code: 'FEED_DEFINITION_DIFFERS', stored: 1, wanted: 2 })
      await eventually(() => idle.pipeline.failure)
      t.equal(await connection.send('ZCARD', 'fr:{latest:0}:ids'), 20)
    })

    await t.test('the first items wait until the server can store the feed', async (t) => {
      const server = await startServer(t, { engine, args: ['--maxmemory-policy', 'noeviction'] })
      const connection = await connectFor(t, server.url)
      const writer = await openWriterFor(t, { redisUrl: server.url, isLazy: true })
      await connection.send('CONFIG', 'SET', 'maxmemory', 1)
      appendIds(writer, 0, 10)
      await pause(1500)
      t.same(await listDefinitions(connection, 'fr:'), [])
      await connection.send('CONFIG', 'SET', 'maxmemory', 0)
      await writer.pipeline.flush()
      t.match(writer.pipeline.account, { items: 10, failed: 0 })
      t.equal((await listDefinitions(connection, 'fr:')).length, 1)
    })

    await t.test('the first item of a user who may not store the definition fails the writer', async (t) => {
      const server = await startServer(t, { engine })
      const connection = await connectFor(t, server.url)
      await connection.send('ACL', 'SETUSER', 'nameless', 'on', '>word', '~*', '+@all', '-sadd')
      const writer = await openWriterFor(t, { redisUrl: server.url.replace('//', '//nameless:word@'), isLazy: true })
      appendIds(writer, 0, 10)
      await t.rejects(writer.pipeline.flush(), { code: 'SERVER_REFUSED', message: /sadd/ })
    })

    await t.test('closing while the server is frozen reports what failed', async (t) => {
      const server = await startServer(t, { engine })
      const writer = await eventually(() => openWriterFor(t, { redisUrl: server.url, deadlineMs: 600 }))
      appendIds(writer, 0, 500)
      await writer.pipeline.flush()
      server.freeze()
      appendIds(writer, 500, 2000)
      await writer.close({ drainMs: 300 })
      t.match(writer.pipeline.account, { offered: 2000, items: 500, failed: 1500 })
      t.match(accounted(writer.pipeline.account), { offered: 2000, ended: 2000 })
      server.thaw()
    })

    await t.test('a changed retention is followed by a running writer', async (t) => {
      const server = await startServer(t, { engine })
      const connection = await connectFor(t, server.url)
      const writer = await openWriterFor(t, { redisUrl: server.url, windowMs: 3_600_000, maxFutureMs: 0 })
      appendIds(writer, 0, 300)
      await writer.pipeline.flush()
      const ttl = () => connection.send('PTTL', 'fr:{latest:0}:ids')
      t.ok(await ttl() > 3_000_000)
      await setRetention(connection, 'fr:', 'latest', { windowMs: 600_000, maxItems: 20 })
      await eventually(() => writer.definition.maxItems === 20)
      writer.pipeline.append(Buffer.from('old'), Date.now() - 700_000, VALUE)
      t.same(writer.pipeline.account.refused, { too_old: 1 })
      await eventually(async () => {
        appendIds(writer, 0, 1)
        await writer.pipeline.flush()
        return await connection.send('ZCARD', 'fr:{latest:0}:ids') === 20 && await ttl() <= 605_000
      })
    })

    await t.test('a definition that is removed under a running writer comes back; one that differs ends it', async (t) => {
      const server = await startServer(t, { engine })
      const connection = await connectFor(t, server.url)
      await agree(connection, 'fr:', LATEST)
      const writer = await openWriterFor(t, { redisUrl: server.url })
      await dropFeed(connection, 'fr:', 'latest')
      const writing = setInterval(() => { if (!writer.pipeline.failure) appendIds(writer, 0, 10) }, 20)
      t.teardown(() => clearInterval(writing))
      await eventually(() => readDefinition(connection, 'fr:', 'latest'))
      await connection.send('SET', 'fr:{latest}:feed', JSON.stringify({ ...writer.definition, partitions: 9 }))
      await eventually(() => writer.pipeline.failure)
      t.match(writer.pipeline.failure, { code: 'FEED_DEFINITION_DIFFERS', stored: 9, wanted: 1 })
    })
  })
}
