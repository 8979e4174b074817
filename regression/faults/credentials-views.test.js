/**
 * A reader with many views whose rights or password change. Each view waits a second after a refusal, a node that has just
 * refused one view is not asked by the others, and all use a node that lets them in while there is one.
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { permissions } from '../../src/store/commands.js'
import { connectFor, engineName, eventually, openWriterFor, startDeployment } from '../../test/servers.js'
import { scopedEngines } from '../../test/scope.js'
import { startReader } from '../../test/services.js'

const FEEDS = 12
const WATCHED_MS = 4000
/** The logs of all feeds share one connection. */
const CONNECTIONS = 1
/** to one node: less than one a view, because a refusal counts for all views for a second */
const ATTEMPTS_PER_SECOND = 3
/** a view that is refused waits for 1.25 s at most */
const BACK_MS = 20_000

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const { primary, replicas } = await startDeployment(t, { engine, replicas: 2 })
  const [onPrimary, onOne, onOther] = await Promise.all([primary, ...replicas].map(({ url }) => connectFor(t, url)))
  const nodes = [onPrimary, onOne, onOther]
  const setUser = (/** @type {typeof nodes} */ on, /** @type {string[]} */ ...rules) =>
    Promise.all(on.map((node) => node.send('ACL', 'SETUSER', 'a-reader', ...rules)))
  await setUser(nodes, 'on', '>canary-1', ...permissions('reader', { keyPrefix: 'fr:', msetex: engine.hasMsetex }).split(' '))

  /** Appends one item to each of so many feeds, of one layout or the other. @param {string} id */
  async function write (id, feeds = FEEDS) {
    for (let n = 0; n < feeds; n++) {
      const writer = await openWriterFor(t,
        { redisUrl: primary.url, feed: `feed-${n}`, layout: n % 4 ? 'segments' : 'ids', name: `test-${n}` })
      writer.pipeline.append(Buffer.from(id), Date.now(), Buffer.from('v'))
      await writer.close({ drainMs: 10_000 })
    }
  }
  await write('first')
  const { get, service } = await startReader(t,
    { redisUrl: primary.url.replace('//', '//a-reader:canary-1@'), flags: ['--views', 'all', '--deadline-ms', '2000'] })

  const viewsIn = async () => [...(await get('/metrics')).body.matchAll(/^freshet_view_ready\{[^}]*\} 1$/gm)].length
  /** Ends the connections of views only. @param {typeof nodes} on */
  const endViews = (on) => Promise.all(on.map(async (node) => {
    const lines = String(await node.send('CLIENT', 'LIST')).split('\n')
    for (const line of lines.filter((one) => /:view-feed-\d+ /.test(one))) {
      await node.send('CLIENT', 'KILL', 'ID', String(/id=(\d+)/.exec(line)?.[1]))
    }
  }))
  const viewsOf = async (/** @type {typeof onOne} */ node) =>
    String(await node.send('CLIENT', 'LIST')).match(/:view-feed-\d+ /g)?.length ?? 0
  const attempts = async () => Promise.all(nodes.map(async (node) =>
    Number(/cmdstat_auth:calls=(\d+)/.exec(String(await node.send('INFO', 'commandstats')))?.[1] ?? 0)))

  /** The nodes are tried again, and seldom. @param {import('tap').Test} t */
  async function asksSeldom (t) {
    const [before, since] = [await attempts(), performance.now()]
    await pause(WATCHED_MS)
    const made = (await attempts()).map((count, i) => count - before[i])
    const seconds = (performance.now() - since) / 1000
    t.ok(made[1] + made[2] > 0, 'they try again')
    t.ok(made.every((count) => count <= ATTEMPTS_PER_SECOND * (seconds + 1)), `${made.join(', ')} attempts in ${seconds} s`)
  }
  /** New items appear in the view of every feed. @param {string} id */
  async function comesBack (id, feeds = FEEDS) {
    await write(id, feeds)
    await eventually(async () => await viewsIn() === feeds && (await get('/readyz')).status === 200, { deadlineMs: BACK_MS })
    for (let n = 0; n < feeds; n++) {
      await eventually(async () => (await get(`/v1/feeds/feed-${n}/items?id=${id}`)).json.items?.length === 1, { deadlineMs: BACK_MS })
    }
  }
  await eventually(async () => await viewsIn() === FEEDS)

  await t.test('a right that only views need', async (t) => {
    await setUser(nodes, '-xread', '-zrangebyscore', '-zrevrangebyscore')
    await eventually(async () => /SERVER_REFUSED/.test(service.log))
    // attempts that began before the first refusal
    await pause(1000)
    await asksSeldom(t)
    await setUser(nodes, '+xread', '+zrangebyscore', '+zrevrangebyscore')
    await comesBack('right')
  })

  await t.test('a changed password, while open connections stay open', async (t) => {
    await setUser(nodes, 'resetpass', '>canary-2')
    await endViews(nodes)
    await pause(1000)
    await asksSeldom(t)
    t.equal((await get('/v1/feeds')).status, 200, 'the links are open')
    await setUser(nodes, '>canary-1')
    await comesBack('password', FEEDS + 2)
  })

  await t.test('a right that only one node gives: all views follow that node', async (t) => {
    await setUser([onOne], '-xread', '-zrangebyscore', '-zrevrangebyscore')
    await eventually(async () => await viewsOf(onOther) >= CONNECTIONS, { deadlineMs: BACK_MS })
    await comesBack('one', FEEDS + 2)
    t.ok(await viewsOf(onOne) <= 1)
    await setUser([onOne], '+xread', '+zrangebyscore', '+zrevrangebyscore')
  })

  await t.test('no log line shows a password', async (t) => {
    t.equal(await service.stop(), 0)
    t.notMatch(service.log, /canary/)
  })
})
