/** Writers whose feed is changed or dropped while they are idle. */
import t from 'tap'
import { agree, dropFeed, readDefinition } from '../../src/feeds/definitions.js'
import { connectFor, engineName, eventually, openWriterFor, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const OTHERWISE = { feed: 'latest', layout: 'ids', partitions: 7, windowMs: 60_000, maxItems: 1_000_000, format: 1, log: 1 }

t.jobs = 2
for (const engine of await scopedEngines()) {
  t.test(engineName(engine), { buffered: true }, async (t) => {
    /** @param {import('tap').Test} t */
    async function setUp (t) {
      const server = await startServer(t, { engine })
      const connection = await connectFor(t, server.url)
      await agree(connection, 'fr:', { ...OTHERWISE, partitions: 1 })
      const writer = await openWriterFor(t, { redisUrl: server.url })
      const put = async () => {
        writer.pipeline.append(Buffer.from('a'), Date.now(), Buffer.from('v'))
        await writer.pipeline.flush()
      }
      /** Retries: a feed that was written recently cannot be dropped. */
      const drop = () => eventually(() => dropFeed(connection, 'fr:', 'latest'))
      return { connection, writer, put, drop }
    }

    t.test('an idle writer finds out that its feed was dropped and created otherwise', { buffered: true }, async (t) => {
      const { connection, writer, put, drop } = await setUp(t)
      await put()
      await eventually(async () => await connection.send('EXISTS', 'fr:{latest:0}:trimmer') === 1)
      await drop()
      await agree(connection, 'fr:', OTHERWISE)
      await eventually(() => writer.pipeline.failure)
      t.match(writer.pipeline.failure, { code: 'FEED_DEFINITION_DIFFERS', stored: 7, wanted: 1 })
    })

    t.test('what was written last has its definition when the writer is closed', { buffered: true }, async (t) => {
      const { connection, writer, put, drop } = await setUp(t)
      await drop()
      await put()
      await writer.close({ drainMs: 5000 })
      t.match(await readDefinition(connection, 'fr:', 'latest'), { partitions: 1 })
      t.equal(await connection.send('ZCARD', 'fr:{latest:0}:ids'), 1)
    })

    t.test('a feed that was dropped is not created again by a writer that wrote nothing since, and is closed', {
      buffered: true
    }, async (t) => {
      const { connection, writer, put, drop } = await setUp(t)
      await put()
      await eventually(async () => await connection.send('EXISTS', 'fr:{latest:0}:trimmer') === 1)
      await drop()
      await writer.close({ drainMs: 5000 })
      await t.rejects(readDefinition(connection, 'fr:', 'latest'), { code: 'FEED_UNKNOWN' })
    })
  })
}
