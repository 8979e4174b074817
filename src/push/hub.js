/**
 * Pushes the changes of one feed to all its clients, out of one view.
 *
 *     view -> changed ids, once each a tick (10 ms)  ->  streams of all ids      what stands behind their place (changes.js)
 *                                                    ->  streams of some ids     those of theirs that changed
 *                                                              |
 *                        the newest version of each, out of the view, when it is sent (delivery.js)
 *
 * Only ids are kept: a version that has a newer one by the time it would be sent is skipped, the newest never, and for an id
 * nothing goes back.
 *
 * When changes may have been missed (the view was made anew, or is another one) every client is told and gets a snapshot; so
 * is one that fell behind what is remembered. Who comes again with a position is in returning.js.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { createChanges } from './changes.js'
import { createDelivery } from './delivery.js'
import { retryAfter } from './events.js'
import { createGone, createInterests } from './interests.js'
import { createReturning } from './returning.js'

export const TICK_MS = 10
const AFTER_FAULT_MS = 1000
/** ids in lists of streams of all, together: more are not listed for who is at a point of its own */
const MOST_LISTED = 250_000
/** when streams end with the process, clients come again after up to so long, not all at once */
const RETURN_WITHIN_MS = 3000

/** @typedef {import('../view/view.js').View} View */
/** @typedef {import('./stream.js').Stream} Stream */
/** @typedef {ReturnType<typeof createHub>} Hub */

/**
 * @param {{ feed: string, watched: { view: () => View | null }, ask: Pick<import('../view/ask.js').Ask, 'ofLog'>, now: () => number,
 *   budget: import('./budget.js').Budget, counts: import('./metrics.js').Counts, log: import('pino').Logger }} parts
 */
export function createHub ({ feed, watched, ask, now, budget, counts, log }) {
  /** @type {Set<Stream>} */
  const streams = new Set()
  const interests = createInterests()
  let ofAll = 0
  /** @type {View | null} */
  let view = null
  let unwatch = () => {}
  /** it had everything at the last tick, so what changes since is noted */
  let isNoted = false
  /** changes may have been missed */
  let isAnew = false
  let generation = 0
  /** since the last tick @type {Set<string>} */
  let pending = new Set()
  /** of streams at this tick */
  let turns = streams.values()
  /** null: not all had theirs @type {number | null} */
  let turnsEndedMs = null
  /** of streams that have more to be told, over many ticks */
  let longTurns = streams.values()
  const changes = createChanges()
  const gone = createGone()
  const delivery = createDelivery({ changes, isGone: gone.has, budget, counts, log })
  let shared = delivery.share(false)
  const stop = new AbortController()
  const returning = createReturning({
    feed,
    ask,
    now,
    log,
    signal: stop.signal,
    view: () => isNoted && !isAnew ? view : null,
    generation: () => generation,
    begin (stream) {
      note()
      stream.place = changes.end
      stream.changed.clear()
    },
    tellAnew: delivery.tellAnew
  })

  const watcher = {
    /** @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd @param {boolean} isGone */
    changed (bytes, idAt, idEnd, isGone) {
      if (!isNoted) return
      const id = /** @type {Buffer} */ (bytes).toString('latin1', idAt, idEnd)
      if (ofAll === 0 && !interests.has(id)) return
      pending.add(id)
      gone.note(id, isGone)
    },
    anew () { isAnew = true }
  }

  /** Watches the view that the feed has now. @returns {View | null} one that has everything */
  function look () {
    const found = watched.view()
    if (found !== view) {
      unwatch()
      isAnew = true
      view = found
      unwatch = found === null ? () => {} : found.watch(watcher)
    }
    if (view === null || !view.isIn) {
      // what changes until it is in again is not noted
      isAnew = true
      isNoted = false
      return null
    }
    isNoted = true
    return view
  }

  /** Everybody begins again, but for who has just come. */
  function beginAnew () {
    isAnew = false
    generation++
    pending = new Set()
    changes.forget()
    delivery.forget()
    for (const stream of streams) if (!stream.isReturning && !stream.needsSnapshot) delivery.tellAnew(stream, 'anew')
  }

  /** Hands on what changed since the last time. */
  function note () {
    if (pending.size === 0) return
    const ids = pending
    pending = new Set()
    interests.note(ids)
    if (ofAll > 0) changes.add(ids)
  }

  /** When all had their turn. */
  function tidy () {
    let place = changes.end
    /** @type {Set<readonly string[]>} */
    const lists = new Set()
    const nowMs = performance.now()
    for (const stream of streams) {
      stream.measure()
      if (budget.isOver) stream.endIfStuck(nowMs)
      if (stream.ids !== null) continue
      if (!stream.needsSnapshot) place = Math.min(place, stream.place)
      if (stream.listed !== null) lists.add(stream.listed.ids)
    }
    changes.tidy(place)
    let listed = 0
    for (const ids of lists) listed += ids.length
    shared = delivery.share(listed > MOST_LISTED)
  }

  /** @returns {boolean} whether there is nothing to do until the next tick */
  function go () {
    const from = look()
    if (from === null) {
      const nowMs = performance.now()
      for (const stream of streams) delivery.keepAlive(stream, nowMs)
      return true
    }
    if (isAnew) beginAnew()
    note()
    if (turnsEndedMs === null) {
      if (!delivery.round(from, turns, { areLong: false, shared })) return false
      turnsEndedMs = performance.now()
    }
    const isDone = delivery.round(from, longTurns, { areLong: true, shared })
    if (isDone) longTurns = streams.values()
    else if (performance.now() - turnsEndedMs < TICK_MS) return false
    tidy()
    turns = streams.values()
    turnsEndedMs = null
    return isDone
  }

  async function turn () {
    while (!stop.signal.aborted) {
      let waitMs = TICK_MS
      try {
        if (!go()) waitMs = 0
      } catch (error) {
        log.error({ feed, err: error }, 'changes could not be pushed, again in a second')
        isAnew = true
        waitMs = AFTER_FAULT_MS
      }
      if (waitMs > 0) await sleep(waitMs, undefined, { signal: stop.signal }).catch(() => {})
      else await setImmediate()
    }
  }
  const turning = turn()

  return {
    get streams () { return streams.size },
    /** Whether the feed is there, as far as is known. */
    get hasView () { return watched.view() !== null },

    /** @param {Stream} stream @param {string | null} position where it goes on */
    add (stream, position) {
      streams.add(stream)
      stream.place = changes.end
      if (stream.ids === null) ofAll++
      else interests.add(stream, stream.ids)
      if (position === null) stream.needsSnapshot = true
      else returning.add(stream, position)
    },

    /** @param {Stream} stream */
    remove (stream) {
      if (!streams.delete(stream)) return
      returning.remove(stream)
      if (stream.ids !== null) interests.remove(stream, stream.ids)
      else if (--ofAll === 0) {
        // nobody hears of what changes until the next one comes
        changes.forget()
        delivery.forget()
      }
    },

    /** Ends some streams. @param {(stream: Stream) => boolean} which @param {string} why @param {string} [last] what they are told */
    end (which, why, last = '') {
      for (const stream of [...streams]) if (which(stream)) stream.end(why, last)
    },

    async close () {
      stop.abort()
      unwatch()
      for (const stream of [...streams]) stream.end('stopped', retryAfter(Math.random() * RETURN_WITHIN_MS))
      await turning
      await returning.done()
    }
  }
}
