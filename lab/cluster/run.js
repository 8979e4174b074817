/**
 * A writer and a subscriber over a cluster or Sentinels, with the ledger of what was acknowledged: for experiments and tests that kill
 * nodes and move slots under them.
 *
 * Log layouts get 500 ids, each in many versions, which are delivered once and in order; the others an id for each item.
 */
import pino from 'pino'
import { openFeed, openReader } from '../../src/index.js'
import { layoutOf } from '../../src/layouts/index.js'
import { untilDue } from '../systems/pace.js'
import { until } from './until.js'

const CHUNK = 50
const IDS = 500
const SILENT = pino({ level: 'silent' })
/** what a busy machine may need; only a failure takes as long */
const PATIENT = { deadlineMs: 60_000 }

/** @template T @param {() => T | Promise<T>} check @param {number} [deadlineMs] */
const eventually = (check, deadlineMs = PATIENT.deadlineMs) => until(check, { deadlineMs })

/**
 * @param {{ redisUrl: string, name?: string, keyPrefix?: string, layout: any, partitions?: number, ack?: any, everyMs?: number,
 *   chunkItems?: number, windowMs?: number, inFlightBytes?: number, deadlineMs?: number, settledWithinMs?: number,
 *   batchMs?: number, pollMs?: number, maxItems?: number, log?: import('pino').Logger }} options `everyMs`: between the times at which two
 *   chunks of items are due; 0 = as fast as it goes; `settledWithinMs`: after this time without a delivery, what is missing at its end
 *   counts as lost; `pollMs`: of the subscriber
 */
export async function openRun ({
  redisUrl, name = 'run', keyPrefix, layout, partitions = 6, ack = 'replica', everyMs = 10, chunkItems = CHUNK, windowMs = 600_000,
  inFlightBytes = 4 * 1024 * 1024, deadlineMs = 1000, settledWithinMs = PATIENT.deadlineMs, batchMs, pollMs = 20, maxItems, log = SILENT
}) {
  const common = { redisUrl, log, deadlineMs, ...(keyPrefix && { keyPrefix }) }
  const chosen = { ...(batchMs && { batchMs }), ...(maxItems !== undefined && { maxItems }) }
  const options = { ...common, ...chosen, layout, partitions, ack, windowMs, inFlightBytes }
  // a busy machine may not answer within the deadline
  const [feed, reader] = [await eventually(() => openFeed(name, options)), await eventually(() => openReader(common))]
  const isLog = layoutOf(layout).log !== undefined
  const idOf = (/** @type {number} */ n) => `id-${isLog ? n % IDS : n}`
  const writing = new AbortController()
  /** @type {Set<number>} */
  const acknowledged = new Set()
  /** of each chunk: when it was acknowledged, and how long that took @type {{ atMs: number, ms: number, items: number }[]} */
  const chunks = []
  /** @type {Error | null} */
  let failure = null
  let next = 0

  feed.append({ id: idOf(next), value: String(next++) })
  await feed.flush(PATIENT)
  const subscriber = subscribe(reader.feed(name), { isLog, pollMs })
  const { delivered, deliveredMs } = subscriber

  // what is appended before the subscription begins is not delivered
  await eventually(() => {
    if (delivered.size === 0) feed.append({ id: idOf(next), value: String(next++) })
    return delivered.size > 0
  })
  await feed.flush(PATIENT)
  const first = next

  let dueMs = performance.now()
  const written = (async () => {
    for (; !writing.signal.aborted; dueMs += everyMs) {
      const [from, sentMs] = [next, performance.now()]
      for (; next < from + chunkItems; next++) feed.append({ id: idOf(next), value: String(next) })
      const end = next
      feed.acknowledged({ deadlineMs: Infinity }).then(() => {
        for (let n = from; n < end; n++) acknowledged.add(n)
        const atMs = performance.now()
        chunks.push({ atMs, ms: atMs - sentMs, items: end - from })
      }, () => {})
      await feed.ready({ deadlineMs: Infinity })
      await untilDue(dueMs + everyMs)
    }
  })().catch((error) => { failure ??= error })

  return {
    feed,
    reader: reader.feed(name),
    delivered,
    deliveredMs,
    acknowledged,
    chunks,
    get next () { return next },
    /** Chunks are due at other times from now on. @param {number} ms as `everyMs` */
    pace (ms) { [everyMs, dueMs] = [ms, performance.now()] },
    /** Longest time without a delivered item. @param {number} sinceMs */
    longestPauseMs: (sinceMs) => longestPause([sinceMs, ...deliveredMs.filter((ms) => ms >= sinceMs)]),
    /** Resolves when so many more items are acknowledged. @param {number} count */
    async goOn (count) {
      const { size } = acknowledged
      await eventually(() => acknowledged.size >= size + count)
    },
    /**
     * Ends it and compares. `kept`, when items of layout `ids` are lost: how many of them the primary has, so that only the reader lacks
     * them.
     */
    async end () {
      writing.abort()
      await written
      await feed.flush(PATIENT)
      await eventually(() => acknowledged.size === next - first)
      if (isLog) await allDelivered(acknowledged, delivered, settledWithinMs)
      await subscriber.stop()
      const stored = isLog ? delivered : await allOf(reader.feed(name), next, settledWithinMs)
      const lost = [...acknowledged].filter((n) => !stored.has(n))
      const { dropped, failed, refused } = feed.account
      return {
        failure: failure ?? subscriber.failure,
        lost,
        ...(lost.length > 0 && layout === 'ids' && { kept: await keptBy(common, name, lost) }),
        twice: [...stored.values()].filter((times) => times > 1).length,
        disordered: subscriber.disordered,
        account: { dropped, failed, refused: { ...refused } }
      }
    },
    async close () {
      writing.abort()
      subscriber.stop()
      await Promise.all([feed.close({ drainMs: 0 }).catch(() => {}), reader.close()])
    }
  }
}

/** @param {import('../../src/reading.js').Reading} reading @param {{ isLog: boolean, pollMs: number }} options */
function subscribe (reading, { isLog, pollMs }) {
  const stopping = new AbortController()
  /** how often each item was delivered @type {Map<number, number>} */
  const delivered = new Map()
  /** when it was delivered first, by item @type {number[]} */
  const deliveredMs = []
  /** the last one delivered, by id @type {Map<string, number>} */
  const last = new Map()
  let disordered = 0
  /** @type {Error | null} */
  let failure = null
  const ended = (async () => {
    for await (const { id, value } of reading.subscribe({ pollMs, signal: stopping.signal })) {
      const n = Number(value)
      if (isLog && n < (last.get(id) ?? 0)) disordered++
      last.set(id, n)
      delivered.set(n, (delivered.get(n) ?? 0) + 1)
      deliveredMs[n] ??= performance.now()
    }
  })().catch((error) => { failure ??= error })

  return {
    delivered,
    deliveredMs,
    get disordered () { return disordered },
    get failure () { return failure },
    stop () {
      stopping.abort()
      return ended
    }
  }
}

/**
 * Waits for what was acknowledged. A subscriber that is slower than the writer is late, not at a loss, as long as anything comes.
 * @param {Set<number>} acknowledged @param {Map<number, number>} delivered @param {number} withinMs from one delivery to the next
 */
async function allDelivered (acknowledged, delivered, withinMs) {
  const isWhole = () => [...acknowledged].every((n) => delivered.has(n))
  let [size, sinceMs] = [delivered.size, performance.now()]
  await eventually(() => {
    const nowMs = performance.now()
    if (delivered.size > size) [size, sinceMs] = [delivered.size, nowMs]
    return isWhole() || nowMs - sinceMs > withinMs
  }, Infinity)
}

/** Longest gap between consecutive times, in whole ms. @param {number[]} times */
function longestPause (times) {
  times.sort((a, b) => a - b)
  return Math.round(times.reduce((longest, ms, i) => Math.max(longest, ms - (times[i - 1] ?? ms)), 0))
}

/** What a run must end with. */
export const WHOLE = { failure: null, lost: [], twice: 0, disordered: 0, account: { dropped: 0, failed: 0, refused: {} } }

/**
 * How many of the items the primary has.
 * @param {Parameters<typeof openReader>[0]} common @param {string} name @param {number[]} items
 */
async function keptBy (common, name, items) {
  const reader = await eventually(() => openReader({ ...common, readFrom: 'primary', views: 'none' }))
  try {
    const found = await pagesOf(reader.feed(name))
    return items.filter((n) => found.has(n)).length
  } finally {
    await reader.close()
  }
}

/**
 * How often each item is stored, read by pages once the replicas have all of them.
 * @param {import('../../src/reading.js').Reading} reading @param {number} count @param {number} withinMs
 */
async function allOf (reading, count, withinMs) {
  await eventually(async () => (await reading.count()).count >= count, withinMs).catch(() => {})
  return pagesOf(reading)
}

/** @param {import('../../src/reading.js').Reading} reading */
async function pagesOf (reading) {
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
