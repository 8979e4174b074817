/** `npm start feed -- set` stores only what writers accept. */
import t from 'tap'
import { layoutNames, layoutOf } from '../../src/layouts/index.js'
import { agree, readDefinition } from '../../src/feeds/definitions.js'
import { connectFor } from '../servers.js'
import { sharedDeployment } from '../shared.js'
import { endOfMain } from './in-process.js'

t.test('a feed that keeps every version needs one of its bounds', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const connection = await connectFor(t, primary.url)
  const set = (/** @type {string} */ feed, /** @type {string[]} */ ...flags) =>
    endOfMain(['feed', 'set', feed, ...flags, '--redis-url', primary.url, '--key-prefix', keyPrefix])
  for (const layout of layoutNames()) {
    const { describe, format } = layoutOf(layout)
    const feed = `feed-${layout}`
    const retention = { windowMs: 60_000, maxItems: 0 }
    await agree(connection, keyPrefix, { feed, layout, partitions: 1, format, ...retention })
    for (const flags of [['--window-ms', '0'], ['--window-ms', '0', '--max-items', '0']]) {
      const ended = await set(feed, ...flags)
      if (describe().versions === 'one') {
        t.equal(ended.code, 0, ended.stderr)
        continue
      }
      t.equal(ended.code, 2)
      t.match(ended.stderr, new RegExp(`windowMs: 0 and maxItems: 0 of feed ${feed} with layout ${layout}`))
      t.match(await readDefinition(connection, keyPrefix, feed), retention, 'nothing was stored')
    }
    const ended = await set(feed, '--window-ms', '0', '--max-items', '5')
    t.equal(ended.code, 0, ended.stderr)
    t.match(await readDefinition(connection, keyPrefix, feed), { windowMs: 0, maxItems: 5 })
  }
})
