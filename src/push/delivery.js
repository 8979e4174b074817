/**
 * Sends streams what is due: a snapshot, or the newest version of each changed id. Bytes for streams of all ids at the same
 * point are built once per turn.
 *
 * Streams that only lack the changes since the last tick are served first. Long deliveries (snapshots, resumed streams, more
 * changes than fit into one event) get the remaining time, so that many new clients do not delay the others.
 *
 * Each version is sent once: what a list was sent with is left out of the changes after it. A stream that missed changes, or too many
 * of them, starts again with a snapshot.
 *
 * The position of the view is sent with the last event of a delivery. Before that, the stream has some newer versions and
 * lacks some older ones, so no position is correct for it.
 */
import { steadyMs } from '../view/index.js'
import { MAX_CHUNK_BYTES } from './caps.js'
import { createEvents, emptySnapshot, FRAME_BYTES, heartbeat, resetEvent } from './events.js'
import { shownPosition } from './sealed-positions.js'
import { HEARTBEAT_MS } from './stream.js'

/** Most items of the first snapshot of a stream that waited for its feed; one that lacks others says so. */
const FIRST_ITEMS = 100_000
/** Lists up to this size are not bounded in number. */
export const SMALL_LIST_IDS = 1000

/** Larger snapshots are shared for SHARED_MS; the changes since are sent after them. */
const LARGE_IDS = 1000
const SHARED_MS = 1000
/** Positions of the ids in lists, which streams share. @type {WeakMap<readonly string[], Map<string, number>>} */
const indexes = new WeakMap()

/** @typedef {import('./hub.js').View} View */
/** @typedef {import('../view/index.js').View} WholeView */
/** @typedef {import('./stream.js').Viewer} Stream */
/** @typedef {{ ids: readonly string[], seq: number, builtMs: number }} Snapshot `seq`: of the changes at that time */
/**
 * @typedef {{ ids: readonly string[], parts: { from: number, until: number, seq: number }[] }} Sent of a list, to a stream; `seq`: of the
 *   changes that the part includes
 */
/** @typedef {{ resuming: { add: (stream: Stream, position: string) => void }, counts: import('./metrics.js').Counts }} Resets */
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
 * @param {{ changes: import('./changes.js').Changes, isDeleted: (id: string) => boolean, budget: import('./caps.js').Budget,
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
    const list = { name: 'snapshot', ids, at: 0, isCut: stream.isFirst && ids.length >= limit }
    Object.assign(stream, { needsSnapshot: false, isFromHead: false, resetReason: null, seq: from, list })
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
    if (isLast) Object.assign(stream, { reached: round.reached, isFirst: false })
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
 * @param {{ changes: import('./changes.js').Changes, isDeleted: (id: string) => boolean, budget: import('./caps.js').Budget }} parts
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
    const newest = 'load' in view ? view.newest(id) : view.newest(Buffer.from(id, 'latin1'))
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

/**
 * Ids of snapshots. A snapshot of all ids is shared by streams that ask for it at the same time.
 * @param {import('./changes.js').Changes} changes
 */
function createSnapshots (changes) {
  /** Snapshots by limit. @type {Map<number, Snapshot>} */
  const snapshots = new Map()

  return {
    /** @param {WholeView} view @param {number} limit @param {number} nowMs @returns {Snapshot} */
    ofAll (view, limit, nowMs) {
      const cached = snapshots.get(limit)
      const isShared = cached && limit > LARGE_IDS && nowMs - cached.builtMs < SHARED_MS && changes.covers(cached.seq)
      if (cached && (cached.seq === changes.end || isShared)) return cached
      const built = { ids: newestIds(view, limit), seq: changes.end, builtMs: nowMs }
      for (const [other, { builtMs }] of snapshots) if (nowMs - builtMs >= SHARED_MS) snapshots.delete(other)
      snapshots.set(limit, built)
      return built
    },

    clear () { snapshots.clear() }
  }
}

/**
 * The newest live ids among some, oldest first.
 * @param {WholeView} view
 * @param {Iterable<string>} ids
 * @param {number} limit
 * @returns {string[]}
 */
function newestAmong (view, ids, limit) {
  /** @type {[id: string, ts: number][]} */
  const items = []
  for (const id of ids) {
    const newest = view.newest(Buffer.from(id, 'latin1'))
    if (newest !== null && !newest.deleted) items.push([id, newest.ts])
  }
  return limit === 0 ? [] : items.sort(([, a], [, b]) => a - b).slice(-limit).map(([id]) => id)
}

/** Oldest first. @param {WholeView} view @param {number} limit @returns {string[]} */
function newestIds (view, limit) {
  /** @type {string[]} */
  const ids = []
  if (limit > 0) view.visit({ limit }, (bytes, idAt, idEnd) => { ids.push(bytes.toString('latin1', idAt, idEnd)) })
  return ids.reverse()
}

/** The stream starts again, with a snapshot. @param {Stream} stream @param {string} reason */
export function reset (stream, reason) {
  Object.assign(stream, { resetReason: reason, needsSnapshot: true, isFromHead: false, list: null })
}

/**
 * The changes of a view were missed. Of a stream without items in its snapshot, all changes since its position follow.
 * @param {Stream} stream @param {Resets} resets
 */
export function resetRebuilt (stream, { resuming, counts }) {
  const { limit, reached } = stream
  if (limit > 0 || reached === null) return reset(stream, 'rebuilt')
  stream.send(resetEvent('rebuilt'))
  stream.send(emptySnapshot(shownPosition(stream, reached)))
  counts.resets++
  Object.assign(stream, { needsSnapshot: false, isFromHead: false, list: null })
  resuming.add(stream, reached.position)
}

/**
 * Notes a part that is sent, so that the changes after the list do not repeat it: a part has the newest versions, also of changes that came
 * after the list was made.
 * @param {Stream} stream @param {import('./stream.js').List} list @param {{ next: number, seq: number }} part
 */
function noteSent (stream, { ids, at }, { next, seq }) {
  if (stream.ids !== null) {
    for (let i = at; i < next; i++) stream.changed.delete(ids[i])
  } else if (at > 0 || next < ids.length || seq > stream.seq || stream.sent !== null) {
    if (stream.sent?.ids !== ids) stream.sent = { ids, parts: [] }
    stream.sent.parts.push({ from: at, until: next, seq })
    if (next === ids.length && includesNothing(stream)) stream.sent = null
  }
}

/** Whether what was sent has no change that the stream lacks. @param {Stream} stream */
const includesNothing = ({ sent, seq }) => sent === null || sent.parts.every((part) => part.seq <= seq)

/**
 * The ids that a stream of all ids lacks.
 * @param {import('./changes.js').Changes} changes that cover it @param {Stream} stream
 * @returns {readonly string[]} where nothing is left out, the array of all streams at that point
 */
function withoutSent (changes, stream) {
  const ids = changes.since(stream.seq)
  const { sent } = stream
  stream.sent = null
  if (sent === null) return ids
  const indexOf = indexesIn(sent.ids)
  return ids.filter((id) => {
    const index = indexOf.get(id) ?? -1
    const part = sent.parts.find(({ from, until }) => index >= from && index < until)
    return part === undefined || changes.lastSeqOf(id) > part.seq
  })
}

/** @param {readonly string[]} ids */
function indexesIn (ids) {
  const cached = indexes.get(ids)
  if (cached) return cached
  const made = new Map(ids.map((id, index) => [id, index]))
  indexes.set(ids, made)
  return made
}
