/**
 * What followers of every layout get while connections are killed and the primary fails over: each acknowledged version and deletion, late
 * ones and those of batches that were sent again included, without a reset.
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { openFeed, openReader } from '../../src/index.js'
import { layoutNames } from '../../src/layouts/index.js'
import { startFollowing } from '../client/following.js'
import { startProxy } from '../proxy.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, inSync, startDeployment } from '../servers.js'
import { startReader } from '../services.js'

const EVERY_MS = 10
const LATE_MS = 30_000
const KILLS = 5
const PATIENT = { deadlineMs: 60_000 }

t.setTimeout(240_000)
const cases = (await scopedEngines()).flatMap((engine) => layoutNames().map((layout) => ({ engine, layout })))
for (const { engine, layout } of cases) {
  t.test(`${engineName(engine)}, ${layout}: 0 missing, 0 resets`, async (t) => {
    const { primary, replicas: [other, promoted] } = await startDeployment(t, { engine })
    const proxy = await startProxy(t, primary.port)
    const feed = await openFeed('followed', { redisUrl: proxy.url, layout, ack: 'replica', deadlineMs: 10_000, windowMs: 600_000 })
    t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
    feed.append({ id: 'old', value: 'x' })
    await feed.flush(PATIENT)
    const library = await openReader({ redisUrl: proxy.url, readFrom: 'replica' })
    t.teardown(() => library.close())
    const server = await startReader(t, { redisUrl: proxy.url })
    const client = startFollowing(t, server.url, 'followed', { encoding: 'utf8', limit: 10 })
    await eventually(() => client.items.has('old'))

    /** of the subscription, by id: what came, in order @type {Map<string, string[]>} */
    const came = new Map()
    /** the newest position that the subscription has reached */
    let position = client.events[0].position
    let sessions = 0
    const over = new AbortController()
    const subscribed = (async () => {
      while (!over.signal.aborted) {
        sessions++
        // now and then it goes, and resumes from its position
        const session = AbortSignal.any([over.signal, AbortSignal.timeout(700)])
        for await (const change of library.feed('followed').subscribe({ from: position, signal: session, pollMs: 10 })) {
          came.set(change.id, [...came.get(change.id) ?? [], String(change.value)])
          position = change.position
        }
      }
    })()

    let next = 0
    const deleted = (/** @type {number} */ n) => n % 7 === 3
    const writing = setInterval(() => {
      const n = next++
      feed.append({ id: `id-${n}`, ts: Date.now() - (n % 5 === 0 ? LATE_MS : 0), value: String(n) })
      if (n > 100 && deleted(n - 100)) feed.delete({ id: `id-${n - 100}` })
    }, EVERY_MS)
    t.teardown(() => clearInterval(writing))
    await eventually(() => next > 100)
    for (let kill = 0; kill < KILLS; kill++) {
      for (const { url } of [primary, other, promoted]) {
        await (await connectFor(t, url)).send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes').catch(() => {})
      }
      await pause(200)
    }
    const [control, follower] = [await connectFor(t, promoted.url), await connectFor(t, other.url)]
    await primary.kill()
    await control.send('REPLICAOF', 'NO', 'ONE')
    await follower.send('REPLICAOF', '127.0.0.1', promoted.port)
    await inSync(other)
    proxy.switchTo(promoted.port)
    const more = next + 200
    await eventually(() => next >= more)
    clearInterval(writing)
    await feed.flush(PATIENT)

    const isGone = (/** @type {number} */ n) => deleted(n) && n + 100 < next && n > 0
    const wanted = Array.from({ length: next }, (_, n) => n)
    const missed = () => wanted.filter((n) => came.get(`id-${n}`)?.at(-1) !== (isGone(n) ? 'null' : String(n)))
    await eventually(() => missed().length === 0).catch(() => t.same(missed(), [], `of the subscription, of ${next}`))
    const lacks = () => wanted.filter((n) => {
      const item = client.items.get(`id-${n}`)
      // a version that was deleted before it was sent is skipped
      return isGone(n) ? item !== undefined && !item.deleted : item?.value !== String(n)
    })
    await eventually(() => lacks().length === 0).catch(() => t.same(lacks(), [], `of the stream, of ${next}`))
    over.abort()
    await subscribed
    const twice = [...came].filter(([, values]) => new Set(values).size !== values.length)
    t.same(twice, [], `nothing comes twice, in ${sessions} sessions`)
    t.same(client.events.filter(({ event }) => event === 'reset').map(({ reason }) => reason), [], 'no reset')
    t.same([missed(), lacks(), client.wentBack], [[], [], []], `${next} items`)
  })
}
