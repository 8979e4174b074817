/** Feeds that no replica has, in a cluster and behind Sentinels: their primary is asked, and while there is none, no feed is denied. */
import t from 'tap'
import { definitionOf } from '../../src/feeds/definitions.js'
import { definitionKey } from '../../src/feeds/keys.js'
import { SLOTS, slotOf } from '../../src/store/slots.js'
import { startCluster } from '../../test/cluster.js'
import { scopedEngines } from '../../test/scope.js'
import { startWatched } from '../../test/sentinels.js'
import { connectFor, engineName, eventually } from '../../test/servers.js'
import { openViews } from '../../test/view/viewing.js'

t.setTimeout(300_000)
const FEEDS = 12
const UNREPLICATED = "redis.set_repl(redis.REPL_NONE) return redis.call('SET', KEYS[1], ARGV[1])"
const AWAY = /^(SERVER_LOST|SERVER_UNREACHABLE|REPLICAS_GONE)$/

/**
 * Stores a definition on a primary, and on no replica.
 * @param {import('../../src/store/connection.js').Connection} primary @param {string} feed
 */
function store (primary, feed) {
  const definition = definitionOf({ feed, layout: 'ids', partitions: 1, windowMs: 60_000, maxItems: 0, late: 'newest' })
  const text = JSON.stringify({ ...definition, createdAt: new Date().toISOString() })
  return primary.send('EVAL', UNREPLICATED, 1, definitionKey('fr:', feed), text)
}

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    await t.test('in a cluster, of whichever primary', async (t) => {
      const { primaries, url } = await startCluster(t, { engine, primaries: 3, replicas: 1 })
      const admins = await Promise.all(primaries.map((primary) => connectFor(t, primary.url)))
      const { queries, deployment } = await openViews(t, {
        primary: { url }, isCluster: true, readFrom: 'replica', mode: 'none', deadlineMs: 10_000
      })
      await eventually(() => queries.status().ready)
      const feeds = Array.from({ length: FEEDS }, (_, n) => `new-${n}`)
      await Promise.all(feeds.map((feed) =>
        store(admins[Math.floor(slotOf(definitionKey('fr:', feed)) * primaries.length / SLOTS)], feed)))
      t.same((await Promise.all(feeds.map((feed) => queries.definition(feed)))).map(({ feed }) => feed), feeds)
      const pages = await Promise.all(feeds.map((feed) => queries.latest(feed, { limit: 1 })))
      t.ok(pages.every(({ items }) => items.length === 0))
      t.ok(deployment.lookups.questions > 0)
      for (const feed of feeds) await t.rejects(queries.definition(`${feed}-none`), { code: 'FEED_UNKNOWN' })
    })

    await t.test('behind Sentinels, also while they promote a replica', async (t) => {
      const watched = await startWatched(t, { engine })
      const { queries } = await openViews(t, {
        primary: { url: watched.url }, isCluster: true, readFrom: 'replica', mode: 'none', deadlineMs: 2000
      })
      await eventually(() => queries.status().ready)
      await store(await connectFor(t, watched.primary.url), 'new')
      t.equal((await queries.definition('new')).feed, 'new')
      await watched.primary.kill()
      /** @type {Set<string>} */
      const seen = new Set()
      const ask = async () => {
        const code = await queries.definition('none').then(() => 'found', (error) => error.code)
        if (code !== 'FEED_UNKNOWN') seen.add(code)
        return code === 'FEED_UNKNOWN'
      }
      await eventually(ask)
      const roles = await Promise.all(watched.replicas.map(async ({ url }) => String((await (await connectFor(t, url)).send('ROLE'))[0])))
      t.ok(roles.includes('master'), 'a primary has denied it')
      t.ok(seen.size > 0)
      t.same([...seen].filter((code) => !AWAY.test(code)), [])
    })
  })
}
