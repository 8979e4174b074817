/**
 * Follows a feed whose layout keeps a log, and puts what it reads into the stores of a view.
 *
 *     trimmed | not read yet  <- history, newest first |  read  | -> newer, as they come
 *             |               oldest                newest      |
 *
 * Newer entries are read by XREAD, which waits on the server; the next question is on its way while an answer is taken in.
 * History is read backwards at the same time (log-history.js), until nothing older can be live. Then the view is in.
 *
 * An answer is as of the time it was asked for when it has all there was; one that is as large as it may be has not, so
 * whoever cannot keep up is seen to be behind.
 *
 * That nothing was trimmed between two reads is known when the last entry read is still there after the next ones were
 * read, as a log is trimmed from its old end only. It is looked for when an epoch begins, and while the view is behind. If
 * it is gone, the partition is read anew: what was missed is not live any more, but it counts among the newest `maxItems`.
 *
 * How much is asked for at once is in log-answer-size.js, how an entry gets into a store in log-intake.js.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isWider } from '../feeds/definitions.js'
import { BEFORE_ALL, comparePlaces, entriesAfter, entriesBefore, newestPlace, placeBehind } from '../layouts/log.js'
import { createAnswerSize } from './log-answer-size.js'
import { createLogHistory, historyBefore } from './log-history.js'
import { createLogIntake } from './log-intake.js'
import { createOrigins } from './origins.js'
import { createRounds } from './rounds.js'

/** a later answer is one of a view that is behind */
const BEHIND_MS = 1000
/** how long a node that has not got as far as the view gets for it */
const CATCH_UP_MS = 1000
const CATCH_UP_LOOK_MS = 20
/** how far a node may be behind that does not say */
const UNKNOWN_LAG_MS = 1000

/** @typedef {import('../layouts/log.js').LogEntry} LogEntry */
/** @typedef {import('../store/connection.js').Connection} Connection */
/** @typedef {import('./shelves.js').Store} Store */
/** @typedef {import('./log-history.js').History} History */
/**
 * @typedef {{ name: string, aheadName: string, store: Store, place: string | null, origin: string, taken: string,
 *   arrival: number, origins: ReturnType<typeof createOrigins>, history: History | null }} Part one partition. `place`, `origin`: of
 *   the newest entry read, null before the first epoch; `taken`: of the newest taken in */

/**
 * @param {{ log: import('../layouts/log.js').Log, key: (partition: number) => (part: string) => string, stores: Store[],
 *   retention: import('../layouts/index.js').Retention, now: () => number, onPassedOver: (reason: string, error?: Error) => void,
 *   onRebuilt: (why: string) => void }} parts
 */
export function createLogFeed ({ log, key, stores, retention: given, now, onPassedOver, onRebuilt }) {
  let retention = given
  let asOf = 0
  /** @type {Part[]} */
  const parts = stores.map((store, partition) => ({
    name: key(partition)(log.part), aheadName: key(partition)('ahead'), store, place: null, origin: '', taken: BEFORE_ALL, arrival: 0, origins: createOrigins(), history: null
  }))
  const rounds = createRounds()
  const size = createAnswerSize(stores.length)
  const intake = createLogIntake({ log, onPassedOver })
  const older = createLogHistory({ parts, size, intake, retention: () => retention, now })

  /** At the newest entry of its log, with all others before it. @param {Connection} connection @param {Part} part */
  async function begin (connection, part) {
    const [newest] = await entriesBefore(connection, part.name, { before: null, count: 1 })
    part.place = newest?.place ?? BEFORE_ALL
    part.origin = newest ? originOf(newest) : ''
    part.taken = part.place
    part.arrival = 0
    part.origins = createOrigins()
    part.history = part.place === BEFORE_ALL ? null : historyBefore(placeBehind(part.place), 0, part.origins)
  }

  /** What tells it from an entry of another log at the same place. @param {LogEntry} entry */
  function originOf ({ bytes }) {
    try {
      return log.head(bytes).origin
    } catch {
      return ''
    }
  }

  /** Whether the newest entry that was read is where it was. @param {Connection} connection @param {Part} part */
  async function isRead (connection, { name, place, origin }) {
    if (place === null || place === BEFORE_ALL) return true
    const [entry] = await entriesBefore(connection, name, { before: placeBehind(place), count: 1 })
    return entry?.place === place && originOf(entry) === origin
  }

  /**
   * The entry that was read last is not there: the node has not got so far yet, or it was trimmed, or this is another log.
   * @param {Connection} connection @param {number} partition
   */
  async function recover (connection, partition) {
    const part = parts[partition]
    const place = /** @type {string} */ (part.place)
    settle(now())
    const { items, tombstones } = part.store.stats()
    for (const untilMs = performance.now() + CATCH_UP_MS; performance.now() < untilMs; await sleep(CATCH_UP_LOOK_MS)) {
      const newest = await newestPlace(connection, part.name)
      const isFurther = comparePlaces(newest, place) >= 0
      if (isFurther || (newest === BEFORE_ALL && items + tombstones === 0)) break
    }
    if (await isRead(connection, part)) return
    part.store.clear()
    part.place = null
    await begin(connection, part)
    // where nothing is and nothing was, nothing is lost
    if (items + tombstones > 0 || part.history !== null) onRebuilt('what comes next in the log was trimmed, or the log is another one')
  }

  /**
   * @param {Connection} connection @param {{ blockMs?: number, isChecked: boolean }} options
   */
  async function read (connection, { blockMs, isChecked }) {
    const askedMs = now()
    const count = size.entries()
    const from = parts.map(({ name, place }) => ({ name, after: /** @type {string} */ (place) }))
    const [found, ...there] = await Promise.all([
      entriesAfter(connection, from, { count, blockMs }),
      // behind it on the same connection, so it is answered after it
      ...(isChecked ? parts.map((part) => isRead(connection, part)) : [])
    ])
    return { found, askedMs, isFull: found.some((entries) => entries.length === count), gaps: there.flatMap((isIt, partition) => isIt ? [] : [partition]) }
  }

  /** @param {LogEntry[][]} found by partition */
  async function takeNewer (found) {
    for (let partition = 0; partition < parts.length; partition++) {
      const part = parts[partition]
      for (const entry of found[partition]) {
        const count = intake.take(part.store, entry, part.origins, () => part.arrival + 1)
        part.arrival += count
        part.taken = entry.place
        if (intake.isOver(count)) await intake.rest()
      }
      size.learn(found[partition])
    }
  }

  /** Brings the stores to a time. @param {number} nowMs */
  function settle (nowMs) {
    for (const { store, arrival } of parts) store.advance(nowMs, arrival)
  }

  /** Nothing of it is known any more. */
  function anew () {
    for (const part of parts) Object.assign(part, { place: null, history: null }).store.clear()
    onRebuilt('what was read could not be taken in')
  }

  return {
    /** When it was asked for what was read last, ms since 1970. */
    get asOf () { return asOf },
    /** Whether all that is live has been read. */
    get isIn () { return asOf > 0 && parts.every(({ place, history }) => place !== null && history === null) },

    settle,

    /**
     * By which entry of each partition everything was taken in, and since when nothing was behind it.
     * @param {number | null} lagMs of the node; null = not known
     * @returns {import('../item/position.js').LogPosition}
     */
    position: (lagMs) => ({
      readMs: Math.max(0, Math.floor(asOf - (lagMs ?? UNKNOWN_LAG_MS))),
      places: parts.map(({ taken }) => {
        const [ms, n] = taken.split('-').map(Number)
        return { ms, n, versions: 0, isEnd: true }
      })
    }),

    /**
     * Resolves when everything is taken in that a node has now.
     * @param {Connection} connection to it
     */
    async caughtUp (connection) {
      const newest = await Promise.all(parts.map(({ name }) => newestPlace(connection, name)))
      while (parts.some(({ taken }, partition) => comparePlaces(taken, newest[partition]) < 0)) await rounds.next()
    },

    /** @param {import('../layouts/index.js').Retention} changed */
    setRetention (changed) {
      const isMore = isWider(retention.windowMs, changed.windowMs) || isWider(retention.maxItems, changed.maxItems)
      retention = changed
      for (const part of parts) {
        part.store.setRetention(changed)
        // what was let go may be live again
        if (isMore && part.place !== null && part.taken !== BEFORE_ALL) part.history = historyBefore(placeBehind(part.taken), part.arrival, createOrigins())
      }
    },

    /**
     * One epoch: until the connection ends.
     * @param {Connection} connection @param {import('./following.js').Options} options
     * @returns {Promise<void>} rejects
     */
    async follow (connection, options) {
      try {
        await followed(connection, options)
      } catch (error) {
        // what was read may not have been taken in
        if (error.code === undefined) anew()
        throw error
      }
    }
  }

  /** @param {Connection} connection @param {import('./following.js').Options} options */
  async function followed (connection, { blockMs, answered }) {
    for (const part of parts) {
      if (part.place === null) await begin(connection, part)
    }
    older.askAgain()
    const askNewer = (/** @type {boolean} */ isChecked) => quietly(read(connection, { blockMs: older.isWanted ? undefined : blockMs, isChecked }))
    const askOlder = () => quietly(older.read(connection))
    let newer = askNewer(true)
    let pieces = askOlder()
    for (;;) {
      const { found, askedMs, isFull, gaps } = await newer
      if (gaps.length > 0) {
        await pieces
        for (const partition of gaps) await recover(connection, partition)
        // what had come of history was not taken in
        older.askAgain()
        newer = askNewer(true)
        pieces = askOlder()
        continue
      }
      answered()
      parts.forEach((part, partition) => {
        const last = found[partition].at(-1)
        if (last) Object.assign(part, { place: last.place, origin: originOf(last) })
      })
      size.adjust(isFull)
      newer = askNewer(isFull || now() - askedMs > BEHIND_MS)
      await takeNewer(found)
      if (older.isWanted) {
        const come = await pieces
        pieces = askOlder()
        await older.take(come)
      }
      if (!isFull) asOf = askedMs
      settle(now())
      rounds.begin()(true)
    }
  }
}

/** A question whose failure is looked at later. @template T @param {Promise<T>} question @returns {Promise<T>} */
function quietly (question) {
  question.catch(() => {})
  return question
}
