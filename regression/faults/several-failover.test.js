/**
 * One stream of many feeds over a failover of one shard of three: each item of each feed comes, with nothing of another feed and nothing
 * that was not written, and feeds of other shards go on.
 */
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { replacePrimary, startCluster } from '../../test/cluster.js'
import { openLive } from '../../test/push/live-client.js'
import { nightly, scopedEngines } from '../../test/scope.js'
import { connectFor, engineName, eventually } from '../../test/servers.js'
import { startReader } from '../../test/services.js'

const FEEDS = Array.from({ length: 20 }, (_, n) => `feed-${n}`)
const PATH = `/v1/live?limit=0&encoding=utf8&${FEEDS.map((feed) => `feed=${feed}`).join('&')}`
const EVERY_MS = nightly(20, 50)
/** that each feed has got before the failover */
const BEFORE = 50
/** that are written after it */
const AFTER = 100
const PATIENT = { deadlineMs: 120_000 }

/**
 * What was written, and what of it came: each item has an id of its own, so that none stands for another. After a `reset`, some come again.
 * @param {import('../../test/push/live-client.js').LiveClient} client
 */
function createLedger (client) {
  /** numbers by feed */
  const got = new Map(FEEDS.map((feed) => [feed, new Set()]))
  /** @type {string[]} */
  const faults = []
  let next = 0
  let read = 0

  /** What has come since. */
  function take () {
    for (; read < client.events.length; read++) {
      const { feed, items = [] } = client.events[read].data
      for (const { id, value } of items) {
        const n = Number(id.slice(3))
        if (value === `${feed} ${n}` && n < next) got.get(feed)?.add(n)
        else faults.push(`${id} of ${feed} is ${value}`)
      }
    }
  }

  return {
    get next () { return next },

    /** The next number, to each feed. @param {{ append: (item: { id: string, value: string }) => unknown }[]} feeds */
    write (feeds) {
      FEEDS.forEach((feed, i) => feeds[i].append({ id: `id-${next}`, value: `${feed} ${next}` }))
      next++
    },

    /** How many have come of the feed that has least. */
    least () {
      take()
      return Math.min(...[...got.values()].map(({ size }) => size))
    },

    compare () {
      take()
      const numbers = Array.from({ length: next }, (_, n) => n)
      return { faults, missing: FEEDS.flatMap((feed) => numbers.filter((n) => !got.get(feed)?.has(n)).map((n) => `${feed} ${n}`)) }
    }
  }
}

t.setTimeout(900_000)
for (const engine of await scopedEngines()) {
  for (const layout of /** @type {('ids' | 'values' | 'segments')[]} */ (nightly(['ids', 'values', 'segments'], ['ids']))) {
    t.test(`${engineName(engine)}, ${layout}: 20 feeds, of which one shard fails over`, async (t) => {
      const cluster = await startCluster(t, { engine })
      const options = { redisUrl: cluster.url, layout, ack: /** @type {const} */ ('replica'), deadlineMs: 20_000 }
      const feeds = await Promise.all(FEEDS.map((feed) => openFeed(feed, options)))
      for (const feed of feeds) t.teardown(() => feed.close({ drainMs: 0 }))
      const reader = await startReader(t, { redisUrl: cluster.url })
      const client = await openLive(t, reader.url, PATH)
      const ledger = createLedger(client)
      const writing = setInterval(() => ledger.write(feeds), EVERY_MS)
      t.teardown(() => clearInterval(writing))
      await eventually(() => ledger.least() >= BEFORE, PATIENT)

      const keys = await (await connectFor(t, cluster.primaries[1].url)).send('KEYS', 'fr:{feed-*:*')
      const ofShard = new Set(keys.map((/** @type {Buffer} */ key) => /{(feed-\d+):/.exec(String(key))?.[1]))
      t.ok(ofShard.size > 0 && ofShard.size < FEEDS.length, `the shard has ${ofShard.size} feeds`)
      const tookMs = await replacePrimary(t, cluster, { shard: 1 })
      t.comment(`the shard failed over in ${tookMs} ms`)
      const more = ledger.next + AFTER
      await eventually(() => ledger.next >= more, PATIENT)
      clearInterval(writing)
      await Promise.all(feeds.map((feed) => feed.flush(PATIENT)))
      await eventually(() => ledger.least() === ledger.next, PATIENT).catch(() => {})
      t.same(ledger.compare(), { faults: [], missing: [] }, `${ledger.next} items in each feed`)
      t.notOk(client.isEnded)
      const reset = new Set(client.events.filter(({ event }) => event === 'reset').map(({ data }) => data.feed))
      t.comment(`${reset.size} feeds were reset: ${[...reset].join(' ')}`)
      t.same([...reset].filter((feed) => !ofShard.has(feed)), [], 'feeds of other shards were not')

      const { position } = client
      client.close()
      for (const feed of feeds) feed.append({ id: 'last', value: 'last' })
      await Promise.all(feeds.map((feed) => feed.flush(PATIENT)))
      const again = await openLive(t, reader.url, PATH, { headers: { 'last-event-id': position } })
      await eventually(() => new Set(again.events.filter(({ data }) => data.items?.some((/** @type {any} */ { id }) => id === 'last'))
        .map(({ data }) => data.feed)).size === FEEDS.length, PATIENT)
      t.notOk(again.events.some(({ event }) => event === 'reset'), 'the position of all is valid after it')
    })
  }
}
