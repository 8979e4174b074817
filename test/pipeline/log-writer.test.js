/** Writers of log layouts: origin, announcements of items ahead, retention. */
import t from 'tap'
import { layoutNames, layoutOf } from '../../src/layouts/index.js'
import { startProxy } from '../proxy.js'
import { connectFor, engineName, eventually, openWriterFor, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const VALUE = Buffer.from('v')
const LOGS = layoutNames().map(layoutOf).filter(({ log }) => log)
const SECONDS = 1000

/** @param {Awaited<ReturnType<typeof openWriterFor>>} writer @param {number} count @param {{ ts?: number, name?: string }} [options] */
async function write (writer, count, { ts = Date.now(), name = 'id' } = {}) {
  for (let i = 0; i < count; i++) writer.pipeline.append(Buffer.from(`${name}-${i}`), ts, VALUE)
  await writer.pipeline.flush()
}

t.jobs = 2
for (const engine of await scopedEngines()) {
  for (const layout of LOGS) {
    const log = /** @type {import('../../src/layouts/log.js').Log} */ (layout.log)
    t.test(`${engineName(engine)}, ${layout.name}`, { buffered: true }, async (t) => {
      const server = await startServer(t, { engine })
      const connection = await connectFor(t, server.url)
      const keyOf = (/** @type {string} */ feed) => (/** @type {string} */ part) => `fr:{${feed}:0}:${part}`
      /** @param {string} feed */
      const originsIn = async (feed) => (await connection.send('XRANGE', keyOf(feed)(log.part), '-', '+'))
        .map((/** @type {[Buffer, Buffer[]]} */ [, fields]) => Buffer.from(log.head(fields[1]).origin, 'latin1').toString('hex'))
      const now = () => ({ retention: { windowMs: 60 * SECONDS, maxItems: 1_000_000 }, nowMs: Date.now() })

      await t.test('a writer that is opened again under its name is another one, and no item counts twice, or not at all', async (t) => {
        const options = { redisUrl: server.url, feed: 'again', layout: layout.name, name: 'same' }
        const first = await openWriterFor(t, options)
        await write(first, 50)
        await first.close({ drainMs: 20_000 })
        const key = keyOf('again')('epoch')
        const firstEpoch = Number(await connection.send('GET', key))
        const others = await Promise.all([openWriterFor(t, options), openWriterFor(t, options)])
        for (const other of others) await write(other, 50)
        const epoch = Number(await connection.send('GET', key))
        await connection.send('SET', key, epoch - 1)
        await write(await openWriterFor(t, options), 50)
        t.equal(Number(await connection.send('GET', key)), epoch, 'a failover lost it, so it was given away again')
        const origins = await originsIn('again')
        t.equal(new Set(origins).size, origins.length, 'each writing has an origin of its own')
        t.equal(new Set(origins.map((/** @type {string} */ one) => one.slice(0, 16))).size, 4, 'each opening is a writer of its own')
        t.equal((await layout.count(connection, keyOf('again'), now())).count, 200)
        await connection.send('DEL', key)
        await write(await openWriterFor(t, options), 1)
        t.ok(parseInt((await originsIn('again')).at(-1).slice(16, 24), 16) >= firstEpoch, 'it rises also when the key is gone')
      })

      await t.test('items ahead of the server stand above what arrives after them', async (t) => {
        const writer = await openWriterFor(t, { redisUrl: server.url, feed: 'ahead', layout: layout.name })
        await write(writer, 1, { ts: Date.now() + 30 * SECONDS, name: 'future' })
        for (let round = 0; round < 30; round++) await write(writer, 10, { name: `now-${round}` })
        const { items } = await layout.latest(connection, keyOf('ahead'), { limit: 2, after: null, sinceMs: null, ...now() })
        t.same(items.map(({ id }) => String(id)), ['future-0', 'now-29-9'])
        t.ok(Number(await connection.send('ZSCORE', keyOf('ahead')('ahead'),
          (await connection.send('ZREVRANGE', keyOf('ahead')('ahead'), 0, 0))[0])) >= 29 * SECONDS)
      })

      await t.test('after a change of the server, announcements of items ahead are sent again', async (t) => {
        const [one, other] = await Promise.all([startServer(t, { engine }), startServer(t, { engine })])
        const onOther = await connectFor(t, other.url)
        const proxy = await startProxy(t, one.port)
        const writer = await openWriterFor(t, { redisUrl: proxy.url, layout: layout.name })
        await write(writer, 1, { ts: Date.now() + 30 * SECONDS })
        proxy.switchTo(other.port)
        proxy.resetAll()
        await eventually(() => writer.connected && writer.sessions > 1)
        await write(writer, 1, { ts: Date.now() + 20 * SECONDS })
        const [, ms] = await onOther.send('ZREVRANGE', keyOf('latest')('ahead'), 0, 0, 'WITHSCORES')
        t.ok(Number(ms) >= 19 * SECONDS, String(ms))
      })

      await t.test('entries beyond maxItems are trimmed during writing, and live ones stay', async (t) => {
        const maxItems = 2000
        const writer = await openWriterFor(t, { redisUrl: server.url, feed: 'few', layout: layout.name, maxItems, batchItems: 100 })
        for (let round = 0; writer.trimmed === 0 || round < 5; round++) {
          await write(writer, 500, { name: `round-${round}` })
          await new Promise((resolve) => setTimeout(resolve, 20))
        }
        t.equal((await layout.count(connection, keyOf('few'), { retention: { windowMs: 0, maxItems }, nowMs: Date.now() })).count, maxItems)
        t.same((await connection.send('KEYS', 'fr:{few:0}:*')).map(String).map((/** @type {string} */ name) => name.split(':').at(-1))
          .filter((/** @type {string} */ part) => part !== 'ahead').sort(),
        ['appended', 'epoch', 'marks', log.part, 'trimmer'].sort())
        await writer.close({ drainMs: 20_000 })
      })
    })
  }
}
