/** `npm start feed -- set` stores only what writers accept. */
import t from 'tap'
import { layoutNames, layoutOf } from '../../src/layouts/index.js'
import { agree, readDefinition } from '../../src/feeds/definitions.js'
import { endOf } from '../commands.js'
import { connectFor, startServer } from '../servers.js'
import { scoped, scopedEngines } from '../scope.js'

t.test('a feed that keeps every version needs one of its bounds', async (t) => {
  const [engine] = await scopedEngines()
  const server = await startServer(t, { engine })
  const connection = await connectFor(t, server.url)
  const set = (/** @type {string} */ feed, /** @type {string[]} */ ...flags) =>
    endOf(t, ['feed', 'set', feed, ...flags, '--redis-url', server.url])
  for (const layout of scoped(layoutNames(), ['ids', 'stream'])) {
    const { describe, format } = layoutOf(layout)
    const feed = `feed-${layout}`
    const retention = { windowMs: 60_000, maxItems: 0 }
    await agree(connection, 'fr:', { feed, layout, partitions: 1, format, ...retention })
    for (const flags of [['--window-ms', '0'], ['--window-ms', '0', '--max-items', '0']]) {
      const ended = await set(feed, ...flags)
      if (describe().versions === 'one') {
        t.equal(ended.code, 0, ended.stderr)
        continue
      }
      t.equal(ended.code, 2)
      t.match(ended.stderr, new RegExp(`windowMs: 0 and maxItems: 0 of feed ${feed} with layout ${layout}`))
      t.match(await readDefinition(connection, 'fr:', feed), retention, 'nothing was stored')
    }
    const ended = await set(feed, '--window-ms', '0', '--max-items', '5')
    t.equal(ended.code, 0, ended.stderr)
    t.match(await readDefinition(connection, 'fr:', feed), { windowMs: 0, maxItems: 5 })
  }
})
