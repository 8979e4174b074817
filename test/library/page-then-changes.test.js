/** A page, then the changes after it, have everything, also what is written while the page is read. */
import t from 'tap'
import { openFeed, openReader } from '../../src/index.js'
import { layoutNames } from '../../src/layouts/index.js'
import { eventually } from '../servers.js'
import { sharedDeployment } from '../shared.js'

const WRITTEN = 300

for (const layout of layoutNames()) {
  for (const views of /** @type {const} */ (['none', 'all'])) {
    t.test(`${layout}, views ${views}`, async (t) => {
      const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
      const servers = { redisUrl, keyPrefix, deadlineMs: 10_000, views, readFrom: /** @type {const} */ ('primary') }
      const feed = await openFeed('positions', { ...servers, layout, partitions: 2, batchMs: 1 })
      const reader = await openReader(servers)
      t.teardown(() => Promise.all([feed.close(), reader.close()]))
      feed.append({ id: 'first', value: '' })
      await feed.flush()
      let n = 0
      const writing = (async () => {
        for (; n < WRITTEN; n++) {
          feed.append({ id: `id-${n}`, value: '' })
          if (n % 5 === 0) await feed.flush()
        }
        await feed.flush()
      })()
      const reading = reader.feed('positions')
      await Promise.all(Array.from({ length: 4 }, async (_, one) => {
        await eventually(() => n > one * WRITTEN / 5)
        const { items, position } = await reading.latest({ limit: 1000, position: true })
        const seen = new Set(items.map(({ id }) => id))
        const over = new AbortController()
        const following = (async () => {
          for await (const { id } of reading.subscribe({ from: position, signal: over.signal, pollMs: 5 })) seen.add(id)
        })()
        await writing
        await eventually(() => seen.size === WRITTEN + 1)
        over.abort()
        await following
      }))
      t.equal((await reading.latest(1)).position, undefined, 'only if asked for')
      t.rejects(reading.latest(/** @type {any} */ ({ position: 'yes' })), { code: 'ARGUMENT_INVALID' })
    })
  }
}
