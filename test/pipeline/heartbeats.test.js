/** Heartbeats of writers. */
import t from 'tap'
import { dropFeed } from '../../src/feeds/definitions.js'
import { readHeartbeats } from '../../src/feeds/changes.js'
import { openFeed } from '../../src/index.js'
import { createHeartbeats } from '../../src/pipeline/maintenance.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, openWriterFor, silentLog, startServer } from '../servers.js'
import { startGateway } from '../services.js'

const KEY = 'fr:{latest}:writers'
const VALUE = Buffer.from('v')

/** A log that keeps its warnings. */
function createSaying () {
  const said = /** @type {any[]} */ ([])
  const log = /** @type {any} */ ({
    ...silentLog, info () {}, error () {}, warn: (/** @type {any} */ facts, /** @type {string} */ message) => said.push(message ?? facts)
  })
  return { said, log }
}

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  t.jobs = 8
  const server = await startServer(t, { engine })
  const control = await connectFor(t, server.url)
  const heartbeatsOf = async (/** @type {string} */ feed) => readHeartbeats(await control.send('HGETALL', `fr:{${feed}}:writers`))
  const itemsOf = async (/** @type {string} */ feed) =>
    [...(await heartbeatsOf(feed)).values()].map((heartbeat) => heartbeat?.items).sort()

  /** @param {string} feed @param {number[]} items */
  const untilNoted = (feed, items) => eventually(async () => (await itemsOf(feed)).join() === items.join())

  t.test('each writer writes its heartbeat, and removes it when it closes', { buffered: true }, async (t) => {
    const writers = [await openWriterFor(t, { redisUrl: server.url }), await openWriterFor(t, { redisUrl: server.url })]
    for (const [i, writer] of writers.entries()) {
      for (let n = 0; n < 10 * (i + 1); n++) writer.pipeline.append(Buffer.from(`id-${n}`), Date.now(), VALUE)
      await writer.pipeline.flush()
    }
    await untilNoted('latest', [10, 20])
    const [before] = (await heartbeatsOf('latest')).values()
    await eventually(async () =>
      [...(await heartbeatsOf('latest')).values()].every((heartbeat) => Number(heartbeat?.atMs) > Number(before?.atMs)))
    t.same(await itemsOf('latest'), [10, 20], 'an idle writer writes heartbeats too')
    const ttl = await control.send('PTTL', KEY)
    t.ok(ttl > 500_000 && ttl <= 600_000)
    await writers[0].close({ drainMs: 1000 })
    t.same(await itemsOf('latest'), [20])
    await writers[1].close({ drainMs: 1000 })
    t.equal(await control.send('EXISTS', KEY), 0)
  })

  t.test('library and gateway do', { buffered: true }, async (t) => {
    const feed = await openFeed('by-library', { redisUrl: server.url })
    t.teardown(() => feed.close())
    feed.append({ id: 'a', value: 'x' })
    const gateway = await startGateway(t, { redisUrl: server.url, flags: ['--read-from', 'primary'] })
    await gateway.post('/v1/feeds/by-gateway/items', [{ id: 'a', value: 1 }, { id: 'b', value: 2 }])
    await untilNoted('by-library', [1])
    await untilNoted('by-gateway', [2])
    t.equal(await gateway.service.stop(), 0)
    t.same(await itemsOf('by-gateway'), [])
  })

  t.test('the heartbeat of a killed writer, and an invalid one, are removed by another writer', { buffered: true }, async (t) => {
    const nowMs = Date.now()
    const feed = 'left'
    const left = {
      killed: `5 ${nowMs - 61_000}`,
      'of-tomorrow': `5 ${nowMs + 86_400_000}`,
      recent: `5 ${nowMs - 50_000}`,
      ahead: `5 ${nowMs + 50_000}`,
      odd: 'x'
    }
    await control.send('HSET', `fr:{${feed}}:writers`, ...Object.entries(left).flat())
    const heartbeats = createHeartbeats({ keyPrefix: 'fr:', feed, name: 'me', items: () => 7, now: () => nowMs, log: silentLog })
    await heartbeats.write(control)
    t.same([...(await heartbeatsOf(feed)).keys()].sort(), ['ahead', 'me', 'recent'])
  })

  t.test('a feed that is dropped takes its heartbeats with it, and no heartbeat brings it back', { buffered: true }, async (t) => {
    const writer = await openWriterFor(t, { redisUrl: server.url, feed: 'dropped' })
    writer.pipeline.append(Buffer.from('a'), Date.now(), VALUE)
    await writer.pipeline.flush()
    await untilNoted('dropped', [1])
    // an idle writer does not renew its lease
    await eventually(async () => await dropFeed(control, 'fr:', 'dropped') > 0)
    const rounds = await openWriterFor(t, { redisUrl: server.url, feed: 'rounds' })
    rounds.pipeline.append(Buffer.from('a'), Date.now(), VALUE)
    await eventually(() => itemsOf('rounds').then((items) => items.length === 1))
    const [first] = (await heartbeatsOf('rounds')).values()
    await eventually(async () => Number([...(await heartbeatsOf('rounds')).values()][0]?.atMs) > Number(first?.atMs) + 1000)
    await eventually(async () => (await control.send('KEYS', 'fr:{dropped*')).length === 0)
    t.ok(rounds.connected && writer.connected)
    writer.pipeline.append(Buffer.from('a'), Date.now(), VALUE)
    await writer.pipeline.flush()
    await untilNoted('dropped', [2])
  })

  t.test('a user who may not write heartbeats still writes items, and one warning is logged', { buffered: true }, async (t) => {
    await control.send('ACL', 'SETUSER', 'old', 'on', '>word', '~*', '+@all', '-hset', '-hdel', '-hgetall')
    const { said, log } = createSaying()
    const writer = await openWriterFor(t, { redisUrl: server.url.replace('//', '//old:word@'), feed: 'old', log })
    const put = async () => {
      writer.pipeline.append(Buffer.from('a'), Date.now(), VALUE)
      await writer.pipeline.flush()
    }
    await put()
    await eventually(() => said.length > 0)
    const lease = () => control.send('PTTL', 'fr:{old:0}:trimmer')
    await eventually(async () => {
      await put()
      return await lease() > 0
    })
    // the maintenance round continues after the refused heartbeat
    let last = Infinity
    await eventually(async () => {
      await put()
      const now = await lease()
      const isRenewed = now > last
      last = now
      return isRenewed
    })
    t.same(said.filter((message) => /heartbeats cannot be written/.test(message)).length, 1)
    t.same(said.length, 1)
    t.ok(writer.status().ready)
    await writer.close({ drainMs: 1000 })
    t.equal(await control.send('EXISTS', 'fr:{old}:writers'), 0)
  })

  t.test('a user who may write heartbeats but not remove old ones still writes them', { buffered: true }, async (t) => {
    await control.send('ACL', 'SETUSER', 'half', 'on', '>word', '~*', '+@all', '-hdel', '-hgetall')
    const writer = await openWriterFor(t, { redisUrl: server.url.replace('//', '//half:word@'), feed: 'half' })
    writer.pipeline.append(Buffer.from('a'), Date.now(), VALUE)
    await untilNoted('half', [1])
    await writer.close({ drainMs: 1000 })
    t.same(await itemsOf('half'), [1])
  })

  t.test('a key that holds something else is left alone', { buffered: true }, async (t) => {
    await control.send('SET', 'fr:{taken}:writers', 'mine')
    const { said, log } = createSaying()
    const writer = await openWriterFor(t, { redisUrl: server.url, feed: 'taken', log })
    writer.pipeline.append(Buffer.from('a'), Date.now(), VALUE)
    await writer.pipeline.flush()
    await eventually(() => said.some((message) => /heartbeats cannot be written/.test(message)))
    t.ok(writer.status().ready)
    await writer.close({ drainMs: 1000 })
    t.equal(String(await control.send('GET', 'fr:{taken}:writers')), 'mine')
  })
})
