/**
 * Gives streams what they are due: a snapshot, or the newest version of each id that changed. What is sent to streams that
 * are at the same point is made once a round.
 */
import { layoutOf } from '../layouts/index.js'
import { EMPTY_HEARTBEAT, createEvents, heartbeat, resetEvent } from './events.js'

const HEARTBEAT_MS = 10_000
/** a snapshot ends with the item that reaches it: values count as they are stored */
const SNAPSHOT_BYTES = 512 * 1024

/** @typedef {import('../view/view.js').View} View */
/** @typedef {import('./stream.js').Stream} Stream */
/** @typedef {import('./events.js').Newest} Newest */
/** @typedef {{ view: View, position: string, nowMs: number, snapshots: Map<string, Buffer>, chunks: Map<readonly string[], Map<string, { bytes: Buffer, next: number }>> }} Round */

/**
 * @param {{ streams: ReadonlySet<Stream>, changes: import('./changes.js').Changes, budget: import('./budget.js').Budget,
 *   counts: import('./metrics.js').Counts }} parts
 */
export function createDelivery ({ streams, changes, budget, counts }) {
  /** @type {Map<string, import('./events.js').Events>} by encoding */
  const writers = new Map()

  /** @param {string} encoding */
  function writerOf (encoding) {
    const writer = writers.get(encoding) ?? createEvents(encoding)
    writers.set(encoding, writer)
    return writer
  }

  /** @param {Stream} stream @param {string} why */
  function tellAnew (stream, why) {
    Object.assign(stream, { resetWhy: why, needsSnapshot: true, rest: null })
  }

  /** @param {Stream} stream @param {Buffer} bytes */
  function send (stream, bytes) {
    stream.send(bytes)
    counts.events++
    counts.bytes += bytes.length
  }

  /** The newest of all, oldest first, as one event. @param {Round} round @param {number} limit @param {string} encoding */
  function snapshotOfAll ({ view, position, snapshots }, limit, encoding) {
    const name = `${limit} ${encoding}`
    const known = snapshots.get(name)
    if (known) return known
    const items = newestItems(view, limit)
    const { bytes } = writerOf(encoding).event('snapshot', [...items.keys()], {
      at: 0, maxBytes: Infinity, position, newestOf: (id) => /** @type {Newest} */ (items.get(id))
    })
    snapshots.set(name, bytes)
    return bytes
  }

  /** @param {Round} round @param {Stream} stream */
  function beginWithSnapshot (round, stream) {
    if (stream.resetWhy !== null) {
      stream.send(resetEvent(stream.resetWhy))
      counts.resets++
    }
    const { ids, limit, encoding } = stream
    stream.changed.clear()
    Object.assign(stream, { needsSnapshot: false, resetWhy: null, rest: null, upTo: changes.step, deliveredMs: round.nowMs })
    if (ids === null) send(stream, snapshotOfAll(round, limit, encoding))
    else stream.rest = { name: 'snapshot', ids: newestOfThose(round.view, ids, limit), at: 0, position: round.position }
  }

  /** What it is sent next. @param {Stream} stream @param {string} position @returns {import('./stream.js').Rest | null} */
  function restOf (stream, position) {
    /** @type {readonly string[]} */
    let ids
    if (stream.ids === null) {
      ids = changes.since(stream.upTo)
      stream.upTo = changes.step
    } else {
      if (stream.changed.size === 0) return null
      ids = [...stream.changed]
      stream.changed.clear()
    }
    return ids.length > 0 ? { name: 'items', ids, at: 0, position } : null
  }

  /** @param {Round} round @param {Stream} stream whose `rest` is some */
  function sendPart ({ view, nowMs, chunks }, stream) {
    const { name, ids, at, position } = /** @type {import('./stream.js').Rest} */ (stream.rest)
    const make = () => writerOf(stream.encoding).event(name, ids, { at, maxBytes: budget.chunkBytes, position, newestOf: (id) => newestOf(view, id) })
    const { bytes, next } = stream.ids === null ? onlyOnce(chunks, ids, `${at} ${stream.encoding}`, make) : make()
    // what comes behind a snapshot that is cut is as good as changes
    stream.rest = next < ids.length ? { name: 'items', ids, at: next, position } : null
    if (bytes.length === 0) return
    send(stream, bytes)
    stream.deliveredMs = nowMs
  }

  /** @param {Round} round @param {Stream} stream */
  function serve (round, stream) {
    const { nowMs } = round
    if (stream.isWaiting) return keepAlive(stream, nowMs)
    if (stream.ids === null && !stream.needsSnapshot && !changes.knows(stream.upTo)) tellAnew(stream, 'slow')
    if (stream.needsSnapshot) {
      if (!stream.hasRoom() || !budget.isFree) return
      beginWithSnapshot(round, stream)
    }
    if (!stream.isDue(nowMs)) return
    const isChanged = stream.rest !== null || (stream.ids === null ? stream.upTo < changes.step : stream.changed.size > 0)
    if (!isChanged && nowMs - stream.sentMs < HEARTBEAT_MS) return
    if (!stream.hasRoom()) {
      counts.skipped++
      return
    }
    if (!isChanged) return stream.send(heartbeat(round.position))
    stream.rest ??= restOf(stream, round.position)
    while (stream.rest !== null && stream.hasRoom()) sendPart(round, stream)
  }

  return {
    tellAnew,

    /** @param {View} view that has everything */
    round (view) {
      const round = { view, position: view.position(), nowMs: performance.now(), snapshots: new Map(), chunks: new Map() }
      for (const stream of streams) serve(round, stream)
    },

    /** While there is nothing that could be told. */
    rest () {
      const nowMs = performance.now()
      for (const stream of streams) keepAlive(stream, nowMs)
    }
  }
}

/** @param {Stream} stream @param {number} nowMs */
function keepAlive (stream, nowMs) {
  if (nowMs - stream.sentMs > HEARTBEAT_MS && stream.hasRoom()) stream.send(EMPTY_HEARTBEAT)
}

/**
 * @template K, T
 * @param {Map<K, Map<string, T>>} all @param {K} key @param {string} name @param {() => T} make
 */
function onlyOnce (all, key, name, make) {
  const of = all.get(key) ?? new Map()
  all.set(key, of)
  const made = of.get(name) ?? make()
  of.set(name, made)
  return made
}

/** @param {View} view @param {string} id byte for character @returns {Newest | null} null: nothing to tell */
function newestOf (view, id) {
  const newest = view.newest(Buffer.from(id, 'latin1'))
  if (newest !== null) return newest
  // where deletions are not kept, an id that is gone was deleted
  return layoutOf(view.definition.layout).describe().deletionsInTail ? null : { ts: null, value: null, deleted: true }
}

/** Those of some ids that are live, the newest of them, oldest first. @param {View} view @param {Iterable<string>} ids @param {number} limit @returns {string[]} */
function newestOfThose (view, ids, limit) {
  /** @type {[id: string, ts: number][]} */
  const live = []
  for (const id of ids) {
    const newest = view.newest(Buffer.from(id, 'latin1'))
    if (newest !== null && !newest.deleted) live.push([id, newest.ts])
  }
  return limit === 0 ? [] : live.sort(([, a], [, b]) => a - b).slice(-limit).map(([id]) => id)
}

/** The newest of all, oldest first, with a bound of bytes. @param {View} view @param {number} limit @returns {Map<string, Newest>} */
function newestItems (view, limit) {
  /** @type {[id: string, newest: Newest][]} */
  const items = []
  let bytes = 0
  if (limit > 0) {
    view.visit({ limit }, (all, idAt, idEnd, ts, _seq, valueAt, valueEnd) => {
      items.push([all.toString('latin1', idAt, idEnd), { ts, value: Buffer.from(all.subarray(valueAt, valueEnd)), deleted: false }])
      bytes += idEnd - idAt + valueEnd - valueAt
      return bytes < SNAPSHOT_BYTES
    })
  }
  return new Map(items.reverse())
}
