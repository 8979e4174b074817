/**
 * Follows one partition of a feed by its log, and puts what it reads into its store of a view. A log of arrivals has no values: the set
 * that has them is read once (set-history.js), and then what the entries name (arrivals-newer.js).
 *
 *     trimmed | not read yet  <- history, newest first |  read  | -> newer entries, as they come
 *             |               oldest                newest      |
 *
 * Newer entries are read with a blocking XREAD (log-newer.js), without blocking while some may be missing; the next one is sent before its
 * reply's entries go into the store. At the same time history is read backwards (log-history.js) until nothing older can be live. Then
 * the view is complete.
 *
 * A reply is as of the time its command was sent, if it had all there was. One that reached its size limit may not have, so a
 * view that cannot keep up shows as behind.
 *
 * A log is trimmed from its old end only. So nothing was trimmed between two reads if the last entry of the first is still
 * there after the second. This is checked when a session begins, and while the view is behind. If the entry is gone, the
 * partition is read again: what was missed is no longer live, but it counts among the newest `maxItems`.
 */
import { isWider } from '../feeds/index.js'
import { compareEntryIds, logOf, newestEntryId } from '../layouts/index.js'
import { createArrivalsNewer, createPut } from './arrivals-newer.js'
import { BEHIND_MS, UNKNOWN_LAG_MS } from './lag.js'
import { createLogHistory } from './log-history.js'
import { createLogIntake } from './log-intake.js'
import { createLogNewer } from './log-newer.js'
import { newPart, originOf, recoverPart, startPart } from './log-partition.js'
import { createReplySize } from './reply-size.js'
import { createRoundWaiters } from './round-waiters.js'
import { createSetHistory } from './set-history.js'

/** a log of arrivals whose feed was dropped and created again is noticed so soon, where the view has items of the one before; else later */
const CHECK_EVERY_MS = 100
const CHECK_CHANGES_EVERY_MS = 1000

/** @typedef {import('../store/index.js').Connection} Connection */
/** @typedef {import('../layouts/index.js').Retention} Retention */
/** @typedef {import('./partition-follower.js').Options} Options */
/**
 * @typedef {object} Newer
 * @property {ReturnType<typeof createLogNewer>['read']} read
 * @property {(entries: import('../layouts/index.js').LogEntry[], connection: Connection, isFull: boolean) => Promise<void>} take
 *
 * @typedef {object} Older
 * @property {boolean} isIncomplete whether some of it is missing
 * @property {number | undefined} heldMs everything newer is in the store, undefined = it is not known yet
 * @property {() => void} begin reads all of it, again
 * @property {() => void} rewind continues behind what is stored
 * @property {(connection: Connection) => Promise<any>} read the next piece
 * @property {(piece: any) => Promise<void>} take
 */

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (part: string) => string, partitions: number,
 *   store: import('./view.js').Store, retention: Retention, now: () => number,
 *   onSkipped: (reason: string, error?: Error) => void, onRebuilt: (why: string) => void, isWhole?: boolean,
 *   readingOf?: (of: Reading) => { newer: Newer, older: Older } }} parts of one partition of so many; `isWhole`: what was there before is
 *   read, too
 */
export function createLogFeed ({
  layout, key, partitions, store, retention: initialRetention, now, onSkipped, onRebuilt, isWhole, readingOf = readingWhole
}) {
  let retention = initialRetention
  let asOf = 0
  /** @type {Connection | null} */
  let session = null
  const log = logOf(layout)
  const part = newPart(log, key, store, isWhole)
  const rounds = createRoundWaiters()
  const size = createReplySize(partitions)
  const intake = createLogIntake({ log, onSkipped })
  const { newer, older } = readingOf({ layout, key, part, size, intake, retention: () => retention, now, onSkipped, onRebuilt })

  /** Brings the store to a time. @param {number} nowMs */
  const settle = (nowMs) => store.advance(nowMs, part.arrival)

  /** @param {Connection} connection */
  async function recover (connection) {
    settle(now())
    if (await recoverPart(connection, log, part)) onRebuilt('the next entries of the log were trimmed, or it is another log')
  }

  function reset () {
    Object.assign(part, { entryId: null, history: null }).store.clear()
    onRebuilt('entries that were read could not be stored')
  }

  /** @param {number} askedMs @param {boolean} isAll whether the reply had all there was */
  function roundEnded (askedMs, isAll) {
    if (isAll) asOf = askedMs
    settle(now())
    rounds.begin()(true)
  }

  return {
    /** When the last read was sent, ms since 1970. */
    get asOf () { return asOf },
    /** Whether everything that is live has been read. */
    get isComplete () { return asOf > 0 && part.entryId !== null && part.history === null },

    /**
     * Everything newer than that time is in the store: answers of the newest need no more.
     * @returns {number | null | undefined} ms; null = everything is, undefined = it is not known yet
     */
    get heldMs () {
      if (asOf === 0 || part.entryId === null) return undefined
      return part.history === null ? null : older.heldMs
    },

    settle,

    /** To the node that is followed; null = none is. */
    get connection () { return session },

    /**
     * The entry up to which the store has everything, and since when there was none behind it.
     * @param {number | null} lagMs of the node; null = unknown @param {boolean} isDecided nothing of what is before is still to come
     * @returns {{ readMs: number, offset: import('../item/index.js').LogOffset }}
     */
    position (lagMs, isDecided) {
      const [ms, n] = ((isDecided ? part.decided : null) ?? part.taken).split('-').map(Number)
      return { readMs: Math.max(0, Math.floor(asOf - (lagMs ?? UNKNOWN_LAG_MS))), offset: { ms, n, versions: 0, isEnd: true } }
    },

    /** Resolves when the store has what a node has now. @param {import('../store/index.js').Router} node */
    async caughtUp (node) {
      const newest = await newestEntryId(node, part.name)
      while (compareEntryIds(part.taken, newest) < 0) await rounds.next()
    },

    /** @param {Retention} changed */
    setRetention (changed) {
      const isMore = isWider(retention.windowMs, changed.windowMs) || isWider(retention.maxItems, changed.maxItems)
      retention = changed
      store.setRetention({ windowMs: changed.windowMs, maxItems: layout.log ? changed.maxItems : 0 })
      if (isMore && part.entryId !== null) older.begin()
    },

    /**
     * One session: runs until the connection ends.
     * @param {Connection} connection @param {Options} options
     * @returns {Promise<void>} rejects
     */
    async follow (connection, options) {
      try {
        if (part.entryId === null) await startPart(connection, log, part)
        // before the first reply, the node may be behind what was read
        const answered = () => {
          session = connection
          options.answered()
        }
        await followLog(connection, { ...options, answered }, { log, part, newer, older, size, now, recover, roundEnded })
      } catch (error) {
        // not a failure of the connection: entries that were read may not be stored
        if (error.code === undefined) reset()
        if (error.code === 'SERVER_LOST') size.lost()
        throw error
      } finally {
        session = null
      }
    }
  }
}

/**
 * @typedef {{ layout: import('../layouts/index.js').Layout, key: (part: string) => string, part: import('./log-partition.js').Part,
 *   size: ReturnType<typeof createReplySize>, intake: ReturnType<typeof createLogIntake>, retention: () => Retention, now: () => number,
 *   onSkipped: (reason: string, error?: Error) => void, onRebuilt: (why: string) => void }} Reading
 */

/** @param {Reading} of @returns {{ newer: Newer, older: Older }} of everything that is stored */
function readingWhole (of) {
  const { layout, part } = of
  if (layout.log) return { newer: createLogNewer({ ...of, log: layout.log }), older: createLogHistory(of) }
  const put = createPut(layout, part.store)
  const older = createSetHistory({ ...of, put })
  return { newer: createArrivalsNewer({ ...of, put, older }), older }
}

/**
 * @param {Connection} connection @param {Options} options
 * @param {{ log: import('../layouts/index.js').Log, part: import('./log-partition.js').Part, newer: Newer, older: Older,
 *   size: ReturnType<typeof createReplySize>, now: () => number, recover: (connection: Connection) => Promise<void>,
 *   roundEnded: (askedMs: number, isAll: boolean) => void }} feed
 * @returns {Promise<never>}
 */
async function followLog (connection, options, { log, part, newer, older, size, now, recover, roundEnded }) {
  const { blockMs, answered, taken = () => {} } = options
  const readNewer = (/** @type {boolean} */ isChecked) =>
    handledLater(newer.read(connection, { blockMs: older.isIncomplete || isChecked ? undefined : blockMs, isChecked }))
  const readOlder = () => handledLater(older.read(connection))
  let checkedMs = performance.now()
  /** Whether the log has to be the same as before: what is stored beside it would not show that it is another one. */
  const isDue = () => {
    if (!log.isIndex || performance.now() - checkedMs < (part.isWhole ? CHECK_EVERY_MS : CHECK_CHANGES_EVERY_MS)) return false
    checkedMs = performance.now()
    return true
  }
  older.rewind()
  let newerReply = readNewer(true)
  let olderReply = readOlder()
  for (;;) {
    const { entries, askedMs, isFull, isGap } = await newerReply
    if (isGap) {
      taken()
      await olderReply
      await recover(connection)
      // the history that was read is not stored
      older.rewind()
      newerReply = readNewer(true)
      olderReply = readOlder()
      continue
    }
    answered()
    const last = entries.at(-1)
    const newest = last && { entryId: last.entryId, origin: originOf(log, last) }
    size.adjust(isFull)
    if (log.isIndex) {
      // values are asked for on the same connection, before the next read blocks it
      await newer.take(entries, connection, isFull)
      taken()
    }
    if (newest) Object.assign(part, newest)
    newerReply = readNewer(isDue() || isFull || now() - askedMs > BEHIND_MS)
    if (!log.isIndex) {
      await newer.take(entries, connection, isFull)
      taken()
    }
    if (older.isIncomplete) {
      const piece = await olderReply
      olderReply = readOlder()
      await older.take(piece)
    }
    roundEnded(askedMs, !isFull)
  }
}

/**
 * A promise that is awaited later: its rejection is not unhandled until then.
 * @template T
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
function handledLater (promise) {
  promise.catch(() => {})
  return promise
}
