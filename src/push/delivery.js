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

  /** @param {Round} round @param {Stream} stream */
  function sendSnapshot ({ view, position, nowMs, snapshots }, stream) {
    if (!budget.isFree) return
    if (stream.resetWhy !== null) {
      stream.send(resetEvent(stream.resetWhy))
      counts.resets++
    }
    const { ids, limit, encoding } = stream
    const name = `${limit} ${encoding}`
    const bytes = (ids === null && snapshots.get(name)) || writerOf(encoding).snapshot(ids === null ? newestItems(view, limit) : itemsOf(view, ids, limit), position)
    if (ids === null) snapshots.set(name, bytes)
    send(stream, bytes)
    stream.changed.clear()
    Object.assign(stream, { needsSnapshot: false, resetWhy: null, rest: null, upTo: changes.step, deliveredMs: nowMs })
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
    return ids.length > 0 ? { ids, at: 0, position } : null
  }

  /** @param {Round} round @param {Stream} stream whose `rest` is some */
  function sendPart ({ view, nowMs, chunks }, stream) {
    const { ids, at, position } = /** @type {import('./stream.js').Rest} */ (stream.rest)
    const make = () => writerOf(stream.encoding).items(ids, { at, maxBytes: budget.chunkBytes, position, newestOf: (id) => newestOf(view, id) })
    const { bytes, next } = stream.ids === null ? onlyOnce(chunks, ids, `${at} ${stream.encoding}`, make) : make()
    stream.rest = next < ids.length ? { ids, at: next, position } : null
    if (bytes.length === 0) return
    send(stream, bytes)
    stream.deliveredMs = nowMs
  }

  /** @param {Round} round @param {Stream} stream */
  function serve (round, stream) {
    const { nowMs } = round
    if (stream.isWaiting) return
    if (stream.ids === null && !stream.needsSnapshot && !changes.knows(stream.upTo)) tellAnew(stream, 'slow')
    if (stream.needsSnapshot) {
      if (stream.hasRoom()) sendSnapshot(round, stream)
      return
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
    keepAlive () {
      const nowMs = performance.now()
      for (const stream of streams) if (nowMs - stream.sentMs > HEARTBEAT_MS && stream.hasRoom()) stream.send(EMPTY_HEARTBEAT)
    }
  }
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

/** The newest of some ids, oldest first. @param {View} view @param {Iterable<string>} ids @param {number} limit @returns {[id: string, newest: Newest][]} */
function itemsOf (view, ids, limit) {
  /** @type {[id: string, newest: Newest & { deleted: false }][]} */
  const items = []
  for (const id of ids) {
    const newest = view.newest(Buffer.from(id, 'latin1'))
    if (newest !== null && !newest.deleted) items.push([id, newest])
  }
  return limit === 0 ? [] : items.sort(([, a], [, b]) => a.ts - b.ts).slice(-limit)
}

/** The newest of all, oldest first. @param {View} view @param {number} limit @returns {[id: string, newest: Newest][]} */
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
  return items.reverse()
}
