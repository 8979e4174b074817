/**
 * Pushes the changes of one feed to all its clients, out of one view.
 *
 *     view -> changed ids, once each a tick (10 ms)  ->  streams of all ids      what came since they were last due
 *                                                    ->  streams of some ids     those of theirs that changed
 *                                                              |
 *                        the newest version of each, out of the view, when it is sent
 *
 * Only ids are kept: a version that has a newer one by the time it would be sent is skipped, the newest never, and for an id
 * nothing goes back. What is sent to streams that are at the same point is made once. A position is that of the view at the
 * tick: everything up to there was sent before it, or with it.
 *
 * When the view is made anew, or is another one, every client is told (`reset`) and gets a snapshot; so is one that fell
 * behind what is remembered.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { layoutOf } from '../layouts/index.js'
import { createEvents, heartbeat, resetEvent, retryAfter } from './events.js'
import { isReached, missedSince } from './missed.js'

export const TICK_MS = 10
const HEARTBEAT_MS = 10_000
/** so long a view that is behind a client's position is waited for */
const REACHED_WITHIN_MS = 5000
/** ids of ticks that are remembered, all together: how far a stream of all ids may be behind */
const REMEMBERED_IDS = 200_000
/** a snapshot ends with the item that reaches it */
const SNAPSHOT_BYTES = 512 * 1024
/** when streams end with the process, clients come again after up to so long, not all at once */
const RETURN_WITHIN_MS = 3000

/** @typedef {import('../view/view.js').View} View */
/** @typedef {import('./stream.js').Stream} Stream */
/** @typedef {import('./events.js').Newest} Newest */
/** @typedef {ReturnType<typeof createHub>} Hub */

/**
 * @param {{ feed: string, watched: { view: () => View | null }, ask: Pick<import('../view/ask.js').Ask, 'ofLog'>, now: () => number,
 *   counts: { events: number, bytes: number, skipped: number, resets: number }, log: import('pino').Logger }} parts
 */
export function createHub ({ feed, watched, ask, now, counts, log }) {
  /** @type {Set<Stream>} */
  const streams = new Set()
  /** @type {Map<string, Set<Stream>>} streams of some ids, by id, byte for character */
  const byId = new Map()
  let ofAll = 0
  /** @type {View | null} */
  let view = null
  /** of this tick @type {Set<string>} */
  let pending = new Set()
  /** @type {{ tick: number, ids: string[] }[]} oldest first, only those with changes */
  const recent = []
  let remembered = 0
  /** up to it ticks are forgotten */
  let forgottenTo = -1
  let tick = 0
  let isAnew = false
  let hadView = false
  const stop = new AbortController()
  /** @type {Map<string, ReturnType<typeof createEvents>>} by encoding */
  const writers = new Map()

  /** @param {string} encoding */
  function writerOf (encoding) {
    const writer = writers.get(encoding) ?? createEvents(encoding)
    writers.set(encoding, writer)
    return writer
  }

  const watcher = {
    /** @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd */
    changed (bytes, idAt, idEnd) {
      const id = /** @type {Buffer} */ (bytes).toString('latin1', idAt, idEnd)
      if (ofAll > 0 || byId.has(id)) pending.add(id)
    },
    anew () { isAnew = true }
  }

  /** Watches the view that the feed has now. @returns {View | null} one that has everything */
  function look () {
    const found = watched.view()
    if (found !== view) {
      view?.watch(null)
      if (found !== null && hadView) isAnew = true
      hadView ||= found !== null
      view = found
      view?.watch(watcher)
    }
    return view !== null && view.isIn ? view : null
  }

  /** @param {string} why */
  function resetAll (why) {
    recent.length = 0
    remembered = 0
    forgottenTo = tick
    pending = new Set()
    for (const stream of streams) if (!stream.isWaiting) tellAnew(stream, why)
  }

  /** @param {Stream} stream @param {string | null} why null: it has just come */
  function tellAnew (stream, why) {
    stream.resetWhy = why
    stream.needsSnapshot = true
  }

  function remember () {
    if (pending.size === 0) return
    const ids = [...pending]
    pending = new Set()
    for (const id of ids) {
      const those = byId.get(id)
      if (those) for (const stream of those) stream.changed.add(id)
    }
    if (ofAll === 0) return
    recent.push({ tick, ids })
    remembered += ids.length
    while (remembered > REMEMBERED_IDS && recent.length > 1) {
      const oldest = /** @type {typeof recent[0]} */ (recent.shift())
      remembered -= oldest.ids.length
      forgottenTo = oldest.tick
    }
  }

  /** ids that changed behind a tick, once each, in the order in which they changed last. @param {number} upTo @returns {Set<string>} */
  function changedSince (upTo) {
    const first = recent.findIndex((one) => one.tick > upTo)
    /** @type {Set<string>} */
    const ids = new Set()
    if (first < 0) return ids
    for (let at = first; at < recent.length; at++) {
      for (const id of recent[at].ids) {
        ids.delete(id)
        ids.add(id)
      }
    }
    return ids
  }

  /** Of these an id that is gone was deleted. @param {View} from */
  const keepsNoDeletions = (from) => !layoutOf(from.definition.layout).describe().deletionsInTail

  /** @param {View} from @param {Iterable<string>} ids @returns {Generator<[id: string, newest: Newest]>} */
  function * newestOf (from, ids) {
    for (const id of ids) {
      const newest = from.newest(Buffer.from(id, 'latin1'))
      if (newest) yield [id, newest]
      else if (keepsNoDeletions(from)) yield [id, { ts: null, value: null, deleted: true }]
    }
  }

  /** The newest items, oldest first. @param {View} from @param {Stream} stream @returns {[id: string, newest: Newest][]} */
  function snapshotOf (from, { ids, limit }) {
    /** @type {[id: string, newest: Newest][]} */
    const items = []
    let bytes = 0
    if (ids !== null) {
      for (const [id, newest] of newestOf(from, ids)) if (!newest.deleted) items.push([id, newest])
      return items.sort(([, a], [, b]) => Number(a.ts) - Number(b.ts)).slice(-limit)
    }
    if (limit > 0) {
      from.visit({ limit }, (all, idAt, idEnd, ts, _seq, valueAt, valueEnd) => {
        items.push([all.toString('latin1', idAt, idEnd), { ts, value: Buffer.from(all.subarray(valueAt, valueEnd)), deleted: false }])
        bytes += idEnd - idAt + valueEnd - valueAt
        return bytes < SNAPSHOT_BYTES
      })
    }
    return items.reverse()
  }

  /** @param {Stream} stream @param {Buffer} bytes */
  function send (stream, bytes) {
    if (bytes.length === 0) return
    stream.send(bytes)
    counts.events++
    counts.bytes += bytes.length
  }

  /** @param {View} from */
  function deliver (from) {
    const position = from.position()
    /** what streams of all at the same point get @type {Map<string, Buffer>} */
    const shared = new Map()
    for (const stream of streams) {
      if (stream.isWaiting) continue
      const isNew = stream.needsSnapshot
      if (!isNew && !stream.isDue(tick)) continue
      if (!stream.hasRoom()) {
        counts.skipped++
        continue
      }
      const writer = writerOf(stream.encoding)
      if (!isNew && stream.ids === null && stream.upTo < forgottenTo) tellAnew(stream, 'slow')
      if (stream.needsSnapshot) {
        if (stream.resetWhy !== null) {
          stream.send(resetEvent(stream.resetWhy))
          counts.resets++
        }
        send(stream, writer.items('snapshot', snapshotOf(from, stream), position))
        Object.assign(stream, { needsSnapshot: false, resetWhy: null, upTo: tick })
        stream.changed.clear()
      } else if (stream.ids !== null || stream.changed.size > 0) {
        const ids = stream.ids === null ? new Set([...stream.changed, ...changedSince(stream.upTo)]) : stream.changed
        if (ids.size > 0) send(stream, writer.items('items', newestOf(from, ids), position))
        stream.changed.clear()
        stream.upTo = tick
      } else {
        const key = `${stream.upTo} ${stream.encoding}`
        const bytes = shared.get(key) ?? writer.items('items', newestOf(from, changedSince(stream.upTo)), position)
        shared.set(key, bytes)
        send(stream, bytes)
        stream.upTo = tick
      }
      if (performance.now() - stream.sentMs > HEARTBEAT_MS) stream.send(heartbeat(position))
    }
  }

  async function turn () {
    while (!stop.signal.aborted) {
      await sleep(TICK_MS, undefined, { signal: stop.signal }).catch(() => {})
      if (stop.signal.aborted) return
      tick++
      try {
        const from = look()
        if (from === null) {
          keepAlive()
          continue
        }
        if (isAnew) {
          isAnew = false
          resetAll('anew')
        }
        remember()
        deliver(from)
      } catch (error) {
        log.error({ feed, err: error }, 'changes could not be pushed')
        isAnew = true
      }
    }
  }

  /** While there is nothing to tell. */
  function keepAlive () {
    for (const stream of streams) {
      if (performance.now() - stream.sentMs > HEARTBEAT_MS && stream.hasRoom()) stream.send(': \n\n')
    }
  }

  /** What a stream missed before it came. @param {Stream} stream @param {string} position */
  async function catchUp (stream, position) {
    stream.isWaiting = true
    const untilMs = performance.now() + REACHED_WITHIN_MS
    try {
      for (let from = look(); from === null || !isReached(from, position); from = look()) {
        if (stream.isOver || stop.signal.aborted) return
        // the place is not one of this log, or the view is far behind
        if (from !== null && performance.now() > untilMs) return tellAnew(stream, 'expired')
        await sleep(TICK_MS)
      }
      // what changes from here on is noted for it
      stream.upTo = tick
      stream.changed.clear()
      if (view === null) return
      const missed = await missedSince({ ask, view, position, ids: stream.ids, now, signal: stop.signal })
      for (const id of missed) stream.changed.add(id)
    } catch (error) {
      if (!['POSITION_EXPIRED', 'POSITION_INVALID'].includes(error.code)) log.warn({ feed, code: error.code, reason: error.message }, 'what a client missed could not be read')
      tellAnew(stream, 'expired')
    } finally {
      stream.isWaiting = false
    }
  }

  const turning = turn()

  return {
    get streams () { return streams.size },

    /** @param {Stream} stream @param {string | null} position where it goes on */
    add (stream, position) {
      streams.add(stream)
      if (stream.ids === null) ofAll++
      else {
        for (const id of stream.ids) {
          const those = byId.get(id) ?? new Set()
          those.add(stream)
          byId.set(id, those)
        }
      }
      if (position === null) tellAnew(stream, null)
      else catchUp(stream, position)
    },

    /** @param {Stream} stream */
    remove (stream) {
      if (!streams.delete(stream)) return
      if (stream.ids === null) {
        if (--ofAll === 0) {
          recent.length = 0
          remembered = 0
          forgottenTo = tick
        }
        return
      }
      for (const id of stream.ids) {
        const those = /** @type {Set<Stream>} */ (byId.get(id))
        those.delete(stream)
        if (those.size === 0) byId.delete(id)
      }
    },

    async close () {
      stop.abort()
      await turning
      view?.watch(null)
      for (const stream of [...streams]) stream.end('stopped', retryAfter(Math.random() * RETURN_WITHIN_MS))
    }
  }
}
