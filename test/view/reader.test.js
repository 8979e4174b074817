/** Questions of a library user: what they take, what comes back, and what is said after close. */
import t from 'tap'
import { openFeed, openReader } from '../../src/index.js'
import { engineName, startServer, testEngines } from '../servers.js'

for (const engine of await testEngines()) {
  t.test(engineName(engine), async (t) => {
    const server = await startServer(t, { engine })
    const options = { redisUrl: server.url, readFrom: /** @type {const} */ ('primary') }
    let feeds = 0

    /** @param {import('tap').Test} t @param {Partial<Parameters<typeof openFeed>[1]>} more */
    async function open (t, more) {
      const feed = await openFeed(`read-${++feeds}`, { ...options, ...more })
      t.teardown(() => feed.close({ drainMs: 0 }))
      return feed
    }

    await t.test('a reader that is closed says so, whatever is asked', async (t) => {
      const { name } = await open(t, {})
      const reader = await openReader(options)
      const feed = reader.feed(name)
      t.same((await feed.latest()).items, [])
      await reader.close()
      const questions = [reader.feeds, feed.latest, feed.count, () => feed.since(0), () => feed.get('a'), () => feed.subscribe().next(), () => reader.feed(name).latest()]
      for (const ask of questions) await t.rejects(ask(), { code: 'PIPELINE_CLOSED', retryable: false, message: 'the reader is closed; open it again' })
      await reader.close()
    })
  })
}
