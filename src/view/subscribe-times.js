/**
 * Changes of a feed by event time, by asking a node again and again: for layouts that keep no order of arrival.
 *
 * Each round reads again what is at most `overlapMs` older than the newest event time seen, and delivers the versions
 * that are newer than what was delivered of their id. So per id it never goes back, and a version that has a newer one by
 * then may be left out. What it cannot see: an item that arrives more than `overlapMs` behind newer ones (with ack:
 * replica, also for as long as one of the writer's connections is being opened again); in `ids` deletions, and a version
 * that is equal in time and order to one delivered. After going on from a position, versions of the last `overlapMs`
 * come again. Time ahead of the clock does not move the place to read from.
 *
 * Memory: one place for each id that changed in the overlap. Asking takes no more than half of the time.
 *
 * @typedef {import('../item/order.js').Place & { stamp?: number }} Place `stamp`: tells versions of one place apart, where the
 *   layout keeps them
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { compareOrder } from '../item/order.js'
import { checkCreation, createdMsOf, decodeTimes, encodeTimes } from '../item/position.js'

/** ids remembered before it is looked which can be forgotten */
const REMEMBERED = 1000
const PAGE = 1000

/**
 * @param {import('./ask.js').Ask} ask
 * @param {import('../feeds/definitions.js').Definition} definition
 * @param {import('./subscribe.js').Following} options
 * @returns {AsyncGenerator<import('./subscribe.js').Change>}
 */
export async function * subscribeByTime (ask, definition, { from, signal, pollMs, overlapMs, now, patiently }) {
  const { feed, partitions } = definition
  const goesOn = typeof from === 'string'
  const times = goesOn ? decodeTimes(feed, from, partitions) : await patiently(() => newestTimes(ask, feed, partitions, now))
  if (times === null) return
  if (goesOn) checkCreation(definition, from)
  const followed = times.map((newestMs, partition) => createFollowed({ ask, feed, partition, newestMs, overlapMs, now }))
  if (!goesOn) await Promise.all(followed.map((one) => patiently(one.passOver)))
  const position = createPositionText(definition, followed)

  while (!signal.aborted) {
    // the consumer's time between two changes is its own
    let askingMs = 0
    for (const one of followed) {
      for (let more = true; more && !signal.aborted;) {
        const begunMs = performance.now()
        const page = await patiently(one.next)
        askingMs += performance.now() - begunMs
        if (page === null) return
        more = page.more
        for (const { id, ts, value, deleted } of page.items) {
          one.pass(ts)
          // copied: a caller that keeps one value would keep what else came with it
          yield /** @type {import('./subscribe.js').Change} */ ({ id: id.toString(), ts, value: deleted ? null : Buffer.from(value), deleted: deleted ?? false, position: position() })
          if (signal.aborted) return
        }
      }
    }
    await sleep(Math.max(pollMs, askingMs), undefined, { signal }).catch(() => {})
  }
}

/** @param {import('./ask.js').Ask} ask @param {string} feed @param {number} partitions @param {() => number} now */
async function newestTimes (ask, feed, partitions, now) {
  const { items: [newest] } = await ask.latest(feed, { limit: 1 })
  return new Array(partitions).fill(newest ? Math.min(newest.ts, now()) : 0)
}

/**
 * @param {{ ask: import('./ask.js').Ask, feed: string, partition: number, newestMs: number, overlapMs: number,
 *   now: () => number }} parts `newestMs`: the newest event time delivered before
 */
function createFollowed ({ ask, feed, partition, newestMs, overlapMs, now }) {
  /** @type {Map<string, Place>} the newest version delivered of ids that changed lately */
  const delivered = new Map()
  /** @type {Place | null} where this round goes on */
  let place = null
  let sinceMs = 0
  /** everything of this time and older was passed on, but for what is late */
  let passedMs = newestMs
  let forgetAt = REMEMBERED
  /** @type {import('../store/connection.js').Connection | undefined} */
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

  /** What will not be met again. @param {number} beforeMs */
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
    const answer = await ask.tail(feed, partition, { after: place, sinceMs, limit: PAGE, known, node })
    node = answer.node
    place = answer.next
    if (place !== null && delivered.size > forgetAt) forget(Math.min(place.ts, now()) - overlapMs)
    return answer.items
  }

  return {
    get passedMs () { return passedMs },

    /** A change of that time is passed on; older ones of this page were, later pages are to come. @param {number} ts */
    pass (ts) { passedMs = Math.max(passedMs, Math.min(ts, place === null ? Infinity : place.ts, now())) },

    /** The next page of this round, or the first of another; asked again after an error, it goes on where it was. */
    async next () {
      const items = await page(isKnown)
      // a key may tell of a version that is newer than the one it was looked up for, and twice in a page
      return { items: items.filter(deliver), more: place !== null }
    },

    /** One round that delivers nothing: what is there already is no change. */
    async passOver () {
      do {
        await page((version) => {
          deliver(version)
          return true
        })
      } while (place !== null)
    }
  }
}

/** Made again only when a time moved. @param {import('../feeds/definitions.js').Definition} definition @param {{ passedMs: number }[]} followed */
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
