/**
 * A server that cannot take a batch, at its memory limit or demoted, takes nothing of it: followers of any layout see nothing, and all of
 * it once the server takes it.
 */
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { layoutNames } from '../../src/layouts/index.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, startServer } from '../servers.js'
import { openViews } from './viewing.js'

const COUNT = 500
const VALUE = 'x'.repeat(1000)
/** @typedef {import('../../src/store/connection.js').Connection} Connection */
/** @typedef {(admin: Connection) => Promise<unknown>} Turn */
/** @type {Record<string, { turn: Turn, back: Turn, reason: RegExp }>} */
const TURNS = {
  'at its memory limit': {
    turn: (admin) => admin.send('CONFIG', 'SET', 'maxmemory', '1'),
    back: (admin) => admin.send('CONFIG', 'SET', 'maxmemory', '0'),
    reason: /SERVER_FULL/
  },
  demoted: {
    // of one that does not answer, so that it keeps what it has
    turn: (admin) => admin.send('REPLICAOF', '127.0.0.1', '1'),
    back: (admin) => admin.send('REPLICAOF', 'NO', 'ONE'),
    reason: /SERVER_/
  }
}

t.jobs = 2
t.setTimeout(240_000)
const [engine] = await scopedEngines()
for (const [what, { turn, back, reason }] of Object.entries(TURNS)) {
  for (const layout of layoutNames()) {
    t.test(`${engineName(engine)}, ${layout}: a server ${what}`, { buffered: true }, async (t) => {
      const server = await startServer(t, { engine })
      const admin = await connectFor(t, server.url)
      const feed = await openFeed('full', { redisUrl: server.url, readFrom: 'primary', layout, batchItems: COUNT, windowMs: 600_000 })
      t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
      feed.append({ id: 'first', value: '0' })
      await feed.flush()
      const { views } = await openViews(t, { primary: server, mode: 'all' })
      const { view: held, release } = await views.watch(feed.name)
      t.teardown(release)
      const view = /** @type {import('../../src/view/view.js').View} */ (held())
      await eventually(() => view.isComplete)
      /** @type {string[]} */
      const seen = []
      const changes = feed.subscribe({ from: view.position() })
      const following = (async () => { for await (const { id } of changes) seen.push(id) })()

      const keys = async () => (await admin.send('KEYS', 'fr:{full:0}*')).length
      const before = await keys()
      await turn(admin)
      for (let i = 0; i < COUNT; i++) feed.append({ id: `n${i}`, value: VALUE })
      await t.rejects(feed.flush({ deadlineMs: 1500 }), { code: 'DEADLINE_PASSED' })
      t.match(feed.status().reasons.join(), reason)
      t.same([view.count(), seen.length], [1, 0])
      t.ok(await keys() <= before, 'nothing of the batch is stored')

      await back(admin)
      await feed.flush({ deadlineMs: 60_000 })
      await eventually(() => view.count() === COUNT + 1 && new Set(seen).size === COUNT)
      t.equal(view.isComplete, true)
      await changes.return()
      await following
    })
  }
}
