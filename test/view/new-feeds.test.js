/** Feeds that a replica does not have yet: the primary is asked before one is denied, or its view closed. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { agree, definitionOf } from '../../src/feeds/definitions.js'
import { definitionKey, namesKey } from '../../src/feeds/keys.js'
import { startProxy } from '../proxy.js'
import { scopedEngines } from '../scope.js'
import { connectFor, eventually, inSync, startDeployment, startServer } from '../servers.js'
import { openViews } from './viewing.js'

const LAG_MS = 200
const FEEDS = 20
/** views look twice a second which feeds there are */
const LOOKS_MS = 1600
const [engine] = await scopedEngines()

/** @param {string} feed */
const wanted = (feed) => definitionOf({ feed, layout: 'ids', partitions: 1, windowMs: 60_000, maxItems: 0, late: 'newest' })

t.test('queries find a feed at once with a replica that is behind, and never deny it while the primary is away', async (t) => {
  const { primary } = await startDeployment(t, { engine, replicas: 0 })
  const line = await startProxy(t, primary.port, { delayMs: LAG_MS })
  const replica = await startServer(t, { engine, replicaOf: line })
  await inSync(replica)
  const { queries, deployment } = await openViews(t, { primary, readFrom: 'replica', mode: 'none' })
  await eventually(() => queries.status().ready)
  const control = await connectFor(t, primary.url)
  for (let n = 0; n < FEEDS; n++) {
    const feed = `new-${n}`
    await agree(control, 'fr:', wanted(feed))
    const [{ createdAt }, { items }, { count }] = await Promise.all([
      queries.definition(feed), queries.latest(feed, { limit: 1 }), queries.count(feed)
    ])
    t.ok(createdAt)
    t.same([items, count], [[], 0])
  }
  t.ok(deployment.lookups.questions >= FEEDS, 'the replica did not have them')
  t.ok(deployment.lookups.questions <= 3 * FEEDS)
  await t.rejects(queries.definition('none'), { code: 'FEED_UNKNOWN' })
  await primary.kill()
  for (const ask of [
    () => queries.definition('none'), () => queries.latest('none', { limit: 1 }), () => queries.count('none')
  ]) {
    await t.rejects(/** @type {() => Promise<unknown>} */ (ask), { code: /^SERVER_(LOST|UNREACHABLE)$/ })
  }
  // on a busy machine the only replica may have been too far behind when the primary was lost
  t.ok(await eventually(() => queries.definition('new-0')))
})

t.test('the view of a feed that is not listed yet stays, and closes when the feed is dropped', async (t) => {
  const { primary } = await startDeployment(t, { engine, replicas: 0 })
  const { views } = await openViews(t, { primary })
  const control = await connectFor(t, primary.url)
  await agree(control, 'fr:', wanted('unlisted'))
  await control.send('SREM', namesKey('fr:'), 'unlisted')
  const { view, release } = await views.watch('unlisted')
  const first = view()
  t.ok(first)
  await pause(LOOKS_MS)
  t.equal(view(), first)
  await control.send('UNLINK', definitionKey('fr:', 'unlisted'))
  await eventually(() => view() === null)
  release()
})
