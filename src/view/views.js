/**
 * Answers questions about feeds from memory where a view can, and by asking a node where there is none: the same
 * questions as ask.js, the same answers, only exact in every layout.
 *
 * Which feeds have a view, since when, and which of them answer, is said in holding.js.
 *
 *     the view is           newest               by id, count
 *     being made            asked                asked, so perhaps not exact; VIEW_BEHIND where that reads too deep
 *     in                    view                 view
 *     over its bound        view, below: asked   view; VIEW_OVER_BOUND for what it does not have
 *     more than 1 s behind  asked                VIEW_BEHIND; asked where that is exact
 *
 * A process that writes, and reads from the primary, finds what it wrote: when something was acknowledged since the last
 * question, the view takes in what the node has before it answers.
 *
 * When no node can be asked, what a view has is given until it is older than `maxStaleMs`, as of then.
 *
 * @typedef {import('../item/order.js').Place} Place named here, with Connection and Definition, or the published types of what is handed on would not find them
 * @typedef {import('../store/connection.js').Connection} Connection
 * @typedef {import('../feeds/definitions.js').Definition} Definition
 * @typedef {import('./ask.js').Ask} Ask
 * @typedef {import('./view.js').View} View
 * @typedef {import('./holding.js').Held} Held
 * @typedef {import('./holding.js').ViewCounts} ViewCounts
 * @typedef {import('../layouts/index.js').Item} Item
 * @typedef {ReturnType<typeof createViews>} Views
 * @typedef {{ feed: string, isIn: boolean, items: number, bytes: number, behindMs: number | null, isOverBound: boolean }} ViewFigures
 *   `behindMs` null while it is being made
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError, publicReason } from '../errors.js'
import { MAX_BYTES } from './ask.js'
import { holdViews, isAskedExactly } from './holding.js'
import { BEHIND_MS } from './view.js'

/** so long a view that is being made keeps the process from being ready */
const READY_WITHIN_MS = 30_000
/** so long a question waits for a view that it has opened */
const OPEN_WITHIN_MS = 5000
const OPEN_LOOK_MS = 5

/** and for one to take in what was written */
const CATCH_UP_WITHIN_MS = 1000

/**
 * @param {{ ask: Ask, deployment: import('../store/deployment.js').Deployment, keyPrefix: string, now: () => number,
 *   log: import('pino').Logger, mode: 'auto' | 'all' | 'none', boundItems: number, boundBytes: number, discover?: boolean,
 *   maxStaleMs?: number, written?: () => number, idleMs?: number }} options `boundItems`, `boundBytes`: of each view; `maxStaleMs` 0 = when no
 *   node can be asked, a view that is behind answers nothing; `written`: how much the caller wrote so far, and expects to
 *   find; `idleMs`: a view that nobody asks is closed after it, where feeds are not discovered
 */
export function createViews ({ ask, deployment, keyPrefix, now, log, mode, boundItems, boundBytes, discover = true, maxStaleMs = 0, written = () => 0, idleMs }) {
  const startedMs = performance.now()
  const holding = holdViews({ ask, deployment, keyPrefix, now, log, mode, boundItems, boundBytes, discover, written, idleMs })
  const { held, counts, follow, note, signal } = holding

  /** @param {View} view @returns {number} ms */
  const behindOf = (view, nowMs = now()) => Math.max(0, nowMs - view.asOf, view.lagMs ?? 0)

  /** Why no node can be asked. @returns {Error & { code?: string } | null} */
  function nobody () {
    try {
      deployment.pick()
      return null
    } catch (error) {
      return error
    }
  }

  /**
   * How a view may be used now.
   * @param {View} view
   * @returns {{ isUsable: boolean, asOf: number, lagMs: number | null, gone: Error | null }} `gone`: no node can be asked, and the view is too old
   */
  function standing (view) {
    if (!view.isIn) return { isUsable: false, asOf: 0, lagMs: null, gone: null }
    const nowMs = now()
    const behindMs = behindOf(view, nowMs)
    if (behindMs <= BEHIND_MS) return { isUsable: true, asOf: view.asOf, lagMs: view.lagMs, gone: null }
    const gone = nobody()
    return { isUsable: gone !== null && behindMs < maxStaleMs, asOf: Math.round(nowMs - behindMs), lagMs: null, gone }
  }

  /**
   * The view of a feed, opened if it is not yet and feeds are not discovered.
   * @param {string} feed @param {{ isAwaited: boolean }} options whether a view that is being made is waited for
   * @returns {Promise<View | null>} null: it has none that answers, or none yet
   */
  async function viewOf (feed, { isAwaited }) {
    const known = held.get(feed)
    if (mode === 'none' || (discover && !known)) return null
    const one = known ?? follow(await ask.definition(feed))
    if (one === null || !one.answers) return null
    one.usedMs = performance.now()
    if (discover) return one.view
    if (isAwaited && !one.wasIn) await untilIn(one)
    note(one)
    return one.view.isIn && !await hasCaughtUp(one) ? null : one.view
  }

  /** The view of a feed, if it answers questions. @param {string} feed @returns {View | null} */
  function answering (feed) {
    const one = held.get(feed)
    return one?.answers ? one.view : null
  }

  /** Waits for a view that is being made, unless it cannot be. @param {Held} one */
  async function untilIn ({ view, openedMs }) {
    while (!view.isIn && view.failure === null && performance.now() - openedMs < OPEN_WITHIN_MS && !signal.aborted) await sleep(OPEN_LOOK_MS)
  }

  /** Whether it has what the caller wrote. @param {Held} one */
  async function hasCaughtUp (one) {
    const count = written()
    if (count === one.hasWritten) return true
    const late = new AbortController()
    // without a node to compare with, the questions that follow are asked, and tell
    const caughtUp = (async () => one.view.caughtUp(deployment.pick().connection))().then(() => true, () => false)
    const isIn = await Promise.race([caughtUp, sleep(CATCH_UP_WITHIN_MS, false, { signal: late.signal }).catch(() => false)]).finally(() => late.abort())
    if (isIn) one.hasWritten = Math.max(one.hasWritten, count)
    return isIn
  }

  /**
   * @template T
   * @param {string} feed
   * @param {(view: View) => T} answer
   * @param {() => Promise<T & { asOf: number, lagMs: number | null }>} asked
   * @returns {Promise<T & { asOf: number, lagMs: number | null }>}
   */
  async function exactly (feed, answer, asked) {
    const view = await viewOf(feed, { isAwaited: true })
    if (view === null) return asked()
    if (!view.isIn) return asked().catch(orSoon(feed, view))
    const { isUsable, asOf, lagMs, gone } = standing(view)
    if (isUsable) return { ...answer(view), asOf, lagMs }
    if (gone === null && isAskedExactly(view.definition.layout)) return asked()
    throw gone ?? behind(feed, view)
  }

  /** @param {string} feed @param {View} view */
  const behind = (feed, view) => new FreshetError('VIEW_BEHIND', view.isIn
    ? `the view of feed ${feed} is ${Math.round(behindOf(view))} ms behind; ask again, or for newest items`
    : `the view of feed ${feed} is being made; ask again`)

  /**
   * What a node would have to read too deep for, a view that is not up yet will say soon.
   * @param {string} feed @param {View} view
   * @returns {(error: any) => never}
   */
  const orSoon = (feed, view) => (error) => {
    throw error.code === 'VIEW_NEEDED' && !standing(view).isUsable ? behind(feed, view) : error
  }

  /** @param {string} feed @param {Held} one `answers`: without it, questions can do without it @returns {{ reason: string, isHindrance: boolean }[]} */
  function faultsOf (feed, { view, openedMs, answers: isNeeded }) {
    const faults = []
    if (!view.isIn) {
      faults.push({
        reason: view.failure ? `feed ${feed}: ${view.failure}` : `VIEW_BEHIND: the view of feed ${feed} is being made`,
        isHindrance: isNeeded && performance.now() - openedMs < READY_WITHIN_MS
      })
    } else if (behindOf(view) > BEHIND_MS) {
      faults.push({ reason: `VIEW_BEHIND: the view of feed ${feed} is ${(behindOf(view) / 1000).toFixed(1)} s behind`, isHindrance: isNeeded })
    }
    if (view.floor) faults.push({ reason: `VIEW_OVER_BOUND: the view of feed ${feed} holds ${view.stats().items} items, and more are live`, isHindrance: false })
    return faults
  }

  return {
    definitions: ask.definitions,
    definition: ask.definition,
    tail: ask.tail,
    ofLog: ask.ofLog,

    /**
     * While `key` is the same, so is the content of the feed's view, and `visit` answers from it.
     * @param {string} feed
     * @returns {{ key: string, asOf: number, lagMs: number | null } | null} null: not answered from a view now
     */
    revision (feed) {
      const view = answering(feed)
      if (view === null) return null
      const { isUsable, asOf, lagMs } = standing(view)
      return isUsable ? { key: view.revision(), asOf, lagMs } : null
    },

    /**
     * The newest items, from memory and at once.
     * @param {string} feed @param {import('./view.js').Question} question
     * @param {import('./shelves.js').Visit} visit newest first; false = the page ends behind this item
     * @returns {{ next: import('../item/order.js').Place | null, asOf: number, lagMs: number | null } | null} null: no view can
     *   answer that now, and nothing was visited. `next`: where to go on, by a view or by a node
     */
    visit (feed, question, visit) {
      const view = answering(feed)
      if (view === null) return null
      const { isUsable, asOf, lagMs } = standing(view)
      const page = isUsable ? view.visit(question, visit) : null
      return page && { next: page.next, asOf, lagMs }
    },

    /** @type {Ask['latest']} */
    async latest (feed, question) {
      const { limit, sinceMs, after, maxBytes = MAX_BYTES } = question
      const view = await viewOf(feed, { isAwaited: false })
      if (view === null) return ask.latest(feed, question)
      const { isUsable, asOf, lagMs, gone } = standing(view)
      if (gone && !isUsable) throw gone
      /** @type {Item[]} */
      const items = []
      let bytes = 0
      const page = isUsable
        ? view.visit({ limit, sinceMs, after }, (from, idAt, idEnd, ts, seq, valueAt, valueEnd) => {
          items.push({ id: Buffer.from(from.subarray(idAt, idEnd)), ts, seq, value: Buffer.from(from.subarray(valueAt, valueEnd)) })
          bytes += valueEnd - valueAt + idEnd - idAt
          return bytes < maxBytes
        })
        : null
      if (page === null) return ask.latest(feed, question).catch(orSoon(feed, view))
      return /** @type {any} */ ({ items, next: page.next, walk: undefined, node: undefined, asOf, lagMs })
    },

    /** @type {Ask['get']} */
    get: (feed, ids) => exactly(feed, (view) => /** @type {any} */ ({ items: view.get(ids) }), () => ask.get(feed, ids)),

    /** @type {Ask['count']} */
    count: (feed) => exactly(feed, (view) => /** @type {any} */ ({ count: view.count(), exact: true }), () => ask.count(feed)),

    /**
     * Whether questions can be answered now, and what is wrong. What a view can do without, or has lacked for long, is
     * said and no reason to send nobody here.
     */
    status () {
      const { ready, reasons, ...rest } = ask.status()
      const faults = [...held].flatMap(([feed, one]) => faultsOf(feed, one))
      if (!holding.isDiscovered && ready) faults.push({ reason: holding.lookError ? publicReason(holding.lookError) : 'VIEW_BEHIND: which feeds there are is being asked', isHindrance: performance.now() - startedMs < READY_WITHIN_MS })
      return {
        ready: ready && !(discover && faults.some(({ isHindrance }) => isHindrance)),
        reasons: [...reasons, ...faults.map(({ reason }) => reason)],
        ...rest
      }
    },

    /**
     * Keeps a view of a feed while somebody watches it; questions are answered as before. The view is another one when the feed
     * was dropped and created again.
     * @param {string} feed
     * @returns {Promise<{ view: () => View | null, release: () => void }>} `view`: null while there is none, such as when the feed was dropped
     * @throws {FreshetError} FEED_UNKNOWN, VIEW_NEEDED where there are to be none
     */
    async watch (feed) {
      if (mode === 'none') throw new FreshetError('VIEW_NEEDED', 'changes are pushed out of views, and --views none makes none; start the reader with --views auto')
      holding.want(await ask.definition(feed))
      return { view: () => held.get(feed)?.view ?? null, release: () => holding.unwant(feed) }
    },

    /** @returns {{ views: ViewFigures[], counts: [feed: string, counts: ViewCounts][] }} */
    figures: () => ({
      views: [...held].map(([feed, { view }]) => {
        const { items, bytes, floor } = view.stats()
        return { feed, isIn: view.isIn, items, bytes, behindMs: view.isIn ? behindOf(view) : null, isOverBound: floor !== null }
      }),
      counts: [...counts]
    }),

    close: holding.close
  }
}
