/** `npm start feed -- set` stores only what writers accept; `show --watch` prints what happens. */
import t from 'tap'
import { layoutNames, layoutOf } from '../../src/layouts/index.js'
import { agree, readDefinition } from '../../src/feeds/definitions.js'
import { openFeed } from '../../src/index.js'
import { watchFeed } from '../../bin/feed-watch.js'
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
  t.match(await endOfMain(['feed', 'list', '--watch', '--redis-url', primary.url]), { code: 2, stderr: /--watch is for show only/ })
})
