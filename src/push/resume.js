/**
 * Streams that resume from a position. Each waits until the view has everything it was sent before; then the changes since
 * are looked up for all that wait (changesSince), and the streams continue like the others. If the lookup fails because
 * the oldest position is too old or has too many changes, the older half is reset and the younger half is looked up again,
 * so one old position does not reset all. Of streams of some ids, those with the most changed ids are reset: no client resets another
 * that wants less.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { decodeOffsets, partitionOf } from '../item/index.js'
import { compareEntryIds } from '../layouts/index.js'
import { beginPart, checkSame, createEntriesAtOnce, isUnreadable, MAX_ENTRIES, readBehind } from '../view/index.js'
import { reset } from './delivery.js'
import { compareAge, compareOffsets, positionAt, reachedFrom } from './positions.js'
import { IdIndex } from './subscribers.js'

/** Longest wait of a stream for a view that is behind its position. */
const REACHED_WITHIN_MS = 5000
/** Longest time for all lookups of streams that wait together; streams that are left are reset. */
const LOOK_UP_WITHIN_MS = 10_000
/** The same for a stream without items in its snapshot, which lookups that fail are repeated for: a reset would lose what it missed. */
const REPEATED_WITHIN_MS = 60_000
const CHECK_MS = 10
/** Pause before a lookup, since many clients reconnect at the same time. */
const GATHER_MS = 50
/** Most ids of all clients that are looked up together; beyond it some clients are reset. */
const MAX_IDS = 100_000
const MAX_BYTES = 256 * 1024 * 1024
const RETRY_MS = 20
/** The event loop runs after this time. */
const SLICE_MS = 3

/** @typedef {import('./hub.js').View} View */
/** @typedef {import('./stream.js').Viewer} Stream */
/**
 * @typedef {{ stream: Stream, position: string, sinceMs: number, tail?: number, firstMs?: number, hasFailed?: boolean }} Resuming
 *   `firstMs`: of its first lookup, `hasFailed`: one has
 */
/** @typedef {Omit<Resuming, 'position'> & { position: string | import('./positions.js').Start }} Waiting */
/** @typedef {import('../item/index.js').LogOffset} LogOffset */
/** @typedef {{ ms: number, n: number, seq: number }} Entry `seq`: in the order of reading */
/**
 * @typedef {{ queries: Pick<import('../view/index.js').Queries, 'ofLog'>, view: View,
 *   clients: ({ position: string, tail?: number } & import('./subscribers.js').Wants)[], now: () => number, signal: AbortSignal }} Lookup
 * @typedef {(index: number) => { ids: readonly string[], at: number }} Missed the ids that a client missed: those from `at` on
 */
/**
 * @typedef {object} Parts
 * @property {string} feed
 * @property {() => View | null} view null: none is complete
 * @property {() => number} viewVersion changes whenever changes may have been missed
 * @property {Pick<import('../view/index.js').Queries, 'ofLog'>} queries
 * @property {(stream: Stream) => void} begin from now on, changes are noted for the stream
 * @property {() => number} now
 * @property {AbortSignal} signal
 * @property {import('pino').Logger} log
 */

/** @param {Parts} parts */
export function createResuming ({ feed, view, viewVersion, queries, begin, now, signal, log }) {
  /** @type {Map<Stream, Waiting>} */
  const waiting = new Map()
  /** @type {Promise<void> | null} */
  let running = null
  /** The stream gets all changes since its position, and no snapshot. @param {Resuming} one */
  const again = (one) => { waiting.set(one.stream, { ...one, sinceMs: performance.now() }) }
  const lookUp = createLookup({ feed, view, viewVersion, queries, begin, again, now, signal, log })

  async function run () {
    while (waiting.size > 0 && !signal.aborted) {
      await sleep(GATHER_MS, undefined, { signal }).catch(() => {})
      const from = view()
      const reached = from === null ? [] : await takeReached(from)
      const isOfAll = (/** @type {Resuming} */ { stream }) => stream.ids === null
      if (from !== null && reached.length > 0) {
        // separately, since either may have too many changes
        await lookUp(from, reached.filter((one) => !isOfAll(one)))
        await lookUp(from, reached.filter(isOfAll))
      } else await sleep(CHECK_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** Those whose positions the view has reached. @param {View} from @returns {Promise<Resuming[]>} the oldest first */
  async function takeReached (from) {
    await placeAll(from)
    if (view() !== from) return []
    const isReached = reachedFrom(from)
    /** @type {Resuming[]} */
    const reached = []
    for (const { position, ...rest } of [...waiting.values()]) {
      // one that came in the meantime
      if (typeof position !== 'string') continue
      const answer = isReached(position)
      if (answer === false && performance.now() - rest.sinceMs < REACHED_WITHIN_MS) continue
      waiting.delete(rest.stream)
      if (answer) reached.push({ ...rest, position })
      else resetResuming(rest.stream, answer === null ? 'expired' : 'unknown')
    }
    return reached.sort((a, b) => compareAge(from, a.position, b.position))
  }

  /** Finds where streams begin that have no position. They wait while no node can be asked. @param {View} from */
  async function placeAll (from) {
    const unplaced = () => [...waiting.values()].filter(({ position }) => typeof position !== 'string')
    for (const one of unplaced()) {
      const { stream } = one
      const start = /** @type {import('./positions.js').Start} */ (one.position)
      try {
        const position = await positionAt(start, { view: from, queries, filter: stream.seal?.filter ?? null })
        if (!waiting.has(stream)) continue
        stream.reached = { position }
        waiting.set(stream, 'tail' in start ? { ...one, position, tail: start.tail } : { ...one, position })
      } catch (error) {
        const nowMs = performance.now()
        const lost = error.retryable ? unplaced().filter(({ sinceMs }) => nowMs - sinceMs >= REACHED_WITHIN_MS) : [one]
        for (const { stream } of lost) {
          waiting.delete(stream)
          resetResuming(stream, 'unknown')
        }
        if (lost.length > 0) {
          log.warn({ feed, code: error.code, reason: error.message, clients: lost.length }, 'where streams begin could not be found')
        }
        if (error.retryable) return
      }
    }
  }

  function start () {
    running ??= run().catch((error) => {
      log.error({ feed, err: error }, 'resuming streams failed')
      for (const { stream } of waiting.values()) resetResuming(stream, 'unknown')
      waiting.clear()
    }).finally(() => {
      running = null
      if (waiting.size > 0 && !signal.aborted) start()
    })
  }

  return {
    /** @param {Stream} stream @param {string | import('./positions.js').Start} position */
    add (stream, position) {
      stream.isResuming = true
      waiting.set(stream, { stream, position, sinceMs: performance.now() })
      start()
    },

    /** @param {Stream} stream that is over */
    remove (stream) { waiting.delete(stream) },

    /** Resolves when no lookup is in progress; `signal` ends them. */
    async done () { await running }
  }
}

/**
 * @param {Parts & { again: (one: Resuming) => void }} parts `again`: looks up one more time
 * @returns {(from: View, all: Resuming[]) => Promise<void>} `all`: the oldest first
 */
function createLookup ({ feed, view, viewVersion, queries, begin, again, now, signal, log }) {
  /**
   * @param {View} from
   * @param {Resuming[]} some
   * @param {AbortSignal} over
   * @returns {Promise<true | Resuming[]>} those that are to be reset before the others are looked up again
   */
  async function lookUpTogether (from, some, over) {
    if (view() !== from) some.forEach(again)
    if (some.length === 0 || view() !== from) return true
    const version = viewVersion()
    for (const { stream } of some) begin(stream)
    try {
      const clients = some.map(({ position, tail, stream: { ids, beginnings } }) => ({ position, tail, ids, beginnings }))
      const missed = await changesSince({ queries, view: from, clients, now, signal: over })
      some.forEach((one, index) => {
        const { stream } = one
        if (viewVersion() !== version) {
          return stream.limit === 0 ? again({ ...one, firstMs: undefined, hasFailed: false }) : resetResuming(stream, 'rebuilt')
        }
        const { ids, at } = missed(index)
        stream.list = at < ids.length ? { name: 'items', ids, at } : null
        stream.isResuming = false
      })
      return true
    } catch (error) {
      if (error instanceof TooMany) return error.clients.map((index) => some[index])
      // older positions have at least as many changes
      if (error.code === 'POSITION_EXPIRED' || error.code === 'POSITION_INVALID') return some.slice(0, Math.ceil(some.length / 2))
      if (!signal.aborted) failed(some, error, error.retryable || over.aborted)
      return true
    }
  }

  /** @param {Resuming[]} some @param {Error & { code?: string }} error @param {boolean} mayPass it may succeed later */
  function failed (some, error, mayPass) {
    const nowMs = performance.now()
    /** @type {Resuming[]} */
    const lost = []
    const isFirst = some.some(({ hasFailed }) => !hasFailed)
    for (const one of some) {
      const { stream, firstMs = nowMs } = one
      const withinMs = stream.limit === 0 ? REPEATED_WITHIN_MS : LOOK_UP_WITHIN_MS
      if (mayPass && nowMs - firstMs < withinMs) again({ ...one, hasFailed: true })
      else lost.push(one)
    }
    for (const { stream } of lost) resetResuming(stream, 'unknown', true)
    if (!isFirst && lost.length === 0) return
    log.warn({ feed, code: error.code, reason: error.message, clients: some.length, resets: lost.length },
      'changes for resuming streams could not be read')
  }

  return async (from, all) => {
    const nowMs = performance.now()
    const untilMs = nowMs + LOOK_UP_WITHIN_MS
    for (const one of all) one.firstMs ??= nowMs
    const over = AbortSignal.any([signal, AbortSignal.timeout(LOOK_UP_WITHIN_MS)])
    let left = all
    while (left.length > 0) {
      left = left.filter(({ stream }) => !stream.isOver)
      const found = await lookUpTogether(from, left, over)
      if (signal.aborted || found === true) return
      const lost = performance.now() > untilMs ? left : found
      for (const { stream } of lost) resetResuming(stream, 'expired', true)
      left = left.filter((one) => !lost.includes(one))
    }
  }
}

/**
 * @param {Stream} stream @param {string} reason
 * @param {boolean} [hasBegun] changes are noted for it: they follow a snapshot without items
 */
function resetResuming (stream, reason, hasBegun = false) {
  stream.isResuming = false
  reset(stream, reason)
  stream.isFromHead = hasBegun && stream.limit === 0
}

/** Changed ids of clients that are looked up together. */
class TooMany extends Error {
  /** @param {number[]} clients that have most of them */
  constructor (clients) {
    super('too many changes since')
    this.clients = clients
  }
}

/**
 * The ids that changed since the positions of clients, looked up for many clients at once.
 *
 * The entries after the oldest position are read from a node, once, up to the position of the view. Ids are kept in the order of their last
 * change; a client missed those after its own position.
 *
 * The newest version of each id is taken from the view afterwards, so nothing newest is missed and nothing goes back.
 * @param {Lookup} lookup with positions that the view has reached
 * @returns {Promise<Missed>}
 * @throws {FreshetError | TooMany} POSITION_EXPIRED trimmed or too much, for the oldest position and perhaps not for all
 */
async function changesSince ({ queries, view, clients, now, signal }) {
  const { feed, partitions } = view.definition
  const positions = clients.map(({ position }) => decodeOffsets(feed, position, partitions))
  const until = decodeOffsets(feed, view.position(), partitions).offsets
  const parts = await beginParts({ queries, definition: view.definition, positions })
  const collected = createCollected({ clients, partitions })
  const size = createEntriesAtOnce()
  let sliceMs = performance.now()
  const isThere = (/** @type {{ entryId: string }} */ { entryId }, /** @type {number} */ partition) =>
    compareEntryIds(entryId, `${until[partition].ms}-${until[partition].n}`) >= 0
  for (let isDone = false; !isDone;) {
    signal.throwIfAborted()
    /** @type {import('../view/index.js').Read} */
    const { found, isSure, count, log } = await queries.ofLog(feed, (connection, { definition, log }) => {
      checkSame(view.definition, definition)
      return readBehind(connection, { feed, parts, log, count: size.of(MAX_ENTRIES, partitions), definition, nowMs: now() })
    })
    for (const [partition, entries] of found.entries()) {
      size.learn(entries, (entry) => entry.bytes.length)
      for (const entry of entries) {
        collected.add(log, entry, partition)
        Object.assign(parts[partition], { entryId: entry.entryId, versions: 0 })
        if (performance.now() - sliceMs < SLICE_MS) continue
        await setImmediate()
        sliceMs = performance.now()
      }
    }
    if (collected.isTooMuch()) throw collected.tooMany() ?? expired(feed, 'too many changes since')
    const isRead = parts.every(isThere)
    if (isRead && isSure.includes(false)) throw expired(feed, 'the changes since cannot be determined')
    isDone = isRead && !isSure.includes(null)
    // the node may lag behind the view, or not have the log yet
    if (!isDone && found.every((entries) => entries.length < count)) await sleep(RETRY_MS, undefined, { signal })
  }
  return collected.missedBy(positions)
}

/**
 * Where reading begins in each partition: at the oldest position.
 * @param {{ queries: Lookup['queries'], definition: View['definition'], positions: ReturnType<typeof decodeOffsets>[] }} parts
 * @returns {Promise<import('../view/index.js').Part[]>}
 */
async function beginParts ({ queries, definition, positions }) {
  const { parts } = await queries.ofLog(definition.feed, async (connection, { definition: current, log, keys }) => {
    checkSame(definition, current)
    return {
      parts: await Promise.all(keys.map((key, partition) => {
        const oldest = positions.reduce((a, b) => compareDelivered(b.offsets[partition], a.offsets[partition]) < 0 ? b : a)
        return beginPart(connection, log, key, { position: oldest, partition, share: 0, readMs: oldest.readMs })
      }))
    }
  })
  return parts
}

/**
 * Entries that were read, and the ids in them.
 * @param {{ clients: Lookup['clients'], partitions: number }} options
 */
function createCollected ({ clients, partitions }) {
  const isOfAll = clients.some(({ ids }) => ids === null)
  /** Clients of some ids, by their index. @type {IdIndex<number>} */
  const wants = new IdIndex()
  clients.forEach((client, index) => wants.add(index, client))
  /** Ids that clients with beginnings want, by their index. @type {Map<number, Set<string>>} */
  const found = new Map()
  /** Entries by partition. @type {Entry[][]} */
  const read = Array.from({ length: partitions }, () => [])
  /** The number of the last entry with each id, in this order. @type {Map<string, number>} */
  const lastSeqs = new Map()
  let seq = 0
  let bytes = 0

  return {
    isTooMuch: () => lastSeqs.size > MAX_IDS || bytes > MAX_BYTES,

    /** Where ids are too many: the clients of some ids that have most of them. @returns {TooMany | null} */
    tooMany () {
      if (isOfAll || lastSeqs.size <= MAX_IDS) return null
      const counted = clients.map(({ ids, beginnings }, index) =>
        ({ index, count: beginnings.length > 0 ? found.get(index)?.size ?? 0 : ids?.size ?? 0 })).sort((a, b) => b.count - a.count)
      let sum = 0
      return new TooMany(counted.filter(({ count }) => {
        const isOne = sum < MAX_IDS / 2
        sum += count
        return isOne
      }).map(({ index }) => index))
    },

    /**
     * @param {import('../layouts/index.js').Log} log
     * @param {{ ms: number, entryId: string, bytes: Buffer }} entry
     * @param {number} partition
     */
    add (log, entry, partition) {
      bytes += entry.bytes.length
      read[partition].push({ ms: entry.ms, n: Number(entry.entryId.slice(entry.entryId.indexOf('-') + 1)), seq: ++seq })
      for (const id of idsOf(log, entry.bytes)) {
        if (!isOfAll && !wants.has(id)) continue
        lastSeqs.delete(id)
        lastSeqs.set(id, seq)
        wants.each(id, (index) => {
          if (clients[index].beginnings.length > 0) found.set(index, (found.get(index) ?? new Set()).add(id))
        })
      }
    },

    /** @param {ReturnType<typeof decodeOffsets>[]} positions of the clients @returns {Missed} */
    missedBy (positions) {
      const ids = [...lastSeqs.keys()]
      const seqs = [...lastSeqs.values()]
      /** @type {Map<number, Entry> | null} */
      let bySeq = null
      /**
       * The ids that changed last, in the order of their changes. Other clients may have older positions in a partition, whose entries do
       * not count.
       * @param {readonly string[]} missed @param {number} tail @param {number[]} firsts by partition
       */
      function lastOf (missed, tail, firsts) {
        bySeq ??= new Map(read.flat().map((entry) => [entry.seq, entry]))
        const entryOf = (/** @type {string} */ id) => /** @type {Entry} */ (bySeq?.get(lastSeqs.get(id) ?? 0))
        const found = missed.filter((id) => entryOf(id).seq >= firsts[partitionOf(Buffer.from(id, 'latin1'), partitions)])
        return found.sort((a, b) => compareOffsets(entryOf(a), entryOf(b))).slice(-tail)
      }
      return (index) => {
        const firsts = positions[index].offsets.map((offset, partition) => firstAfter(read[partition], offset))
        const first = Math.min(...firsts)
        const { ids: own, beginnings, tail } = clients[index]
        if (own === null && tail !== undefined) return { ids: lastOf(ids, tail, firsts), at: 0 }
        if (own === null) return { ids, at: firstWhere(seqs.length, (i) => seqs[i] >= first) }
        const named = beginnings.length > 0 ? found.get(index) ?? [] : own
        const seqOf = (/** @type {string} */ id) => lastSeqs.get(id) ?? 0
        const missed = [...named].filter((id) => seqOf(id) >= first).sort((a, b) => seqOf(a) - seqOf(b))
        return { ids: tail === undefined ? missed : lastOf(missed, tail, firsts), at: 0 }
      }
    }
  }
}

/**
 * Compares how much was delivered: of the same entry, some versions are less than all, which is 0.
 * @param {LogOffset} a
 * @param {LogOffset} b
 */
const compareDelivered = (a, b) => compareOffsets(a, b) || (a.versions || Infinity) - (b.versions || Infinity) || 0

/** `seq` of the first entry that was not delivered entirely. @param {Entry[]} entries @param {LogOffset} offset */
function firstAfter (entries, offset) {
  const at = firstWhere(entries.length, (i) => compareOffsets(entries[i], offset) > (offset.versions > 0 ? -1 : 0))
  return entries[at]?.seq ?? Infinity
}

/**
 * Binary search: the first index with a property that all later ones have.
 * @param {number} length
 * @param {(index: number) => boolean} isTrue
 */
function firstWhere (length, isTrue) {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isTrue(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** @param {import('../layouts/index.js').Log} log @param {Buffer} entry @returns {Set<string>} empty for an unreadable entry */
function idsOf (log, entry) {
  /** @type {Set<string>} */
  const ids = new Set()
  try {
    log.each(entry, (bytes, idAt, idEnd) => { ids.add(bytes.toString('latin1', idAt, idEnd)) })
  } catch (error) {
    if (!isUnreadable(error)) throw error
  }
  return ids
}

/** @param {string} feed @param {string} why */
const expired = (feed, why) =>
  new FreshetError('POSITION_EXPIRED', `the position in feed ${feed} is too old: ${why}; start again without it`)
