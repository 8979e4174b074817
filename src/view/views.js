/**
 * Answers queries about feeds from memory where a view can, and otherwise from a node: the same queries as queries.js with
 * the same answers, but exact in every layout. view-registry.js decides which feeds have a view.
 *
 *     the view is           newest                by id, count
 *     not open yet          node                  node, so perhaps not exact; VIEW_BEHIND where that reads too deep
 *     built                 view, as far as it    the same
 *                           has read, below: node
 *     complete              view                  view
 *     over its bound        view, below it: node  view; VIEW_OVER_BOUND for what was evicted
 *     more than 1 s behind  node                  VIEW_BEHIND; node where that is exact
 *
 * Scans (filtered-queries.js) open a view of any layout, and wait for it some seconds before they use a node.
 *
 * While no node can be asked, a view answers until it is older than `maxStaleMs`, with its age.
 *
 * @typedef {import('../item/index.js').OrderKey} OrderKey named here, with Log, Connection and Definition, for the published types
 * @typedef {import('../layouts/index.js').Log} Log
 * @typedef {import('../store/index.js').Connection} Connection
 * @typedef {import('../feeds/index.js').Definition} Definition
 * @typedef {import('./queries.js').Queries} Queries
 * @typedef {import('./view.js').View} View
 * @typedef {import('./view-registry.js').ViewCounts} ViewCounts
 * @typedef {import('../layouts/index.js').Item} Item
 * @typedef {import('./view-status.js').ViewFigures} ViewFigures
 * @typedef {ReturnType<typeof createViews>} Views
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { MAX_BYTES } from './queries.js'
import { createUsability, createViewLookup } from './view-lookup.js'
import { createViewRegistry, isExactPerRequest } from './view-registry.js'
import { createViewStatus } from './view-status.js'

/** Of a node that reads only so deep. @param {Error & { code?: string }} error */
const orShort = (error) => {
  if (error.code !== 'VIEW_NEEDED') throw error
  return null
}

/** A page of the newest, which a view answers before it is complete. */
const PAGE = Object.freeze({ isPage: true })

/**
 * @param {{ queries: Queries, deployment: import('../store/index.js').Servers, keyPrefix: string, now: () => number,
 *   log: import('pino').Logger, mode: 'auto' | 'all' | 'none', boundItems: number, boundBytes: number, discover?: boolean,
 *   maxStaleMs?: number, written?: () => number, idleMs?: number,
 *   boundOfAll?: { maxBytes: number, unreadMs: number } }} options `boundItems`, `boundBytes`: of each view; `boundOfAll`: see
 *   view-registry.js; `maxStaleMs` 0 = a view that is behind never answers; `written`: how much the caller wrote so far, and expects to
 *   find; `idleMs`: an unused view is closed after it, where feeds are not discovered
 */
export function createViews ({ maxStaleMs = 0, discover = true, written = () => 0, ...options }) {
  const { queries, deployment, now, mode } = options
  const registry = createViewRegistry({ ...options, discover, written })
  const { behindOf, usabilityOf } = createUsability({ deployment, now, maxStaleMs })
  const lookup = { registry, queries, deployment, isNone: mode === 'none' }
  const { viewOf, openViewOf, untilComplete } = createViewLookup({ ...lookup, discover, written })
  const visitIn = visitorOf(usabilityOf)
  const scanned = createScannedViews({ ...lookup, untilComplete, visitIn })

  /** @param {string} feed @param {View | null} view */
  function behind (feed, view) {
    if (view?.lastError?.code === 'FOLLOWED_FULL') return view.lastError
    const refusal = view === null ? registry.bound.refusalOf(feed) : null
    if (refusal) return refusal
    return new FreshetError('VIEW_BEHIND', view?.isComplete
      ? `the view of feed ${feed} is ${Math.round(behindOf(view))} ms behind; retry, or request the newest items`
      : `the view of feed ${feed} is being built; retry`)
  }

  /**
   * What a node would have to read too deep for, a view that is not open yet, or is being built, will answer soon.
   * @param {string} feed @param {View | null} view @returns {(error: any) => never}
   */
  const orBehind = (feed, view) => (error) => {
    const willAnswer = view === null ? mode !== 'none' : !usabilityOf(view).isUsable
    throw error.code === 'VIEW_NEEDED' && willAnswer ? behind(feed, view) : error
  }

  /**
   * @template T
   * @param {string} feed
   * @param {(view: View) => T} fromView
   * @param {() => Promise<T & { asOf: number, lagMs: number | null }>} fromNode
   * @returns {Promise<T & { asOf: number, lagMs: number | null }>}
   */
  async function exactly (feed, fromView, fromNode) {
    const view = await viewOf(feed, { isAwaited: true })
    if (!view?.isComplete) return fromNode().catch(orBehind(feed, view))
    const { isUsable, asOf, lagMs, gone } = usabilityOf(view)
    if (isUsable) return { ...fromView(view), asOf, lagMs }
    if (gone === null && isExactPerRequest(view.definition.layout)) return fromNode()
    throw gone ?? behind(feed, view)
  }

  return {
    ...createViewStatus({ queries, registry, discover, behindOf }),
    definitions: queries.definitions,
    definition: queries.definition,
    untilFeed: queries.untilFeed,
    secret: queries.secret,
    ofLog: queries.ofLog,
    tail: queries.tail,

    /**
     * While `key` stays the same, so does the content of the feed's view, and `visit` answers from it.
     * @param {string} feed
     * @returns {{ key: string, readMs: number, asOf: number, lagMs: number | null } | null} `readMs` and `asOf`: view-lookup.js;
     *   null: a view does not answer now
     */
    revision (feed) {
      const view = openViewOf(feed)
      if (view === null) return null
      const { isUsable, readMs, asOf, lagMs } = usabilityOf(view)
      return isUsable ? { key: view.revision(), readMs, asOf, lagMs } : null
    },

    /**
     * The newest items, from memory and synchronously.
     * @param {string} feed @param {import('./view.js').Question} question
     * @param {import('./view.js').Visit} visit newest first; false = the page ends after this item
     * @returns {{ next: import('../item/index.js').OrderKey | null, asOf: number, lagMs: number | null } | null} null: no view can
     *   answer now, and nothing was visited. `next`: where the next page starts, from a view or a node
     */
    visit: (feed, question, visit) => visitIn(openViewOf(feed), question, visit),

    scan: scanned.scan,

    /** @type {Queries['latest']} */
    async latest (feed, question) {
      const view = await viewOf(feed, { isAwaited: false })
      if (view === null) return queries.latest(feed, question).catch(orBehind(feed, view))
      const { isUsable, asOf, lagMs, gone } = usabilityOf(view, PAGE)
      if (gone && !isUsable) throw gone
      const page = isUsable ? pageOf(view, question) : null
      if (page === null) return queries.latest(feed, question).catch(orBehind(feed, view))
      // a page that ends where the view has not read yet is for those who cannot have a longer one
      const longer = page.isCut && !view.isComplete ? await queries.latest(feed, question).catch(orShort) : null
      if (longer !== null) return longer
      const position = question.withPosition ? view.position() : null
      const { items, next } = page
      return /** @type {any} */ ({ items, next, position, scan: undefined, node: undefined, asOf, lagMs })
    },

    /**
     * Whether a long answer of `latest` may end in VIEW_NEEDED after its first pages: no view answers, and nodes are read only so deep.
     * @param {string} feed @returns {Promise<boolean>}
     */
    async mayBreakOff (feed) {
      const view = await viewOf(feed, { isAwaited: false })
      if (view && usabilityOf(view).isUsable) return false
      return !isExactPerRequest((view?.definition ?? await queries.definition(feed)).layout)
    },

    /** @type {Queries['get']} */
    get: (feed, ids) => exactly(feed, (view) => /** @type {any} */ ({ items: view.get(ids) }), () => queries.get(feed, ids)),

    /** @type {Queries['count']} */
    count: (feed) => exactly(feed, (view) => /** @type {any} */ ({ count: view.count(), exact: true }), () => queries.count(feed)),

    /**
     * Keeps a view of a feed, or what changed lately (recent.js), while a client watches it; queries are answered as before. `view` returns
     * another one after the feed was dropped and created again.
     * @param {string} feed
     * @returns {Promise<{ view: () => View | import('./recent.js').Recent | null, release: () => void }>} `view`: null while there is none,
     *   as after a drop
     * @throws {FreshetError} FEED_UNKNOWN; VIEW_OVER_BOUND; VIEW_NEEDED in mode none, in a layout without a log of arrivals
     */
    async watch (feed) {
      const watching = registry.watch(await queries.definition(feed))
      if (watching) return watching
      throw new FreshetError('VIEW_NEEDED', 'push of this layout needs views, and the setting views: none disables them; use views: auto ' +
        '(--views auto)')
    },

    async close () {
      scanned.close()
      await registry.close()
    }
  }
}

/**
 * A page of copied items.
 * @param {View} view @param {Parameters<Queries['latest']>[1]} question
 * @returns {{ items: Item[], next: OrderKey | null, isCut: boolean } | null} null = what the question needs was evicted; `isCut`: it ends
 *   before its limit, because the view has nothing below
 */
function pageOf (view, { limit, sinceMs, after, maxBytes = MAX_BYTES }) {
  /** @type {Item[]} */
  const items = []
  let bytes = 0
  const page = view.visit({ limit, sinceMs, after }, (from, idAt, idEnd, ts, seq, valueAt, valueEnd) => {
    items.push({ id: Buffer.from(from.subarray(idAt, idEnd)), ts, seq, value: Buffer.from(from.subarray(valueAt, valueEnd)) })
    bytes += valueEnd - valueAt + idEnd - idAt
    return bytes < maxBytes
  })
  return page && { items, next: page.next, isCut: page.next !== null && items.length < limit && bytes < maxBytes }
}

/** @param {import('./view-lookup.js').UsabilityOf['usabilityOf']} usabilityOf */
function visitorOf (usabilityOf) {
  /** @param {View | null} view @param {import('./view.js').Question} question @param {import('./view.js').Visit} visit */
  return (view, question, visit) => {
    if (view === null) return null
    const { isUsable, asOf, lagMs } = usabilityOf(view)
    const page = isUsable ? view.visit(question, visit) : null
    return page && { next: page.next, asOf, lagMs }
  }
}

const KEPT_MS = 60_000
const REACHED_WITHIN_MS = 2000
const LOOK_MS = 10

/** @typedef {import('./view.js').Question} Question */
/** @typedef {import('./view.js').Visit} Visit */
/** @typedef {{ next: import('../item/index.js').OrderKey | null, asOf: number, lagMs: number | null } | null} Visited */

/**
 * Views for scans of all items (filtered-queries.js), of any layout: a node reads all items for a scan, of which few may be wanted. They
 * are kept for a minute after the last scan.
 * @param {{ registry: Pick<import('./view-registry.js').Registry, 'held' | 'scan' | 'unscan'>,
 *   queries: Pick<import('./queries.js').Queries, 'definition'>, deployment: Pick<import('../store/index.js').Servers, 'use'>,
 *   untilComplete: (one: import('./view-registry.js').Held) => Promise<void>, isNone: boolean,
 *   visitIn: (view: import('./view.js').View | null, question: Question, visit: Visit) => Visited }} parts `isNone`: no feed has a view
 */
function createScannedViews ({ registry, queries, deployment, untilComplete, isNone, visitIn }) {
  /** When they are let go. @type {Map<string, NodeJS.Timeout>} */
  const kept = new Map()

  /** @param {string} feed */
  async function keep (feed) {
    if (isNone) return
    const definition = kept.has(feed) ? null : await queries.definition(feed)
    if (definition && !kept.has(feed)) {
      registry.scan(definition)
      kept.set(feed, setTimeout(letGo, KEPT_MS, feed).unref())
    }
    kept.get(feed)?.refresh()
  }

  /** @param {string} feed */
  function letGo (feed) {
    kept.delete(feed)
    registry.unscan(feed)
  }

  return {
    /**
     * As `visit` of views, but it waits some seconds for a view that is being built.
     * @param {string} feed @param {Question} question @param {Visit} visit
     * @param {(view: import('./view.js').View) => boolean} [hasReached] whether the view has what the caller knows of; it is waited for
     * @returns {Promise<Visited>}
     * @throws {import('../errors.js').FreshetError} FEED_UNKNOWN
     */
    async scan (feed, question, visit, hasReached = () => true) {
      deployment.use()
      await keep(feed)
      const heldView = registry.held.get(feed)
      if (heldView && !heldView.view.isComplete) await untilComplete(heldView)
      const untilMs = performance.now() + REACHED_WITHIN_MS
      while (heldView?.view.isComplete && !hasReached(heldView.view)) {
        if (performance.now() > untilMs) return null
        await sleep(LOOK_MS)
      }
      return visitIn(heldView?.view ?? null, question, visit)
    },

    close () { for (const timer of kept.values()) clearTimeout(timer) }
  }
}
