/**
 * Pushes the changes of one feed to all of its clients, from one view.
 *
 *     view -> changed ids, at most every 10 ms    ->  streams of all ids      changes after their sequence number (changes.js)
 *                                                 ->  streams of some ids     those of their ids that changed
 *                                                            |
 *                        the newest version of each, from the view, when it is sent (delivery.js)
 *
 * Only ids are kept. A version that has a newer one by the time it would be sent is skipped; the newest version is never
 * skipped, and no id goes back.
 *
 * When changes may have been missed (the view was rebuilt or replaced), every stream is reset and gets a snapshot; so does a
 * stream that falls too far behind. Streams with a position resume (resume.js). Streams that want no items in their snapshot get all
 * changes since the head of their response: after a reset, they resume from their position.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createChanges } from './changes.js'
import { createDelivery, keepAlive, reset } from './delivery.js'
import { emptySnapshot, resetEvent } from './events.js'
import { createResuming } from './resume.js'
import { createDeletedIds, createSubscribers } from './subscribers.js'
import { TICK_MS, createTicks } from './ticks.js'
import { watchView } from './view-watch.js'

/** Time between two looks at all streams while nothing changes, and at their sockets unless too many bytes wait in them. */
const TIDY_EVERY_MS = 100
/** Longest wait of a stream without a first snapshot for a view that is being built. */
const FOLLOWING_WITHIN_MS = 5000
/** Most ids in the lists of streams of all ids together; beyond it streams at a point of their own are reset. */
const MAX_LISTED_IDS = 250_000

/** @typedef {import('./stream.js').Stream} Stream */
/** @typedef {ReturnType<typeof createHub>} Hub */

/**
 * @param {{ feed: string, watched: { view: () => import('../view/index.js').View | null },
 *   queries: Pick<import('../view/index.js').Queries, 'ofLog'>, now: () => number,
 *   budget: import('./budget.js').Budget, counts: import('./metrics.js').Counts, log: import('pino').Logger }} parts
 */
export function createHub ({ feed, watched, queries, now, budget, counts, log }) {
  /** @type {Set<Stream>} */
  const streams = new Set()
  const subscribers = createSubscribers()
  const deleted = createDeletedIds()
  const changes = createChanges()
  const delivery = createDelivery({ changes, isDeleted: deleted.has, budget, counts, log })
  const stop = new AbortController()
  let viewVersion = 0
  const ticks = createTicks()
  const watch = watchView({ view: watched.view, isWanted: subscribers.want, onChanged: ticks.soon, onDeleted: deleted.note })
  /** @param {Stream} stream */
  function begin (stream) {
    noteChanges()
    stream.seq = changes.end
    stream.changed.clear()
  }
  const resuming = createResuming({
    feed, queries, now, log, signal: stop.signal, view: () => watch.continuous, viewVersion: () => viewVersion, begin
  })
  const turns = createTurns({ streams, changes, delivery, budget })
  const running = ticks.run(tick, stop.signal, (error) => {
    log.error({ feed, err: error }, 'pushing changes failed, retrying')
    watch.interrupt()
  })

  function noteChanges () {
    const ids = watch.take()
    if (ids.size === 0) return
    turns.begin()
    subscribers.notify(ids)
    if (subscribers.ofAll > 0) changes.add(ids)
  }

  /** Changes were missed: resets all streams except new ones. */
  function resetAll () {
    viewVersion++
    turns.begin()
    changes.clear()
    delivery.clear()
    for (const stream of streams) {
      if (!stream.isResuming && (!stream.needsSnapshot || stream.isFromHead)) resetRebuilt(stream, { resuming, counts })
    }
  }

  /** @returns {number} ms until the next tick is needed even if nothing changes */
  function tick () {
    const view = watch.check()
    if (view === null) {
      for (const stream of streams) keepAlive(stream, performance.now())
      return TICK_MS
    }
    if (watch.restart()) resetAll()
    noteChanges()
    return turns.advance(view)
  }

  return {
    get streams () { return streams.size },
    /** Whether the feed exists, as far as is known. */
    get hasView () { return watched.view() !== null },

    /** Resolves when changes are noted, or after a few seconds. */
    isFollowing: () => isContinuous(watch, stop.signal),
    /** @param {Stream} stream @param {string | null} position from which it resumes @param {boolean} [isInvalid] it sent what is none */
    add (stream, position, isInvalid = false) {
      streams.add(stream)
      stream.seq = changes.end
      subscribers.add(stream)
      stream.position = position ?? watch.continuous?.position() ?? null
      if (position === null) beginFresh(stream, { isNoted: watch.continuous !== null, isInvalid })
      else resuming.add(stream, position)
      turns.begin()
      ticks.soon()
    },

    /** @param {Stream} stream */
    remove (stream) {
      if (!streams.delete(stream)) return
      resuming.remove(stream)
      subscribers.remove(stream)
      turns.remove(stream)
      if (stream.ids !== null || subscribers.ofAll > 0) return
      // until the next stream of all ids comes, changes are not noted
      changes.clear()
      delivery.clear()
    },

    /** To be called when its streams have ended. */
    async close () {
      stop.abort()
      watch.close()
      await Promise.all([running, resuming.done()])
    }
  }
}

/**
 * Of a stream without items in its snapshot, all changes since its position follow.
 * @param {Stream} stream
 * @param {{ resuming: ReturnType<typeof createResuming>, counts: import('./metrics.js').Counts }} parts
 */
function resetRebuilt (stream, { resuming, counts }) {
  const { limit, position } = stream
  if (limit > 0 || position === null) return reset(stream, 'rebuilt')
  stream.send(resetEvent('rebuilt'))
  stream.send(emptySnapshot(position))
  counts.resets++
  Object.assign(stream, { needsSnapshot: false, isFromHead: false, list: null })
  resuming.add(stream, position)
}

/** @param {ReturnType<typeof watchView>} watch @param {AbortSignal} signal */
async function isContinuous (watch, signal) {
  const untilMs = performance.now() + FOLLOWING_WITHIN_MS
  while (watch.continuous === null && performance.now() < untilMs && !signal.aborted) await sleep(TICK_MS)
}

/** @param {Stream} stream @param {{ isNoted: boolean, isInvalid: boolean }} state `isNoted`: changes are */
function beginFresh (stream, { isNoted, isInvalid }) {
  stream.needsSnapshot = true
  stream.isFromHead = stream.limit === 0 && isNoted && !stream.isFirst
  if (stream.isFirst) return
  if (isInvalid) stream.resetReason = 'invalid'
  else if (stream.limit === 0 && !isNoted) stream.resetReason = 'unknown'
}

/**
 * Turns of streams: those that lack recent changes once per tick; long deliveries over many ticks. After changes all streams have a
 * turn, then those that still lack something (not due, no room, a long delivery) until they lack nothing.
 * @param {{ streams: Set<Stream>, changes: import('./changes.js').Changes, delivery: ReturnType<typeof createDelivery>,
 *   budget: import('./budget.js').Budget }} parts
 */
function createTurns ({ streams, changes, delivery, budget }) {
  /** @type {Set<Stream>} */
  const lacking = new Set()
  /** Streams of this turn that were not served yet; null: the next turn begins. @type {Iterator<Stream> | null} */
  let recent = null
  let long = lacking.values()
  /** When all of them had been served; null: not all have been yet. @type {number | null} */
  let recentEndedMs = null
  /** Whether all streams have a turn next, because there are changes, or to send heartbeats. */
  let isForAll = true
  /** when they last had one, and the changes then: streams that are not in `lacking` have these */
  let [begunMs, begunSeq] = [-Infinity, changes.end]
  let isFull = false
  let shared = delivery.share(isFull)
  let tidiedMs = -Infinity
  /** All streams have the changes up to here. */
  let seq = changes.end

  /** The streams that have a turn now. @param {number} nowMs */
  function next (nowMs) {
    const isAll = isForAll || nowMs - begunMs >= TIDY_EVERY_MS
    if (isAll) [isForAll, begunMs, begunSeq] = [false, nowMs, changes.end]
    return isAll ? streams : lacking
  }

  /** Measures sockets, counts listed ids, and looks which changes all streams have. @param {number} nowMs */
  function tidy (nowMs) {
    tidiedMs = nowMs
    seq = begunSeq
    /** @type {Set<readonly string[]>} */
    const lists = new Set()
    for (const stream of budget.waiting > 0 ? streams : lacking) {
      stream.measure()
      stream.endIfStuck(nowMs)
      if (stream.ids !== null) continue
      if (!stream.needsSnapshot || stream.isFromHead) seq = Math.min(seq, stream.seq)
      if (stream.list !== null) lists.add(stream.list.ids)
    }
    let listed = 0
    for (const ids of lists) listed += ids.length
    isFull = listed > MAX_LISTED_IDS
  }

  return {
    /** @param {import('../view/index.js').View} view @returns {number} ms until there is more to do, unless something changes */
    advance (view) {
      if (recentEndedMs === null) {
        const due = recent === null ? next(performance.now()) : null
        if (due?.size === 0) return TIDY_EVERY_MS
        recent ??= /** @type {Set<Stream>} */ (due).values()
        if (!delivery.round(view, recent, { isLong: false, shared, lacking })) return 0
        recentEndedMs = performance.now()
      }
      const isDone = lacking.size === 0 || delivery.round(view, long, { isLong: true, shared, lacking })
      if (isDone) long = lacking.values()
      else if (performance.now() - recentEndedMs < TICK_MS) return 0
      const nowMs = performance.now()
      if (nowMs - tidiedMs >= TIDY_EVERY_MS || isFull || budget.isOver) tidy(nowMs)
      changes.trim(seq)
      shared = delivery.share(isFull)
      recent = recentEndedMs = null
      if (!isDone) return 0
      return lacking.size > 0 ? TICK_MS : TIDY_EVERY_MS
    },

    /** All streams have a turn: something changed. */
    begin () { isForAll = true },

    /** @param {Stream} stream */
    remove (stream) { lacking.delete(stream) }
  }
}
