/**
 * A writer and a subscriber over a cluster, with the ledger of what was acknowledged: for tests that kill nodes and move slots
 * meanwhile.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { openFeed, openReader } from '../src/index.js'
import { silentLog } from './servers.js'

const CHUNK = 50
const EVERY_MS = 10

/**
 * @param {import('tap').Test} t
 * @param {{ redisUrl: string, layout: string, partitions?: number, ack?: string, log?: import('pino').Logger }} options
 */
export async function startRun (t, { redisUrl, layout, partitions = 6, ack = 'replica', log = silentLog }) {
  const name = `run-${layout}`
  const common = { redisUrl, log, deadlineMs: 1000 }
  const feed = await openFeed(name, { ...common, layout, partitions, ack, windowMs: 600_000, inFlightBytes: 4 * 1024 * 1024 })
  const reader = await openReader(common)
  t.teardown(() => Promise.all([feed.close({ drainMs: 0 }).catch(() => {}), reader.close()]))
  const stop = new AbortController()
  /** how often each item was delivered @type {Map<number, number>} */
  const delivered = new Map()
  /** when it was delivered first, by item @type {number[]} */
  const deliveredMs = []
  /** @type {Set<number>} */
  const acknowledged = new Set()
  /** @type {Error | null} */
  let failure = null
  let next = 0

  feed.append({ id: 'id-0', value: String(next++) })
  await feed.flush()
  const subscribed = (async () => {
    for await (const { value } of reader.feed(name).subscribe({ pollMs: 20, overlapMs: 300, signal: stop.signal })) {
      const n = Number(value)
      delivered.set(n, (delivered.get(n) ?? 0) + 1)
      deliveredMs[n] ??= performance.now()
    }
  })().catch((error) => { failure ??= error })

  const written = (async () => {
    while (!stop.signal.aborted) {
      const from = next
      for (; next < from + CHUNK; next++) feed.append({ id: `id-${next}`, value: String(next) })
      const until = next
      feed.acknowledged({ deadlineMs: Infinity }).then(() => { for (let n = from; n < until; n++) acknowledged.add(n) }, () => {})
      await feed.ready({ deadlineMs: Infinity })
      await pause(EVERY_MS)
    }
  })().catch((error) => { failure ??= error })

  return {
    feed,
    reader: reader.feed(name),
    delivered,
    deliveredMs,
    acknowledged,
    get next () { return next },
    /** Longest time without a delivered item. @param {number} sinceMs */
    longestPauseMs (sinceMs) {
      const times = [sinceMs, ...deliveredMs.filter((ms) => ms >= sinceMs).sort((a, b) => a - b)]
      return Math.round(Math.max(...times.map((ms, i) => ms - (times[i - 1] ?? ms))))
    },
    /** The longest time without a delivered item of one partition. @param {(id: Buffer) => boolean} isIn @param {number} sinceMs */
    pauseOf (isIn, sinceMs) {
      const times = [...deliveredMs.keys()].filter((n) => deliveredMs[n] >= sinceMs && isIn(Buffer.from(`id-${n}`)))
        .map((n) => deliveredMs[n]).sort((a, b) => a - b)
      return Math.round(Math.max(...[sinceMs, ...times].map((ms, i, all) => ms - (all[i - 1] ?? ms))))
    },
    /** Ends it and compares. */
    async end () {
      stop.abort()
      await written
      await feed.flush({ deadlineMs: 30_000 })
      await subscribed
      const stored = await allOf(reader.feed(name))
      const lost = [...acknowledged].filter((n) => !stored.has(n))
      return {
        failure,
        intended: next,
        acknowledged: acknowledged.size,
        stored: stored.size,
        lost: lost.length,
        lostOnes: lost.slice(0, 5),
        storedTwice: [...stored.values()].filter((times) => times > 1).length,
        deliveredTwice: [...delivered.values()].filter((times) => times > 1).length,
        account: { ...feed.account }
      }
    }
  }
}

/** How often each item is stored, read by pages until the replicas have everything. @param {import('../src/reading.js').Reading} reading */
async function allOf (reading) {
  await pause(500)
  /** @type {Map<number, number>} */
  const found = new Map()
  /** @type {string | null} */
  let after = null
  do {
    const { items, next } = await reading.latest({ limit: 10_000, after })
    for (const { value } of items) found.set(Number(value), (found.get(Number(value)) ?? 0) + 1)
    after = next
  } while (after !== null)
  return found
}
