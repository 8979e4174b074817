/** One stream of many feeds over a failover of one shard of three: each feed has all of its items, and those of other shards go on. */
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { replacePrimary, startCluster } from '../../test/cluster.js'
import { openLive } from '../../test/push/live-client.js'
import { scopedEngines } from '../../test/scope.js'
import { engineName, eventually } from '../../test/servers.js'
import { startReader } from '../../test/services.js'

const FEEDS = Array.from({ length: 20 }, (_, n) => `feed-${n}`)
const EVERY_MS = 50
const PATIENT = { deadlineMs: 120_000 }

t.setTimeout(600_000)
for (const engine of await scopedEngines()) {
  t.test(`${engineName(engine)}: 20 feeds, of which one shard fails over`, async (t) => {
    const cluster = await startCluster(t, { engine })
    const feeds = await Promise.all(FEEDS.map((feed) => openFeed(feed, { redisUrl: cluster.url, ack: 'replica', deadlineMs: 20_000 })))
    for (const feed of feeds) t.teardown(() => feed.close({ drainMs: 0 }))
    const reader = await startReader(t, { redisUrl: cluster.url })
    const client = await openLive(t, reader.url, `/v1/live?limit=0&encoding=utf8&${FEEDS.map((feed) => `feed=${feed}`).join('&')}`)
    /** Newest number by feed. @returns {Map<string, number>} */
    const newest = () => new Map(client.events.flatMap(({ data: { feed, items = [] } }) =>
      items.map((/** @type {any} */ { value }) => /** @type {[string, number]} */ ([feed, Number(value)]))))
    /** Of the first so many items of each feed. @param {number} until */
    function missing (until) {
      const has = new Set(client.events.flatMap(({ data: { feed, items = [] } }) =>
        items.map((/** @type {any} */ { id }) => `${feed} ${id}`)))
      return FEEDS.flatMap((feed) => Array.from({ length: until }, (_, n) => `${feed} id-${n}`)).filter((one) => !has.has(one))
    }
    let next = 0
    const writing = setInterval(() => {
      for (const feed of feeds) feed.append({ id: `id-${next}`, value: String(next) })
      next++
    }, EVERY_MS)
    t.teardown(() => clearInterval(writing))
    await eventually(() => newest().size === FEEDS.length && Math.min(...newest().values()) >= 10, PATIENT)

    const tookMs = await replacePrimary(t, cluster, { shard: 1 })
    t.comment(`the shard failed over in ${tookMs} ms`)
    const more = next + 20
    await eventually(() => next >= more)
    clearInterval(writing)
    await Promise.all(feeds.map((feed) => feed.flush(PATIENT)))
    await eventually(() => missing(next).length === 0, PATIENT).catch(() => t.same(missing(next), [], `of ${next} in each feed`))
    t.notOk(client.isEnded)
    const reset = new Set(client.events.filter(({ event }) => event === 'reset').map(({ data }) => data.feed))
    t.comment(`${reset.size} feeds were reset: ${[...reset].join(' ')}`)
    t.ok(reset.size < FEEDS.length, 'feeds of other shards were not')
    const { position } = client
    client.close()
    for (const feed of feeds) feed.append({ id: 'last', value: String(next) })
    await Promise.all(feeds.map((feed) => feed.flush(PATIENT)))
    const again = await openLive(t, reader.url, `/v1/live?encoding=utf8&${FEEDS.map((feed) => `feed=${feed}`).join('&')}`,
      { headers: { 'last-event-id': position } })
    await eventually(() => new Set(again.events.filter(({ data }) => data.items?.some((/** @type {any} */ { id }) => id === 'last'))
      .map(({ data }) => data.feed)).size === FEEDS.length, PATIENT)
    t.notOk(again.events.some(({ event }) => event === 'reset'), 'the position of all is valid after it')
  })
}
