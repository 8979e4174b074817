/**
 * Gives streams what they are due: a snapshot, or the newest version of each id that changed. What is sent to streams that
 * are at the same point is made once a round.
 *
 * Streams that have everything but what came since the last tick have their turn first. What is long, a snapshot, what a client
 * missed, more changes than fit, gets the time that is left: many who come at once do not keep others waiting.
 *
 * A stream with nothing more to be told is where the view is: that is its position, and goes with the last event. Before, it
 * has versions that are newer and lacks others that are older, so no position would be true of it.
 */
import { layoutOf } from '../layouts/index.js'
import { EMPTY_HEARTBEAT, createEvents, heartbeat, resetEvent } from './events.js'

const HEARTBEAT_MS = 10_000
/** a round is left after so long, and gone on with when others had their turn */
const SLICE_MS = 5
/** of an event for a stream that is behind: those that came first; the rest are any of those behind them */
const IN_ORDER = 0.5

/** @typedef {import('../view/view.js').View} View */
/** @typedef {import('./stream.js').Stream} Stream */
/** @typedef {import('./events.js').Newest} Newest */
/** @typedef {{ bytes: Buffer, place: number }} Part */
/** @typedef {{ bytes: Buffer, next: number, isSome: boolean }} ListedPart `next`: where it goes on among the ids */
/**
 * @typedef {{ view: View, position: string, nowMs: number, isWhole: boolean, snapshots: Map<number, readonly string[]>, parts: Map<string, Part>,
 *   listed: Map<readonly string[], Map<string, ListedPart>> }} Round
 *   `isWhole`: the view has let go of nothing; `snapshots`: ids by limit; `parts`: of changes of all ids, by place and encoding; `listed`: parts of
 *   what is listed for streams of all ids
 */

/**
 * @param {{ changes: import('./changes.js').Changes, budget: import('./budget.js').Budget, counts: import('./metrics.js').Counts,
 *   log: import('pino').Logger }} parts
 */
export function createDelivery ({ changes, budget, counts, log }) {
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
    Object.assign(stream, { resetWhy: why, needsSnapshot: true, listed: null, isBehind: false })
  }

  /** @param {Stream} stream @param {Buffer} bytes */
  function send (stream, bytes) {
    stream.send(bytes)
    counts.events++
    counts.bytes += bytes.length
  }

  /** @param {Round} round @param {Stream} stream */
  function beginWithSnapshot ({ view, nowMs, snapshots }, stream) {
    if (stream.resetWhy !== null) {
      stream.send(resetEvent(stream.resetWhy))
      counts.resets++
    }
    const { limit } = stream
    const ids = stream.ids !== null ? newestOfThose(view, stream.ids, limit) : snapshots.get(limit) ?? newestOfAll(view, limit)
    if (stream.ids === null) snapshots.set(limit, ids)
    stream.changed.clear()
    stream.delivered(nowMs)
    Object.assign(stream, { needsSnapshot: false, resetWhy: null, place: changes.end, listed: { name: 'snapshot', ids, at: 0 } })
  }

  /** @param {Stream} stream */
  const isChanged = (stream) => stream.ids === null ? stream.place < changes.end : stream.changed.size > 0

  /** @param {Round} round @param {Stream} stream whose ids are listed @returns {ListedPart} */
  function listedPart (round, stream) {
    const { name, ids, at } = /** @type {import('./stream.js').Listed} */ (stream.listed)
    const writer = writerOf(stream.encoding)
    writer.begin(name)
    let next = at
    while (next < ids.length && writer.length < budget.chunkBytes) put(round, writer, ids[next++])
    const isAll = next === ids.length && !isChanged(stream)
    return { bytes: writer.end(isAll ? round.position : null), next, isSome: writer.isSome }
  }

  /** @param {Round} round @param {Stream} stream whose ids are listed */
  function sendListed (round, stream) {
    const { name, ids, at } = /** @type {import('./stream.js').Listed} */ (stream.listed)
    const { bytes, next, isSome } = stream.ids === null
      ? onlyOnce(round.listed, ids, `${name} ${at} ${stream.encoding} ${isChanged(stream)}`, () => listedPart(round, stream))
      : listedPart(round, stream)
    // what comes behind a snapshot that is cut is as good as changes
    stream.listed = next < ids.length ? { name: 'items', ids, at: next } : null
    if (isSome || name === 'snapshot') send(stream, bytes)
  }

  /** @param {Round} round @param {Stream} stream of all ids, which has everything but changes */
  function sendChanges (round, stream) {
    const name = `${stream.place} ${stream.encoding} ${stream.isBehind}`
    const { bytes, place } = round.parts.get(name) ?? changesFrom(round, stream)
    round.parts.set(name, { bytes, place })
    stream.place = place
    if (bytes.length > 0) send(stream, bytes)
  }

  /** @param {Round} round @param {Stream} stream @returns {Part} */
  function changesFrom (round, { place: from, encoding, isBehind }) {
    const writer = writerOf(encoding)
    writer.begin('items')
    const upTo = (/** @type {number} */ bytes) => (/** @type {string} */ id) => {
      put(round, writer, id)
      return writer.length < bytes
    }
    const place = changes.since(from, upTo(budget.chunkBytes * (isBehind ? IN_ORDER : 1)))
    if (isBehind && place < changes.end) changes.someSince(place, upTo(budget.chunkBytes))
    const bytes = writer.end(place === changes.end ? round.position : null)
    return { bytes: writer.isSome ? bytes : Buffer.alloc(0), place }
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
    const isDue = isLong(stream) || (isChanged(stream) && stream.isDue(nowMs))
    if (!isDue) {
      if (isChanged(stream)) return
      if (nowMs - stream.sentMs > HEARTBEAT_MS && stream.hasRoom()) stream.send(heartbeat(view.asOf, position))
      return
    }
    if (!stream.hasRoom()) {
      counts.skipped++
      return
    }
    while (stream.listed !== null && stream.hasRoom()) sendListed(round, stream)
    if (stream.listed !== null || !isChanged(stream) || !(stream.isBehind || stream.isDue(nowMs))) return
    stream.delivered(nowMs)
    if (stream.ids === null) {
      while (stream.place < changes.end && stream.hasRoom()) sendChanges(round, stream)
      stream.isBehind = stream.place < changes.end
    } else {
      stream.listed = { name: 'items', ids: [...stream.changed], at: 0 }
      stream.changed.clear()
      while (stream.listed !== null && stream.hasRoom()) sendListed(round, stream)
    }
  }

  return {
    tellAnew,

    /**
     * One round over streams, or as much of it as there is time for.
     * @param {View} view that has everything @param {Iterator<Stream>} streams
     * @param {{ areLong: boolean }} which those that have more to be told than changes that fit in one go, or the others
     * @returns {boolean} whether all had their turn; else it is gone on with
     */
    round (view, streams, { areLong }) {
      const nowMs = performance.now()
      const round = { view, position: view.position(), nowMs, isWhole: view.floor === null, snapshots: new Map(), parts: new Map(), listed: new Map() }
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

/** Whether more is to be told than changes that fit in one go. @param {Stream} stream */
const isLong = ({ needsSnapshot, listed, isBehind }) => needsSnapshot || listed !== null || isBehind

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

/** The newest version of an id, if there is something to tell. @param {Round} round @param {import('./events.js').Events} writer @param {string} id byte for character */
function put ({ view, isWhole }, writer, id) {
  const newest = view.newest(Buffer.from(id, 'latin1'))
  if (newest !== null) writer.put(id, newest)
  // where deletions are not kept, an id that is gone was deleted, unless the view let go of it
  else if (isWhole && !layoutOf(view.definition.layout).describe().deletionsInTail) writer.put(id, { ts: null, value: null, deleted: true })
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
