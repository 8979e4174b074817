import t from 'tap'
import { readDefinition, setRetention } from '../../src/feeds/definitions.js'
import { extendFeed, expiryMs } from '../../src/feeds/changes.js'
import { connectFor, engineName, openWriterFor, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const engines = await scopedEngines()

t.test('keys outlive the window, and without one for ever', async (t) => {
  t.equal(expiryMs({ windowMs: 60_000 }, 60_000), 125_000)
  t.equal(expiryMs({ windowMs: 0 }, 60_000), 0)
})

t.jobs = 2
for (const engine of engines) {
  t.test(engineName(engine), { buffered: true }, async (t) => {
    const server = await startServer(t, { engine })
    const connection = await connectFor(t, server.url)

    /** @param {string} feed @param {number} windowMs @param {number} changedMs @returns {Promise<number[]>} PTTL of its keys */
    async function ttlsAfter (feed, windowMs, changedMs) {
      const writer = await openWriterFor(t, { redisUrl: server.url, feed, windowMs, partitions: 2, maxFutureMs: 0 })
      for (let i = 0; i < 1500; i++) writer.pipeline.append(Buffer.from(`id-${i}`), Date.now(), Buffer.from('v'))
      await writer.close({ drainMs: 20_000 })
      const before = await readDefinition(connection, 'fr:', feed)
      const after = await setRetention(connection, 'fr:', feed, { windowMs: changedMs })
      await extendFeed({ connectionOf: () => connection }, 'fr:', before, after)
      const keys = await connection.send('KEYS', `fr:{${feed}:*`)
      t.equal(keys.length, 1500 + 2 * 2, 'items, and ids and arrivals of two partitions')
      return Promise.all(keys.map((/** @type {Buffer} */ key) => connection.send('PTTL', key)))
    }

    const [longer, forEver, bounded, shorter] = await Promise.all([
      ttlsAfter('longer', 30_000, 600_000), ttlsAfter('for-ever', 30_000, 0), ttlsAfter('bounded', 0, 600_000),
      ttlsAfter('shorter', 600_000, 30_000)
    ])
    t.ok(longer.every((ttl) => ttl > 500_000), 'after a longer window all keys live longer')
    t.ok(forEver.every((ttl) => ttl === -1), 'without a window none expires')
    t.ok(bounded.every((ttl) => ttl > 500_000 && ttl <= 605_000), 'with a window where there was none all expire')
    t.ok(shorter.every((ttl) => ttl > 500_000 && ttl <= 605_000), 'a shorter window leaves what is stored as it is')
  })
}
