/** `npm start feed -- create` and `set` store only what writers accept; `show --watch` prints what happens. */
import t from 'tap'
import { layoutNames, layoutOf } from '../../src/layouts/index.js'
import { agree, readDefinition } from '../../src/feeds/definitions.js'
import { openFeed } from '../../src/index.js'
import { watchFeed } from '../../bin/feed.js'
import { connectFor, eventually, silentLog } from '../servers.js'
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

t.test('show --watch prints rate, lag and newest items, until it is stopped', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const feed = await openFeed('watched', { redisUrl: primary.url, keyPrefix, encoding: 'json' })
  t.teardown(() => feed.close())
  const stop = new AbortController()
  const at = { primaryUrl: primary.url, replicaUrls: null, keyPrefix, deadlineMs: 10_000, log: silentLog, signal: stop.signal }
  /** @type {any[]} */
  const lines = []
  const watching = watchFeed('watched', at, (line) => lines.push(line))
  let ts = Date.now()
  await eventually(() => {
    for (const id of ['a', 'b', 'c', 'd']) feed.append({ id, ts: ts++, value: { text: id } })
    return lines.some(({ itemsPerSecond, count, lagMs }) => itemsPerSecond > 0 && count === 4 && lagMs !== null)
  })
  stop.abort()
  await watching
  t.same(lines.at(-1).newest.map((/** @type {any} */ { id, value }) => [id, value]), ['d', 'c', 'b'].map((id) => [id, `{"text":"${id}"}`]))
  await t.rejects(watchFeed('none', { ...at, signal: new AbortController().signal }, () => {}), { code: 'FEED_UNKNOWN' })
  t.match(await endOfMain(['feed', 'list', '--watch', '--redis-url', primary.url]), { code: 2, stderr: /--watch is only for show/ })
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
  t.match(await feed('drop', 'rides'), { code: 0, stdout: '{"event":"dropped","feed":"rides","keys":2}\n' })
})
