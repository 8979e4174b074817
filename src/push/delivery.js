/**
 * Gives streams what they are due: a snapshot, or the newest version of each id that changed. What is sent to streams that
 * are at the same point is made once a turn.
 *
 * Streams that have everything but what came since the last tick have their turn first. What is long, a snapshot, what a client
 * missed, more changes than fit into one event, gets the time that is left: many who come at once do not keep others waiting.
 *
 * A stream with nothing more to be told is where the view is: that is its position, and goes with the last event. Before, it
 * has versions that are newer and lacks others that are older, so no position would be true of it.
 */
import { MOST_CHUNK_BYTES } from './budget.js'
import { EMPTY_HEARTBEAT, createEvents, heartbeat, resetEvent } from './events.js'

const HEARTBEAT_MS = 10_000
/** a round is left after so long, and gone on with when others had their turn */
const SLICE_MS = 5
/** a list of so few ids is nothing that has to be bounded */
const SMALL_LIST = 1000
const SNAPSHOT_MS = 1000
const NOTHING = Buffer.alloc(0)

/** @typedef {import('../view/view.js').View} View */
/** @typedef {import('./stream.js').Stream} Stream */
/** @typedef {import('./events.js').Newest} Newest */
/** @typedef {{ bytes: Buffer, next: number }} Part of a list: `bytes` empty when there is nothing to tell, `next`: where it goes on */
/**
 * @typedef {{ ids: readonly string[], place: number, madeMs: number }} Snapshot of all ids: what is newest, and the place in the changes of that time
 * @typedef {{ isFull: boolean, parts: Map<readonly string[], Map<string, Part>> }} Shared `parts`: of lists of streams of all ids
 * @typedef {Shared & { view: View, position: string, nowMs: number }} Round
 */

/**
 * @param {{ changes: import('./changes.js').Changes, isGone: (id: string) => boolean, budget: import('./budget.js').Budget,
 *   counts: import('./metrics.js').Counts, log: import('pino').Logger }} parts `isGone`: an id was deleted where deletions are not kept
 */
export function createDelivery ({ changes, isGone, budget, counts, log }) {
  /** @type {Map<string, import('./events.js').Events>} by encoding */
  const writers = new Map()
  /** by limit @type {Map<number, Snapshot>} */
  const snapshots = new Map()

  /** @param {string} encoding */
  function writerOf (encoding) {
    const writer = writers.get(encoding) ?? createEvents(encoding)
    writers.set(encoding, writer)
    return writer
  }

  /** @param {Stream} stream @param {string} why */
  function tellAnew (stream, why) {
    Object.assign(stream, { resetWhy: why, needsSnapshot: true, listed: null })
  }

  /** @param {Stream} stream @param {Buffer} bytes */
  function send (stream, bytes) {
    stream.send(bytes)
    counts.events++
    counts.bytes += bytes.length
  }

  /** A large one is for all who come within a second, and what changed since comes behind it. @param {View} view @param {number} limit @param {number} nowMs @returns {Snapshot} */
  function snapshotOfAll (view, limit, nowMs) {
    const known = snapshots.get(limit)
    if (known && (known.place === changes.end || (limit > SMALL_LIST && nowMs - known.madeMs < SNAPSHOT_MS && changes.knows(known.place)))) return known
    const made = { ids: newestOfAll(view, limit), place: changes.end, madeMs: nowMs }
    for (const [other, { madeMs }] of snapshots) if (nowMs - madeMs >= SNAPSHOT_MS) snapshots.delete(other)
    snapshots.set(limit, made)
    return made
  }

  /** @param {Round} round @param {Stream} stream */
  function beginWithSnapshot ({ view, nowMs }, stream) {
    if (stream.resetWhy !== null) {
      stream.send(resetEvent(stream.resetWhy))
      counts.resets++
    }
    const { ids, place } = stream.ids !== null
      ? { ids: newestOfThose(view, stream.ids, stream.limit), place: changes.end }
      : snapshotOfAll(view, stream.limit, nowMs)
    stream.changed.clear()
    stream.delivered(nowMs)
    Object.assign(stream, { needsSnapshot: false, resetWhy: null, place, listed: { name: 'snapshot', ids, at: 0 } })
  }

  /** @param {Stream} stream */
  const isChanged = (stream) => stream.ids === null ? stream.place < changes.end : stream.changed.size > 0

  /** What it is told in this period: all that changed by now. @param {Round} round @param {Stream} stream */
  function list (round, stream) {
    /** @type {readonly string[]} */
    let ids
    if (stream.ids === null) {
      ids = changes.since(stream.place)
      stream.place = changes.end
      // those of many streams that are at different points are as many lists
      if (round.isFull && ids.length > SMALL_LIST && !round.parts.has(ids)) return tellAnew(stream, 'slow')
    } else {
      ids = [...stream.changed]
      stream.changed.clear()
    }
    stream.listed = { name: 'items', ids, at: 0 }
    stream.delivered(round.nowMs)
  }

  /** The newest version of an id, if there is something to tell. @param {View} view @param {import('./events.js').Events} writer @param {string} id byte for character */
  function put (view, writer, id) {
    const newest = view.newest(Buffer.from(id, 'latin1'))
    if (newest !== null) writer.put(id, newest)
    else if (isGone(id)) writer.put(id, { ts: null, value: null, deleted: true })
  }

  /** @param {Round} round @param {Stream} stream whose ids are listed @returns {Part} */
  function partOf (round, stream) {
    const { name, ids, at } = /** @type {import('./stream.js').Listed} */ (stream.listed)
    const writer = writerOf(stream.encoding)
    writer.begin(name)
    let next = at
    while (next < ids.length && writer.length < budget.chunkBytes) put(round.view, writer, ids[next++])
    const isAll = next === ids.length && !isChanged(stream)
    const bytes = writer.end(isAll ? round.position : null)
    return { bytes: writer.isSome || name === 'snapshot' ? bytes : NOTHING, next }
  }

  /** @param {Round} round @param {Stream} stream whose ids are listed @returns {boolean} false: it is too much just now */
  function sendPart (round, stream) {
    const { name, ids, at } = /** @type {import('./stream.js').Listed} */ (stream.listed)
    const { bytes, next } = stream.ids === null
      ? onlyOnce(round.parts, ids, `${name} ${at} ${stream.encoding} ${isChanged(stream)}`, () => partOf(round, stream))
      : partOf(round, stream)
    if (bytes.length > MOST_CHUNK_BYTES && budget.isFarOver) return false
    // what comes behind a snapshot that is cut is as good as changes
    stream.listed = next < ids.length ? { name: 'items', ids, at: next } : null
    if (bytes.length > 0) send(stream, bytes)
    return true
  }

  /** @param {Round} round @param {Stream} stream */
  function serve (round, stream) {
    const { nowMs, view, position } = round
    if (stream.isReturning) return keepAlive(stream, nowMs)
    if (stream.ids === null && !stream.needsSnapshot && !changes.knows(stream.place)) return tellAnew(stream, 'slow')
    if (stream.needsSnapshot) {
      if (!stream.hasRoom()) return keepAlive(stream, nowMs)
      beginWithSnapshot(round, stream)
    }
    if (stream.listed === null) {
      if (!isChanged(stream)) {
        if (nowMs - stream.sentMs > HEARTBEAT_MS && stream.hasRoom()) stream.send(heartbeat(view.asOf, position))
        return
      }
      if (!stream.isDue(nowMs)) return
    }
    if (!stream.hasRoom()) {
      counts.skipped++
      return
    }
    if (stream.listed === null) list(round, stream)
    while (stream.listed !== null && stream.hasRoom() && sendPart(round, stream));
  }

  return {
    tellAnew,

    /** For a turn of all streams, which may take several rounds. @param {boolean} isFull as many ids are listed as may be @returns {Shared} */
    share: (isFull) => ({ isFull, parts: new Map() }),

    /** What is newest is another thing now. */
    forget () { snapshots.clear() },

    /**
     * One round over streams, or as much of it as there is time for.
     * @param {View} view that has everything @param {Iterator<Stream>} streams
     * @param {{ areLong: boolean, shared: Shared }} which `areLong`: those that have more to be told than what changed since the last time, or the others
     * @returns {boolean} whether all had their turn; else it is gone on with
     */
    round (view, streams, { areLong, shared }) {
      const nowMs = performance.now()
      const round = { view, position: view.position(), nowMs, ...shared }
      while (performance.now() - nowMs < SLICE_MS) {
        const { done, value: stream } = streams.next()
        if (done) return true
        if (isLong(stream) !== areLong) continue
        try {
          serve(round, stream)
        } catch (error) {
          log.error({ err: error }, 'a stream failed')
          stream.end('failed', '')
        }
      }
      return false
    },

    keepAlive
  }
}

/** Whether more is to be told than what changed since the last time. @param {Stream} stream */
const isLong = ({ needsSnapshot, listed }) => needsSnapshot || listed !== null

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

/** The newest of all, oldest first. @param {View} view @param {number} limit @returns {string[]} */
function newestOfAll (view, limit) {
  /** @type {string[]} */
  const ids = []
  if (limit > 0) view.visit({ limit }, (bytes, idAt, idEnd) => { ids.push(bytes.toString('latin1', idAt, idEnd)) })
  return ids.reverse()
}
