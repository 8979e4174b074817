/**
 * A writer and a subscriber over a cluster, with the ledger of what was acknowledged: for tests that kill nodes and move slots under
 * them. Log layouts get 500 ids, each in many versions, which are delivered once and in order; the others an id for each item.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { openFeed, openReader } from '../src/index.js'
import { layoutOf } from '../src/layouts/index.js'
import { eventually, silentLog } from './servers.js'

const CHUNK = 50
const IDS = 500
/** what a busy machine may need; only a failure takes as long */
const PATIENT = { deadlineMs: 60_000 }
let runs = 0

/**
 * @param {import('tap').Test} t
 * @param {{ redisUrl: string, layout: any, partitions?: number, ack?: any, everyMs?: number, windowMs?: number, inFlightBytes?: number,
 *   deadlineMs?: number, log?: import('pino').Logger }} options `everyMs`: between two chunks of 50 items; 0 = as fast as it goes
 */
export async function startRun (t, {
  redisUrl, layout, partitions = 6, ack = 'replica', everyMs = 10, windowMs = 600_000, inFlightBytes = 4 * 1024 * 1024,
  deadlineMs = 1000, log = silentLog
}) {
  const name = `run-${++runs}-${layout}`
  const common = { redisUrl, log, deadlineMs }
  // a busy machine may not answer within the deadline
  const feed = await eventually(() => openFeed(name, { ...common, layout, partitions, ack, windowMs, inFlightBytes }))
  const reader = await eventually(() => openReader(common))
  t.teardown(() => Promise.all([feed.close({ drainMs: 0 }).catch(() => {}), reader.close()]))
  const isLog = layoutOf(layout).log !== undefined
  const idOf = (/** @type {number} */ n) => `id-${isLog ? n % IDS : n}`
  const writing = new AbortController()
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
  /** the last one delivered, by id @type {Map<string, number>} */
  const last = new Map()
  let disordered = 0

  feed.append({ id: idOf(next), value: String(next++) })
  await feed.flush(PATIENT)
  const subscribed = (async () => {
    for await (const { id, value } of reader.feed(name).subscribe({ pollMs: 20, overlapMs: 300, signal: stop.signal })) {
      const n = Number(value)
      if (isLog && n < (last.get(id) ?? 0)) disordered++
      last.set(id, n)
      delivered.set(n, (delivered.get(n) ?? 0) + 1)
      deliveredMs[n] ??= performance.now()
    }
  })().catch((error) => { failure ??= error })

  // what is appended before the subscription begins is not delivered
  await eventually(() => {
    if (delivered.size === 0) feed.append({ id: idOf(next), value: String(next++) })
    return delivered.size > 0
  })
  await feed.flush(PATIENT)
  const first = next

  const written = (async () => {
    while (!writing.signal.aborted) {
      const from = next
      for (; next < from + CHUNK; next++) feed.append({ id: idOf(next), value: String(next) })
      const until = next
      feed.acknowledged({ deadlineMs: Infinity }).then(() => { for (let n = from; n < until; n++) acknowledged.add(n) }, () => {})
      await feed.ready({ deadlineMs: Infinity })
      await pause(everyMs)
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
      return Math.round(times.reduce((longest, ms, i) => Math.max(longest, ms - (times[i - 1] ?? ms)), 0))
    },
    /** Resolves when so many more items are acknowledged. @param {number} count */
    async goOn (count) {
      const { size } = acknowledged
      await eventually(() => acknowledged.size >= size + count)
    },

    /** Ends it and compares. */
    async end () {
      writing.abort()
      await written
      await feed.flush(PATIENT)
      await eventually(() => acknowledged.size === next - first)
      const isDelivered = () => [...acknowledged].every((n) => delivered.has(n))
      if (isLog) await eventually(isDelivered).catch(() => {})
      stop.abort()
      await subscribed
      const stored = isLog ? delivered : await allOf(reader.feed(name), next)
      const lost = [...acknowledged].filter((n) => !stored.has(n))
      const { dropped, failed, refused } = feed.account
      return {
        failure,
        lost,
        twice: [...stored.values()].filter((times) => times > 1).length,
        disordered,
        account: { dropped, failed, refused: { ...refused } }
      }
    }
  }
}

/** What a run must end with. */
export const WHOLE = { failure: null, lost: [], twice: 0, disordered: 0, account: { dropped: 0, failed: 0, refused: {} } }

/**
 * How often each item is stored, read by pages once the replicas have all of them.
 * @param {import('../src/reading.js').Reading} reading @param {number} count
 */
async function allOf (reading, count) {
  await eventually(async () => (await reading.count()).count >= count).catch(() => {})
  /** @type {Map<number, number>} */
  const found = new Map()
  /** @type {string | null} */
  let after = null
  do {
    const { items, next } = await eventually(() => reading.latest({ limit: 10_000, after }))
    for (const { value } of items) found.set(Number(value), (found.get(Number(value)) ?? 0) + 1)
    after = next
  } while (after !== null)
  return found
}
