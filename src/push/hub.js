/**
 * Pushes the changes of one feed to all of its clients, from one view.
 *
 *     view, or what changed lately (src/view/recent.js)
 *          -> changed ids, at most every 10 ms    ->  streams of all ids      changes after their sequence number (changes.js)
 *                                                 ->  streams of some ids     those of their ids that changed (subscribers.js)
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
import { FreshetError } from '../errors.js'
import { createChanges, watchView } from './changes.js'
import { createDelivery, reset, resetRebuilt, SMALL_LIST_IDS } from './delivery.js'
import { createLookUps } from './looked-up.js'
import { Reached } from './positions.js'
import { createResuming } from './resume.js'
import { createDeletedIds, createSubscribers } from './subscribers.js'
import { createTicks, createViewers, TICK_MS } from './viewers.js'

/** Time between two turns of all streams while nothing changes. */
const IDLE_MS = 100
/** Longest wait of a stream without a first snapshot for a view that is being built. */
const FOLLOWING_WITHIN_MS = 5000
/** Most ids in the lists of streams of all ids together; beyond it streams at a point of their own are reset. */
const MAX_LISTED_IDS = 250_000

/** @typedef {import('./stream.js').Viewer} Stream */
/** @typedef {import('../view/index.js').View | import('../view/index.js').Recent} View without a view: what changed lately */
/** @typedef {ReturnType<typeof createHub>} Hub */
/** @typedef {{ hub: Hub, watched: { view: () => View | null, release: () => void } }} Followed */

/**
 * @param {{ feed: string, watched: { view: () => View | null }, queries: import('./index.js').PushQueries, now: () => number,
 *   budget: import('./caps.js').Budget, counts: import('./metrics.js').Counts, log: import('pino').Logger,
 *   ticks?: import('./viewers.js').Ticks }} parts
 */
export function createHub ({ feed, watched, queries, now, budget, counts, log, ticks = createTicks() }) {
  const subscribers = createSubscribers()
  const deleted = createDeletedIds()
  const changes = createChanges()
  const stop = new AbortController()
  let viewVersion = 0
  const lookUps = createLookUps({ changes, queries, viewVersion: () => viewVersion, log, resets: () => ({ resuming, counts }) })
  const delivery = createDelivery({ changes, isDeleted: deleted.has, budget, counts, lookUps })
  const watch = watchView({
    view: watched.view, isNeeded: subscribers.needs, onChanged: () => viewers.soon(), onDeleted: deleted.note
  })
  const encoder = encoderOf({ changes, delivery, refresh })
  /** @param {Error} error */
  function onError (error) {
    log.error({ feed, err: error }, 'pushing changes failed, retrying')
    watch.interrupt()
  }
  const viewers = createViewers({ encoder, ticks, budget, log, onError })
  /** @param {Stream} stream */
  function begin (stream) {
    noteChanges()
    stream.seq = changes.end
    stream.changed.clear()
  }
  const resuming = createResuming({
    feed, queries, now, log, signal: stop.signal, view: () => watch.continuous, viewVersion: () => viewVersion, begin
  })

  function noteChanges () {
    const ids = watch.take()
    if (ids.size === 0) return
    viewers.begin()
    subscribers.notify(ids)
    if (subscribers.ofAll > 0) changes.add(ids)
  }

  /** Changes were missed: resets all streams except new ones. */
  function resetAll () {
    viewVersion++
    viewers.begin()
    changes.clear()
    delivery.clear()
    for (const stream of viewers.all()) {
      if (!stream.isResuming && (!stream.needsSnapshot || stream.isFromHead)) resetRebuilt(stream, { resuming, counts })
    }
  }

  /** @returns {View | null} null: none is complete */
  function refresh () {
    const view = watch.check()
    if (view === null) return null
    if (watch.restart()) resetAll()
    noteChanges()
    return view
  }

  return {
    get streams () { return viewers.size },
    /** Whether the feed exists, as far as is known. */
    get hasView () { return watched.view() !== null },

    /** Resolves when changes are noted, or after a few seconds. */
    isFollowing: () => isContinuous(watch, stop.signal),
    /** @param {Stream} stream @param {string | null} position from which it resumes @param {boolean} [isInvalid] it sent what is none */
    add (stream, position, isInvalid = false) {
      stream.seq = changes.end
      subscribers.add(stream)
      const from = position ?? (isInvalid || stream.isFirst ? null : stream.start)
      // what precedes its start was not sent, nor what its first snapshot has: it is set when that is found, or was sent
      const isHead = from === null && !stream.isFirst
      const at = position ?? (isHead ? watch.continuous?.takePosition()() ?? null : null)
      stream.reached = at === null ? null : { position: at }
      if (from === null) beginFresh(stream, { isNoted: watch.continuous !== null, isInvalid })
      else resuming.add(stream, from)
      viewers.add(stream)
    },

    /** @param {Stream} stream */
    remove (stream) {
      if (!viewers.remove(stream)) return
      resuming.remove(stream)
      subscribers.remove(stream)
      if (stream.ids !== null || subscribers.ofAll > 0) return
      // until the next stream of all ids comes, changes are not noted
      changes.clear()
      delivery.clear()
    },

    /** To be called when its streams have ended. */
    async close () {
      stop.abort()
      viewers.close()
      watch.close()
      await resuming.done()
    }
  }
}

/**
 * What streams of a feed are sent.
 * @param {{ changes: import('./changes.js').Changes, delivery: ReturnType<typeof createDelivery>, refresh: () => View | null }} parts
 * @returns {import('./viewers.js').Encoder<import('./delivery.js').Round>}
 */
function encoderOf ({ changes, delivery, refresh }) {
  /** @type {View | null} */
  let view = null
  /** The changes when the last turn of all streams began: those that lack nothing have them. */
  let begunSeq = changes.end
  /** All streams have the changes up to here. */
  let seq = changes.end
  let isFull = false
  let shared = delivery.share(isFull)

  return {
    idleMs: IDLE_MS,
    refresh: () => (view = refresh()) !== null,
    round (nowMs) {
      const current = /** @type {View} */ (view)
      return { view: current, reached: new Reached(current.takePosition()), nowMs, ...shared }
    },
    serve: (stream, round) => delivery.serve(round, stream),
    lacks: delivery.lacks,
    isLong: delivery.isLong,
    begun () { begunSeq = changes.end },

    /** Counts listed ids, and looks which changes all streams have. */
    tidied (streams) {
      seq = begunSeq
      /** @type {Set<readonly string[]>} */
      const lists = new Set()
      let owned = 0
      for (const stream of streams) {
        if (stream.beginnings.length > 0) owned += stream.changed.size
        if (stream.ids !== null) continue
        if (!stream.needsSnapshot || stream.isFromHead) seq = Math.min(seq, stream.seq)
        if (stream.list !== null) lists.add(stream.list.ids)
      }
      let listed = 0
      for (const ids of lists) listed += ids.length
      if (owned > MAX_LISTED_IDS) resetBeginnings(streams)
      isFull = listed > MAX_LISTED_IDS
      return isFull
    },

    turned () {
      changes.trim(seq)
      shared = delivery.share(isFull)
    }
  }
}

/**
 * Streams of beginnings of ids that are far behind, each at a point of its own.
 * @param {Iterable<Stream>} streams
 */
function resetBeginnings (streams) {
  for (const stream of streams) {
    if (stream.beginnings.length === 0 || stream.changed.size <= SMALL_LIST_IDS || stream.isResuming) continue
    stream.changed.clear()
    reset(stream, 'slow')
  }
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
 * The hubs of the feeds that clients follow, one per feed.
 * @param {{ queries: import('./index.js').PushQueries, now: () => number, budget: import('./caps.js').Budget,
 *   counts: import('./metrics.js').Counts, log: import('pino').Logger, lingerMs: number, ticks: import('./viewers.js').Ticks }} parts
 *   `lingerMs`: how long a hub without streams and its view are kept, since disconnected clients come back
 */
export function createHubs ({ lingerMs, ...parts }) {
  const { queries } = parts
  /** @type {Map<string, Promise<Followed>>} */
  const followed = new Map()
  /** When hubs of feeds without streams end. @type {Map<string, NodeJS.Timeout>} */
  const lingering = new Map()
  let isClosed = false

  function throwIfClosed () {
    if (isClosed) throw new FreshetError('OVERLOADED', 'this reader is stopping; try again, or use another one')
  }

  /** @param {string} feed @returns {Promise<Followed>} */
  async function open (feed) {
    const watched = await queries.watch(feed)
    try {
      throwIfClosed()
    } catch (error) {
      watched.release()
      throw error
    }
    return { watched, hub: createHub({ ...parts, feed, watched }) }
  }

  /** @param {Followed} followedFeed */
  async function release ({ hub, watched }) {
    await hub.close()
    watched.release()
  }

  return {
    throwIfClosed,

    /** @param {string} feed @returns {Promise<Followed | null | undefined>} undefined: no hub; null: it did not open */
    async get (feed) { return followed.get(feed)?.catch(() => null) },

    /** @param {string} feed @returns {Promise<Followed>} */
    follow (feed) {
      throwIfClosed()
      clearTimeout(lingering.get(feed))
      lingering.delete(feed)
      const existing = followed.get(feed)
      if (existing) return existing
      const opening = open(feed)
      followed.set(feed, opening)
      opening.catch(() => followed.delete(feed))
      return opening
    },

    /** @param {string} feed @param {Followed} followedFeed */
    lingerIfEmpty (feed, followedFeed) {
      if (followedFeed.hub.streams > 0 || isClosed || lingering.has(feed)) return
      lingering.set(feed, setTimeout(() => {
        lingering.delete(feed)
        if (followedFeed.hub.streams > 0) return
        followed.delete(feed)
        release(followedFeed)
      }, lingerMs).unref())
    },

    /** To be called when all streams have ended. */
    async close () {
      isClosed = true
      for (const timer of lingering.values()) clearTimeout(timer)
      const released = [...followed.values()].map((opening) => opening.then(release, () => {}))
      followed.clear()
      await Promise.all(released)
    }
  }
}
