/**
 * One stream of many feeds over a failover of one shard of three: of each feed every id comes to its newest version, with nothing of
 * another feed and nothing that was not written, and feeds of other shards go on.
 */
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { replacePrimary, startCluster } from '../../test/cluster.js'
import { openLive } from '../../test/push/live-client.js'
import { nightly, scopedEngines } from '../../test/scope.js'
import { engineName, eventually } from '../../test/servers.js'
import { startReader } from '../../test/services.js'

const FEEDS = Array.from({ length: 20 }, (_, n) => `feed-${n}`)
const PATH = `/v1/live?limit=0&encoding=utf8&${FEEDS.map((feed) => `feed=${feed}`).join('&')}`
const EVERY_MS = nightly(20, 50)
/** of a feed, each of which has several versions */
const IDS = 100
const PATIENT = { deadlineMs: 120_000 }

/** What was written, and what of it came. */
function createLedger () {
  /** newest number of each id of each feed @type {Map<string, number>} */
  const written = new Map()
  let next = 0
  return {
    get next () { return next },

    /** The next number, to each feed. @param {{ append: (item: { id: string, value: string }) => unknown }[]} feeds */
    write (feeds) {
      const id = `id-${next % IDS}`
      FEEDS.forEach((feed, i) => {
        feeds[i].append({ id, value: `${feed} ${next}` })
        written.set(`${feed} ${id}`, next)
      })
      next++
    },

    /** @param {import('../../test/push/live-client.js').LiveClient} client */
    compare ({ events }) {
      /** @type {Map<string, number>} */
      const has = new Map()
      /** @type {string[]} */
      const faults = []
      for (const { event, data: { feed, items = [] } } of events) {
        // after it, versions come again
        if (event === 'reset') for (const key of has.keys()) if (key.startsWith(`${feed} `)) has.delete(key)
        for (const { id, value } of items) {
          const [of, n] = value.split(' ')
          const key = `${feed} ${id}`
          if (of !== feed || n > next || n % IDS !== Number(id.slice(3))) faults.push(`${key} is ${value}`)
          if (Number(n) < (has.get(key) ?? -1)) faults.push(`${key} went back from ${has.get(key)} to ${n}`)
          has.set(key, Number(n))
        }
      }
      return { faults, missing: [...written].filter(([key, n]) => has.get(key) !== n).map(([key]) => key) }
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
      const ledger = createLedger()
      const writing = setInterval(() => ledger.write(feeds), EVERY_MS)
      t.teardown(() => clearInterval(writing))
      await eventually(() => ledger.next >= IDS, PATIENT)

      const tookMs = await replacePrimary(t, cluster, { shard: 1 })
      t.comment(`the shard failed over in ${tookMs} ms`)
      const more = ledger.next + 2 * IDS
      await eventually(() => ledger.next >= more, PATIENT)
      clearInterval(writing)
      await Promise.all(feeds.map((feed) => feed.flush(PATIENT)))
      await eventually(() => ledger.compare(client).missing.length === 0, PATIENT).catch(() => {})
      t.same(ledger.compare(client), { faults: [], missing: [] }, `${ledger.next} numbers in each feed`)
      t.notOk(client.isEnded)
      const reset = new Set(client.events.filter(({ event }) => event === 'reset').map(({ data }) => data.feed))
      t.comment(`${reset.size} feeds were reset: ${[...reset].join(' ')}`)
      t.ok(reset.size < FEEDS.length, 'feeds of other shards were not')

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
