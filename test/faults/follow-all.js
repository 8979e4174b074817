/** A subscription and a stream of one feed while it is written, late and deleted items among them, and the ledger of both. */
import { openReader } from '../../src/index.js'
import { startFollowing } from '../client/following.js'
import { eventually } from '../servers.js'
import { startReader } from '../services.js'

const EVERY_MS = 10
const LATE_MS = 30_000
const PATIENT = { deadlineMs: 60_000 }

/**
 * @param {import('tap').Test} t
 * @param {{ name: string, feed: import('../../src/index.js').Feed, redisUrl: string, readFrom?: 'replica' | 'primary' }} of
 *   `feed` has the item `old`
 */
export async function followAll (t, { name, feed, redisUrl, readFrom = 'replica' }) {
  const library = await openReader({ redisUrl, readFrom })
  t.teardown(() => library.close())
  const server = await startReader(t, { redisUrl, flags: ['--read-from', readFrom] })
  const client = startFollowing(t, server.url, name, { encoding: 'utf8', limit: 10 })
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
      for await (const change of library.feed(name).subscribe({ from: position, signal: session, pollMs: 10 })) {
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

  /** @param {number} items further ones */
  const until = (items) => {
    const least = next + items
    return eventually(() => next >= least)
  }
  await until(100)

  return {
    until,

    /** Writes no more, and compares what was written with what came. */
    async settle () {
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
    }
  }
}
