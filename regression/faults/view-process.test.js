/** The reader: started before any server, killed and started again under load, with feeds that it cannot read. */
import { createServer } from 'node:net'
import t from 'tap'
import { definitionKey, namesKey } from '../../src/feeds/keys.js'
import { runReader } from '../../test/commands.js'
import { caughtUp } from '../../test/flow/flow.js'
import { startWriter } from '../../test/flow/writer.js'
import { connectFor, engineName, eventually, openWriterFor, startServer } from '../../test/servers.js'
import { scopedEngines } from '../../test/scope.js'
import { startReader } from '../../test/services.js'
import { sharedDeployment } from '../../test/shared.js'

const READY = (/** @type {{ status: number }} */ { status }) => status === 200
/** a set that is asked for what is newer, and a log that is followed */
const LAYOUTS = ['values', 'segments']

/**
 * A port that stays free while nothing listens on it. One of `freePort` may be taken in the meantime by a connection or by another
 * test's server, because the kernel gives such ports to all who ask for any; it gives none below 32,768.
 * @returns {Promise<number>}
 */
async function quietPort () {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const isFree = await new Promise((resolve) => {
      const probe = createServer().once('error', () => resolve(false)).listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
    })
    if (isFree) return port
  }
}

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  await t.test('a reader that is started before any server says so, and answers when they come', async (t) => {
    const port = await quietPort()
    const url = `redis://127.0.0.1:${port}`
    const reader = await startReader(t, { redisUrl: url, flags: ['--deadline-ms', '2000'] })
    const before = await reader.get('/readyz')
    t.equal(before.status, 503)
    t.match(before.json, { code: 'NOT_READY', reasons: [/^SERVER_UNREACHABLE: .*is unreachable/] })
    t.match(await reader.get('/v1/feeds/latest/items'), { status: 503, json: { code: 'SERVER_UNREACHABLE', retryable: true } })
    t.equal((await reader.get('/livez')).status, 200)
    t.match(reader.service.log, /SERVER_UNREACHABLE/, 'the log says so too')

    const primary = await startServer(t, { engine, port })
    const replica = await startServer(t, { engine, replicaOf: primary })
    const writer = await openWriterFor(t, { redisUrl: url, layout: 'segments' })
    for (let n = 0; n < 100; n++) writer.pipeline.append(Buffer.from(`${n}`), Date.now(), Buffer.from('x'))
    await writer.pipeline.flush()
    await eventually(async () => READY(await reader.get('/readyz')))
    await eventually(async () => {
      const { json } = await reader.get('/v1/feeds/latest/count')
      return json.count === 100 && json.exact
    })

    await Promise.all([primary.kill(), replica.kill()])
    await eventually(async () => (await reader.get('/readyz')).status === 503)
    const stale = await reader.get('/v1/feeds/latest/items?limit=5')
    t.match(stale, { status: 200, json: { items: { length: 5 } } })
    t.equal(await reader.service.stop(), 0)
  })

  for (const layout of LAYOUTS) {
    await t.test(`${layout}: a reader that is restarted under load has everything each time`, async (t) => {
      const deployment = await sharedDeployment(t, { engine })
      const { keyPrefix, primary: { url } } = deployment
      const writing = startWriter(t,
        ['--window-ms', '86400000', '--layout', layout, '--rate', '5000', '--ids', '3000', '--duration', '3'], { redisUrl: url, keyPrefix })
      const connection = await connectFor(t, url)
      await eventually(async () => (await connection.send('EXISTS', definitionKey(keyPrefix, 'latest'))) === 1)
      const killed = await runReader(t, { redisUrl: url, flags: ['--key-prefix', keyPrefix] })
      await eventually(async () => READY(await killed.get('/readyz')))
      await killed.ask('/v1/feeds/latest/items?limit=10')
      await killed.command.kill('SIGKILL')
      const reader = await startReader(t, { redisUrl: url, keyPrefix })
      const { summary } = await writing.ended()
      await caughtUp(deployment)
      t.equal(summary.items, 15_000)
      await eventually(async () => {
        const { json } = await reader.ask('/v1/feeds/latest/count')
        return json.exact && json.count === 3000
      })
      // the view may have every id, and not yet the last version of each
      const newest = async () => (await reader.ask('/v1/feeds/latest/items?limit=1&encoding=json')).json.items[0].value.n
      await eventually(async () => Number(await newest()) === 15_000)
      const items = await reader.allItems('latest', 'limit=700&encoding=json')
      t.equal(items.length, 3000)
      t.equal(new Set(items.map(({ id }) => id)).size, 3000)
      // of each id the last that was written: ids come in turn
      t.equal(Math.min(...items.map(({ value }) => Number(value.n))), 12_001)
      const { body } = await reader.get('/metrics')
      t.match(body, /freshet_view_items\{feed="latest"\} 3000\n/)
      t.match(body, /freshet_view_ready\{feed="latest"\} 1\n/)
      t.match(body, /freshet_view_skipped_entries_total\{feed="latest",reason="corrupt"\} 0\n/)
      t.equal(await reader.service.stop(), 0)
    })
  }

  await t.test('a definition with an unknown layout or format fails requests for its own feed, and does not affect ' +
    'other feeds', async (t) => {
    const { primary: server, keyPrefix } = await sharedDeployment(t, { engine })
    const admin = await connectFor(t, server.url)
    const define = async (/** @type {string} */ feed, /** @type {object} */ more) => {
      await admin.send('SADD', namesKey(keyPrefix), feed)
      await admin.send('SET', definitionKey(keyPrefix, feed), JSON.stringify({
        feed, layout: 'segments', partitions: 1, windowMs: 60_000, maxItems: 0, format: 1, createdAt: new Date().toISOString(), ...more
      }))
    }
    await define('shape', { layout: 'dodecahedron' })
    await define('future', { format: 99 })
    await define('usual', {})
    const reader = await startReader(t, { redisUrl: server.url, keyPrefix, flags: ['--read-from', 'primary'] })
    await eventually(async () => READY(await reader.get('/readyz')))
    t.match(await reader.get('/v1/feeds/shape/items'), { status: 500, json: { code: 'FEED_LAYOUT_UNKNOWN' } })
    t.match(await reader.get('/v1/feeds/future/items'), { status: 409, json: { code: 'FEED_DEFINITION_DIFFERS' } })
    t.match(await reader.get('/v1/feeds/usual/count'), { status: 200, json: { count: 0, exact: true } })
    t.match((await reader.get('/v1/feeds')).json, { feeds: [{ feed: 'future' }, { feed: 'shape' }, { feed: 'usual' }] })
  })
})
