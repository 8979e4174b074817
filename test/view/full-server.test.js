/** A server at its memory limit refuses a batch as a whole: followers of any layout see nothing of it, and all of it once there is room. */
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { layoutNames } from '../../src/layouts/index.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, startServer } from '../servers.js'
import { take } from './changes.js'
import { openViews } from './viewing.js'

const COUNT = 500
const VALUE = 'x'.repeat(1000)

t.setTimeout(120_000)
const [engine] = await scopedEngines()
for (const layout of layoutNames()) {
  t.test(`${engineName(engine)}: ${layout}`, async (t) => {
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
    const changes = feed.subscribe({ from: view.position() })

    const keys = async () => (await admin.send('KEYS', 'fr:{full:0}*')).length
    const before = await keys()
    await admin.send('CONFIG', 'SET', 'maxmemory', '1')
    for (let i = 0; i < COUNT; i++) feed.append({ id: `n${i}`, value: VALUE })
    await t.rejects(feed.flush({ deadlineMs: 1500 }), { code: 'DEADLINE_PASSED' })
    t.match(feed.status().reasons.join(), /SERVER_FULL/)
    t.equal(view.count(), 1)
    t.ok(await keys() <= before, 'nothing of the batch is stored')

    await admin.send('CONFIG', 'SET', 'maxmemory', '0')
    await feed.flush({ deadlineMs: 60_000 })
    await eventually(() => view.count() === COUNT + 1)
    const seen = (await take(changes, COUNT)).map(({ id }) => id)
    t.equal(new Set(seen).size, COUNT, 'each comes once')
    await changes.return()
  })
}
