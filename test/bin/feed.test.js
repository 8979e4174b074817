/** `npm start feed -- create` and `set` store only what writers accept. */
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

t.test('a feed is created with its layout and retention before its first item', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const feed = (/** @type {string[]} */ ...words) => endOfMain(['feed', ...words, '--redis-url', primary.url, '--key-prefix', keyPrefix])
  const created = await feed('create', 'rides', '--layout', 'segments', '--window-ms', '3600000', '--partitions', '2')
  t.match(JSON.parse(created.stdout), { feed: 'rides', layout: 'segments', windowMs: 3_600_000, maxItems: 1_000_000, partitions: 2 })
  t.equal((await feed('list')).stdout, created.stdout)
  const again = ['create', 'rides', '--layout', 'segments', '--partitions', '2']
  t.match(await feed(...again, '--window-ms', '3600000'), { code: 0, stdout: created.stdout })
  t.match(await feed(...again, '--window-ms', '5'), { code: 2, stderr: /rides exists already, with windowMs 3600000; change it with set/ })
  t.match(await feed('create', 'rides'), { code: 2, stderr: /rides is stored with layout segments, not ids/ })
  t.match(await feed('create', 'all', '--layout', 'stream', '--window-ms', '0', '--max-items', '0'), { code: 2, stderr: /keeps every version/ })
  t.match(await feed('set', 'rides', '--layout', 'ids', '--max-items', '5'), { code: 2, stderr: /--layout is only for create/ })
  t.match(await feed('drop', 'rides', '--max-items', '5'), { code: 2, stderr: /--max-items is only for create and set/ })
  t.match(await feed('drop', 'rides'), { code: 0, stdout: '{"event":"dropped","feed":"rides","keys":1}\n' })
})
