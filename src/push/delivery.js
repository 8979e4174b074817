/**
 * Sends streams what is due: a snapshot, or the newest version of each changed id. Bytes for streams of all ids at the same
 * point are built once per turn.
 *
 * Streams that only lack the changes since the last tick are served first. Long deliveries (snapshots, resumed streams, more
 * changes than fit into one event) get the remaining time, so that many new clients do not delay the others.
 *
 * Each version is sent once: what a list was sent with is left out of the changes after it (sent-parts.js).
 *
 * The position of the view is sent with the last event of a delivery. Before that, the stream has some newer versions and
 * lacks some older ones, so no position is correct for it.
 */
import { steadyMs } from '../view/index.js'
import { MAX_CHUNK_BYTES } from './budget.js'
import { FRAME_BYTES, createEvents, heartbeat, resetEvent } from './events.js'
import { reset } from './resets.js'
import { noteSent, withoutSent } from './sent-parts.js'
import { shownPosition } from './sealed-positions.js'
import { createSnapshots, newestAmong } from './snapshots.js'
import { HEARTBEAT_MS } from './stream.js'

/** Most items of the first snapshot of a stream that waited for its feed. */
const FIRST_ITEMS = 100_000
/** Lists up to this size are not bounded in number. */
export const SMALL_LIST_IDS = 1000

/** @typedef {import('./hub.js').View} View */
/** @typedef {import('./viewer.js').Viewer} Stream */
/**
 * @typedef {{ frame: Buffer | null, next: number, seq: number, isLast: boolean, isMissing: boolean }} Part of a list: `frame` null when no
 *   id has anything to send; `next`: where the next part begins; `seq`: of the changes when it was built, which it includes; `isLast`: it
 *   has the position, or with it the position is reached; `isMissing`: the next id is to be looked up
 */
/**
 * @typedef {{ name: string, at: number, encoding: string, label: string | undefined, isBehind: boolean, part: Part }} SharedPart for
 *   streams that are alike
 * @typedef {{ isFull: boolean, parts: Map<readonly string[], SharedPart[]> }} Shared `parts`: of lists of streams of all ids
 * @typedef {Shared & { view: View, reached: import('./positions.js').Reached, nowMs: number }} Round
 */

/**
 * @param {{ changes: import('./changes.js').Changes, isDeleted: (id: string) => boolean, budget: import('./budget.js').Budget,
 *   counts: import('./metrics.js').Counts, lookUps: ReturnType<typeof import('./looked-up.js').createLookUps> }} parts
 *   `isDeleted`: for layouts that do not keep deletions; `lookUps`: of what is not in memory
 */
export function createDelivery ({ changes, isDeleted, budget, counts, lookUps }) {
  const snapshots = createSnapshots(changes)
  const partOf = createParts({ changes, isDeleted, budget })

  /** @param {Round} round @param {Stream} stream */
  function beginSnapshot ({ view, nowMs }, stream) {
    if (stream.resetReason !== null) {
      stream.send(resetEvent(stream.resetReason))
      counts.resets++
    }
    const limit = stream.isFirst ? FIRST_ITEMS : stream.limit
    stream.isFirst = false
    if (limit > 0 && (stream.beginnings.length > 0 || !('visit' in view))) {
      stream.delivered(nowMs)
      return lookUps.snapshot(view, stream, limit)
    }
    const { ids, seq } = limit === 0 || !('visit' in view)
      ? { ids: [], seq: changes.end }
      : stream.ids !== null
        ? { ids: newestAmong(view, stream.ids, limit), seq: changes.end }
        : snapshots.ofAll(view, limit, nowMs)
    const from = stream.isFromHead ? stream.seq : seq
    if (!stream.isFromHead) stream.changed.clear()
    stream.delivered(nowMs)
    Object.assign(stream, { needsSnapshot: false, isFromHead: false, resetReason: null, seq: from, list: { name: 'snapshot', ids, at: 0 } })
  }

  /** @param {Round} round @param {Stream} stream with a list @returns {boolean} false: it is too large for now */
  function sendPart (round, stream) {
    const list = /** @type {import('./stream.js').List} */ (stream.list)
    const { ids } = list
    const { frame, next, seq, isLast, isMissing } = partOf(round, stream)
    if (isMissing && next === list.at && 'load' in round.view) {
      lookUps.load(round.view, stream, list)
      return false
    }
    if (frame !== null && frame.length > MAX_CHUNK_BYTES && budget.isFarOver) return false
    noteSent(stream, list, { next, seq })
    if (isLast) stream.reached = round.reached
    // further parts of a snapshot are sent as changes
    stream.list = next < ids.length ? { name: 'items', ids, at: next } : null
    if (frame !== null) {
      stream.sendFrame(frame, round.nowMs, isLast)
      counts.events++
      counts.bytes += frame.length - FRAME_BYTES
    }
    return true
  }

  /** @param {Round} round @param {Stream} stream */
  function serve (round, stream) {
    const { nowMs, view, reached } = round
    if (stream.isResuming) return stream.keepAlive(nowMs)
    const needsChanges = !stream.needsSnapshot || stream.isFromHead
    if (stream.ids === null && needsChanges && !changes.covers(stream.seq)) return reset(stream, 'slow')
    if (stream.needsSnapshot) {
      if (!stream.hasRoom()) return
      beginSnapshot(round, stream)
      if (stream.isResuming) return
    }
    if (stream.list === null) {
      if (!hasChanges(changes, stream)) {
        stream.reached = reached
        if (nowMs - stream.sentMs <= HEARTBEAT_MS || !stream.hasRoom()) return
        const asOf = stream.seal === null ? view.confirmedMs : steadyMs(view.confirmedMs)
        return stream.send(heartbeat(asOf, shownPosition(stream, reached)))
      }
      if (!stream.isDue(nowMs)) return
    }
    if (!stream.hasRoom()) {
      counts.skipped++
      return
    }
    if (stream.list === null) listChanges(changes, round, stream)
    while (stream.list !== null && stream.hasRoom() && sendPart(round, stream));
  }

  return {
    serve,

    /** Whether a stream lacks something, or waits for something else than changes. @param {Stream} stream */
    lacks: (stream) => stream.isResuming || isLong(stream) || hasChanges(changes, stream),
    isLong,

    /**
     * Begins a turn of all streams, which may take several rounds.
     * @param {boolean} isFull no further large lists are allowed
     * @returns {Shared}
     */
    share: (isFull) => ({ isFull, parts: new Map() }),

    /** The content of the view was replaced. */
    clear () { snapshots.clear() }
  }
}

/** Lists all changes that a stream lacks. @param {import('./changes.js').Changes} changes @param {Round} round @param {Stream} stream */
function listChanges (changes, round, stream) {
  /** @type {readonly string[]} */
  let ids
  if (stream.ids === null) {
    ids = withoutSent(changes, stream)
    stream.seq = changes.end
    // streams at different points need a list each
    if (round.isFull && ids.length > SMALL_LIST_IDS && !round.parts.has(ids)) return reset(stream, 'slow')
  } else {
    ids = [...stream.changed]
    stream.changed.clear()
  }
  stream.list = { name: 'items', ids, at: 0 }
  stream.delivered(round.nowMs)
}

/** @param {Stream} stream */
const isLong = ({ needsSnapshot, list }) => needsSnapshot || list !== null

/** @param {import('./changes.js').Changes} changes @param {Stream} stream */
const hasChanges = (changes, stream) => stream.ids === null ? stream.seq < changes.end : stream.changed.size > 0

/**
 * Builds events from lists; those of streams of all ids once per list, part and encoding.
 * @param {{ changes: import('./changes.js').Changes, isDeleted: (id: string) => boolean, budget: import('./budget.js').Budget }} parts
 * @returns {(round: Round, stream: Stream) => Part}
 */
function createParts ({ changes, isDeleted, budget }) {
  /** @type {Map<string, import('./events.js').Events>} by encoding */
  const writers = new Map()

  /** @param {string} encoding */
  function writerOf (encoding) {
    const writer = writers.get(encoding) ?? createEvents(encoding)
    writers.set(encoding, writer)
    return writer
  }

  /**
   * @param {View} view @param {import('./events.js').Events} writer @param {string} id
   * @returns {boolean} false: it is to be looked up first
   */
  function put (view, writer, id) {
    const newest = view.newest(Buffer.from(id, 'latin1'), id)
    if (newest === undefined) return false
    if (newest !== null) writer.put(id, newest)
    else if (isDeleted(id)) writer.put(id, { ts: null, value: null, deleted: true })
    return true
  }

  /** @param {Round} round @param {Stream} stream @returns {Part} */
  function build (round, stream) {
    const { name, ids, at, isCut } = /** @type {import('./stream.js').List} */ (stream.list)
    const { label, encoding } = stream
    const writer = writerOf(encoding)
    writer.begin(name, label)
    let next = at
    let isMissing = false
    while (next < ids.length && !isMissing && writer.length < budget.chunkBytes) {
      isMissing = !put(round.view, writer, ids[next])
      if (!isMissing) next++
    }
    const isLast = next === ids.length && !hasChanges(changes, stream)
    const frame = writer.end(isLast && label === undefined ? shownPosition(stream, round.reached) : null, isCut)
    return { frame: writer.isEmpty && name !== 'snapshot' ? null : frame, next, seq: changes.end, isLast, isMissing }
  }

  return (round, stream) => {
    if (stream.ids !== null) return build(round, stream)
    const { name, ids, at } = /** @type {import('./stream.js').List} */ (stream.list)
    const { encoding, label } = stream
    const isBehind = hasChanges(changes, stream)
    let ofList = round.parts.get(ids)
    if (ofList === undefined) round.parts.set(ids, ofList = [])
    for (const one of ofList) {
      if (one.at === at && one.isBehind === isBehind && one.name === name && one.encoding === encoding && one.label === label) {
        return one.part
      }
    }
    const part = build(round, stream)
    ofList.push({ name, at, encoding, label, isBehind, part })
    return part
  }
}
