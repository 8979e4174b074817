/**
 * Changes of a feed by event time, by polling a node: for layouts that do not keep the order of arrival.
 *
 * Each round reads again what is at most `overlapMs` older than the newest event time seen, and delivers the versions that are
 * newer than what was delivered of their id. So per id it never goes back, and it may leave out a version that has a newer one
 * by then. It misses items that arrive more than `overlapMs` behind newer ones (with ack: replica, also while a write
 * connection is reopened); in `ids` deletions, and a version equal in time and order to one delivered. After resuming from a
 * position, versions of the last `overlapMs` are delivered again. Items ahead of the clock do not move the newest event time.
 *
 * Memory: one place for each id that changed in the overlap. Reading takes at most half of the time.
 *
 * @typedef {import('../item/index.js').Place & { stamp?: number }} Place `stamp`: tells versions of one place apart, where the
 *   layout keeps them
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { checkCreation, compareOrder, createdMsOf, decodeTimes, encodeTimes } from '../item/index.js'

/** delivered ids kept before old ones are looked for */
const REMEMBERED = 1000
const PAGE = 1000

/**
 * @param {import('./queries.js').Queries} queries
 * @param {import('../feeds/index.js').Definition} definition
 * @param {import('./subscribe.js').Options} options
 * @returns {AsyncGenerator<import('./subscribe.js').Change>}
 */
export async function * subscribeToSet (queries, definition, { from, isNew, signal, pollMs, overlapMs, now, retry }) {
  const { feed, partitions } = definition
  const resumes = typeof from === 'string'
  const begin = isNew ? new Array(partitions).fill(0) : null
  const times = resumes
    ? decodeTimes(feed, from, partitions)
    : begin ?? await retry(() => newestTimes(queries, feed, partitions, now))
  if (times === null) return
  if (resumes) checkCreation(definition, from)
  const followed = times.map((newestMs, partition) => createFollowed({ queries, feed, partition, newestMs, overlapMs, now }))
  if (!resumes && !isNew) await Promise.all(followed.map((one) => retry(one.skip)))
  const position = createPositionText(definition, followed)

  while (!signal.aborted) {
    // without the consumer's time between two changes
    let readingMs = 0
    for (const one of followed) {
      for (let more = true; more && !signal.aborted;) {
        const begunMs = performance.now()
        const page = await retry(one.next)
        readingMs += performance.now() - begunMs
        if (page === null) return
        more = page.more
        for (const { id, ts, value, deleted = false } of page.items) {
          one.passed(ts)
          // copied, so a caller that keeps one value does not keep the whole reply
          const change = { id: id.toString(), ts, value: deleted ? null : Buffer.from(value), deleted, position: position() }
          yield /** @type {import('./subscribe.js').Change} */ (change)
          if (signal.aborted) return
        }
      }
    }
    await sleep(Math.max(pollMs, readingMs), undefined, { signal }).catch(() => {})
  }
}

/** @param {import('./queries.js').Queries} queries @param {string} feed @param {number} partitions @param {() => number} now */
async function newestTimes (queries, feed, partitions, now) {
  const { items: [newest] } = await queries.latest(feed, { limit: 1 })
  return new Array(partitions).fill(newest ? Math.min(newest.ts, now()) : 0)
}

/**
 * One partition.
 * @param {{ queries: import('./queries.js').Queries, feed: string, partition: number, newestMs: number, overlapMs: number,
 *   now: () => number }} parts `newestMs`: the newest event time delivered before
 */
function createFollowed ({ queries, feed, partition, newestMs, overlapMs, now }) {
  /** @type {Map<string, Place>} the newest version delivered, of ids that changed lately */
  const delivered = new Map()
  /** @type {Place | null} where this round continues */
  let place = null
  let sinceMs = 0
  /** everything of this time and older was passed on, except late items */
  let passedMs = newestMs
  let forgetAt = REMEMBERED
  /** @type {import('./queries.js').Reads | undefined} */
  let node

  /** @param {Place} version */
  const isKnown = (version) => {
    const last = delivered.get(version.id.toString('latin1'))
    return last !== undefined && (compareOrder(version, last) || (version.stamp ?? 0) - (last.stamp ?? 0)) <= 0
  }

  /** @param {Place} version @returns {boolean} whether it is newer than what was delivered */
  function deliver (version) {
    if (isKnown(version)) return false
    const { id, ts, seq, stamp } = version
    delivered.set(id.toString('latin1'), { id: Buffer.from(id), ts, seq, stamp })
    newestMs = Math.max(newestMs, Math.min(ts, now()))
    return true
  }

  /** Forgets ids that are not read again. @param {number} beforeMs */
  function forget (beforeMs) {
    for (const [name, { ts }] of delivered) if (ts < beforeMs) delivered.delete(name)
    forgetAt = 2 * delivered.size + REMEMBERED
  }

  function beginRound () {
    sinceMs = Math.max(0, newestMs - overlapMs)
    forget(sinceMs)
  }

  /** @param {(version: Place) => boolean} known */
  async function page (known) {
    if (place === null) beginRound()
    const reply = await queries.tail(feed, partition, { after: place, sinceMs, limit: PAGE, known, node })
    node = reply.node
    place = reply.next
    if (place !== null && delivered.size > forgetAt) forget(Math.min(place.ts, now()) - overlapMs)
    return reply.items
  }

  return {
    get passedMs () { return passedMs },

    /** A change of that time was passed on, after all older ones of its page. @param {number} ts */
    passed (ts) { passedMs = Math.max(passedMs, Math.min(ts, place === null ? Infinity : place.ts, now())) },

    /** The next page of this round, or the first of another; after an error it continues where it was. */
    async next () {
      const items = await page(isKnown)
      // a key may hold a newer version than the one that it was looked up for, and a page the same one twice
      return { items: items.filter(deliver), more: place !== null }
    },

    /** One round that delivers nothing: what exists already is no change. */
    async skip () {
      do {
        await page((version) => {
          deliver(version)
          return true
        })
      } while (place !== null)
    }
  }
}

/**
 * Encoded again only when a time moved.
 * @param {import('../feeds/index.js').Definition} definition
 * @param {{ passedMs: number }[]} followed
 */
function createPositionText (definition, followed) {
  /** @type {number[]} */
  let times = []
  let text = ''
  return () => {
    if (followed.some((one, i) => one.passedMs !== times[i])) {
      times = followed.map((one) => one.passedMs)
      text = encodeTimes(definition.feed, times, createdMsOf(definition))
    }
    return text
  }
}
