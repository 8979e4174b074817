/**
 * The views of a process. With `discover`, it opens them as it finds feeds, and keeps them. Without, a query opens one, and it
 * is closed when idle. A feed that was dropped and created again is a different one.
 *
 *     mode auto    a view of each feed whose layout cannot answer everything exactly by itself
 *          all     of every feed
 *          none    of none: every query goes to a node
 *
 * A client that watches a feed needs no view in `ids` and `values`: what changed lately is enough (recent.js). If queries hold a view of
 * the feed, it watches that one. A view that exists only for scans does not answer other queries: of such a layout a node answers
 * exactly, while the view is a moment behind.
 *
 * @typedef {import('./view.js').View} View
 * @typedef {import('../feeds/index.js').Definition} Definition
 * @typedef {import('./view-uses.js').Uses} Uses
 * @typedef {{ skipped: Record<string, number>, rebuilt: number }} ViewCounts counters of a feed's views, closed ones included
 * @typedef {{ view: View, openedMs: number, usedMs: number, wasComplete: boolean, hasWritten: number, answers: boolean }} Held
 *   `hasWritten`: how much of what the caller wrote the view has; `answers`: queries, not only watchers
 * @typedef {ReturnType<typeof createViewRegistry>} Registry
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { formatOf, isFollowable } from '../feeds/index.js'
import { layoutNames, layoutOf } from '../layouts/index.js'
import { untilTick } from '../ticks.js'
import { DUPLICATE, SKIP_REASONS } from './log-intake.js'
import { hasRecent } from './recent.js'
import { createRecents } from './recents.js'
import { createViewBound } from './view-bound.js'
import { createUses, createWatching } from './view-uses.js'
import { createView } from './view.js'

const LOOK_MS = 500
/** an unused view is closed after it, where feeds are not discovered */
const IDLE_MS = 60_000

/** Whether a node answers every query of a layout exactly. @param {string} layout */
export const isExactPerRequest = (layout) => Object.values(layoutOf(layout).describe().withoutView).every((promise) => promise === 'exact')

/** Whether this version can follow a feed. @param {Definition} definition */
const isReadable = (definition) => layoutNames().some((name) => name === definition.layout) && isFollowable(definition) &&
  formatOf(definition) === definition.format

/** Whether queries need a view of the feed. @param {'auto' | 'all' | 'none'} mode @param {Definition} definition */
const needsView = (mode, definition) =>
  mode !== 'none' && isReadable(definition) && (mode === 'all' || !isExactPerRequest(definition.layout))

/** Whether it can be watched without a view. @param {'auto' | 'all' | 'none'} mode @param {Definition} definition */
const isRecent = (mode, definition) => mode !== 'all' && isReadable(definition) && hasRecent(definition.layout)

/** Logs the first time that a view is complete. @param {Held} heldView @param {import('pino').Logger} log */
function noteComplete (heldView, log) {
  if (heldView.wasComplete || !heldView.view.isComplete) return
  heldView.wasComplete = true
  const { items, bytes } = heldView.view.stats()
  log.info({ feed: heldView.view.definition.feed, items, bytes }, 'view is complete')
}

/**
 * @param {{ queries: import('./queries.js').Queries, deployment: import('../store/index.js').Servers,
 *   keyPrefix: string, now: () => number,
 *   log: import('pino').Logger, mode: 'auto' | 'all' | 'none', boundItems: number, boundBytes: number, discover: boolean,
 *   written: () => number, idleMs?: number, boundOfAll?: { maxBytes: number, unreadMs: number } }} options as of createViews (views.js)
 */
export function createViewRegistry ({ queries, log, mode, discover, written, idleMs = IDLE_MS, boundOfAll, ...viewOptions }) {
  const stop = new AbortController()
  const bound = createViewBound({ ...boundOfAll, log })
  /** @type {Map<string, Held>} */
  const held = new Map()
  const { counts, countsOf } = createCounts()
  const watched = createUses(letGo)
  const scanned = createUses(letGo)
  const recents = createRecents({ ...viewOptions, log, countsOf })

  /** @param {Definition} definition @returns {Held} */
  function open (definition) {
    const counted = countsOf(definition.feed)
    const view = createView({
      ...viewOptions,
      log,
      definition,
      onSkipped (reason) { counted.skipped[reason]++ },
      onRebuilt () { counted.rebuilt++ }
    })
    const nowMs = performance.now()
    const answers = needsView(mode, definition)
    const heldView = { view, openedMs: nowMs, usedMs: nowMs, wasComplete: false, hasWritten: written(), answers }
    held.set(definition.feed, heldView)
    return heldView
  }

  /** @param {string} feed */
  async function shut (feed) {
    const heldView = held.get(feed)
    held.delete(feed)
    await heldView?.view.close()
  }

  /** Whether watchers of a feed that is watched get what changed lately, and go on with it. @param {Definition} definition */
  const isWatchedSo = (definition) => isRecent(mode, definition) &&
    (!needsView(mode, definition) || recents.of(definition.feed) !== null || (!discover && !held.has(definition.feed)))

  /**
   * The view of a feed as it is stored now, opened if there should be one.
   * @param {Definition} definition @param {{ isQueried?: boolean }} [use] @returns {Held | null}
   */
  function follow (definition, { isQueried = discover } = {}) {
    const { feed } = definition
    const isSo = watched.has(feed) && isWatchedSo(definition)
    recents.follow(definition, isSo && !stop.signal.aborted)
    const before = held.get(feed)
    if (before?.view.isOf(definition)) {
      before.view.setDefinition(definition)
      return before
    }
    if (before) shut(feed)
    const isWatched = watched.has(feed) && mode !== 'none' && !isSo
    const isHeld = (isQueried || before !== undefined) && needsView(mode, definition)
    const isNeeded = isHeld || ((isWatched || scanned.has(feed)) && isReadable(definition))
    return isNeeded && !stop.signal.aborted && bound.admits(feed) ? open(definition) : null
  }

  /** @param {string} feed that is watched, or scanned, once less */
  function letGo (feed) {
    if (!watched.has(feed)) recents.shut(feed)
    if (held.get(feed)?.answers === false && !watched.has(feed) && !scanned.has(feed)) shut(feed)
  }

  const refreshing = keepRefreshing({
    refresh: refresherOf({ queries, held, recents, follow, shut, watched, scanned, idleMs, isAll: discover && mode !== 'none' }),
    afterwards () {
      for (const heldView of held.values()) noteComplete(heldView, log)
      bound.enforce(held, { isKept: (feed) => watched.has(feed) || scanned.has(feed), close: shut })
    },
    log,
    signal: stop.signal
  })

  return {
    /** By feed. @type {ReadonlyMap<string, Held>} */
    held,
    counts,
    bound,
    follow,
    /** Feeds that are followed without a view. */
    recentNames: recents.names,
    recentOf: recents.of,
    /** @param {Held} heldView */
    note: (heldView) => noteComplete(heldView, log),
    /** Aborted on close. @type {AbortSignal} */
    signal: stop.signal,
    /** Whether all feeds are known. */
    get isDiscovered () { return mode === 'none' || !discover || refreshing.isDone },
    /** Why the feeds cannot be listed. */
    get listError () { return refreshing.error },

    ...createWatching({
      held, recents, follow, bound, watched, scanned, isPossible: (definition) => mode !== 'none' || isRecent(mode, definition)
    }),

    async close () {
      stop.abort()
      await refreshing.ended
      await Promise.all([recents.close(), ...[...held.keys()].map(shut)])
    }
  }
}

/**
 * Brings views, and what changed lately, in line with the feeds as they are stored.
 * @param {{ queries: Pick<import('./queries.js').Queries, 'definition' | 'definitions'>, held: ReadonlyMap<string, Held>,
 *   recents: ReturnType<typeof createRecents>, follow: (definition: Definition) => unknown, shut: (feed: string) => unknown,
 *   watched: Uses, scanned: Uses, idleMs: number, isAll: boolean }} of `isAll`: feeds are discovered
 */
function refresherOf ({ queries, held, recents, follow, shut, watched, scanned, idleMs, isAll }) {
  /** @param {string} feed */
  const refresh = (feed) => queries.definition(feed, true).then((definition) => follow(definition), (error) => {
    if (error.retryable) return
    shut(feed)
    recents.shut(feed)
  })

  async function refreshAll () {
    const definitions = await queries.definitions(true)
    for (const definition of definitions) follow(definition)
    await Promise.all(unlistedOf([...held.keys(), ...recents.names()], definitions).map(refresh))
  }

  async function refreshHeld () {
    for (const feed of new Set([...held.keys(), ...watched.names()])) {
      const heldView = held.get(feed)
      if (heldView && performance.now() - heldView.usedMs > idleMs && !watched.has(feed) && !scanned.has(feed)) shut(feed)
      else await refresh(feed)
    }
  }

  return isAll ? refreshAll : refreshHeld
}

/**
 * Feeds that may be gone; a node that is behind does not list a new feed yet, either.
 * @param {string[]} names @param {Definition[]} definitions
 */
const unlistedOf = (names, definitions) => names.filter((name) => !definitions.some(({ feed }) => feed === name))

function createCounts () {
  /** @type {Map<string, ViewCounts>} */
  const counts = new Map()
  const reasons = [...Object.values(SKIP_REASONS), DUPLICATE]
  return {
    counts,
    /** @param {string} feed @returns {ViewCounts} */
    countsOf (feed) {
      const counted = counts.get(feed) ?? { skipped: Object.fromEntries(reasons.map((reason) => [reason, 0])), rebuilt: 0 }
      counts.set(feed, counted)
      return counted
    }
  }
}

/**
 * Refreshes twice a second. While no node answers, everything stays as it was.
 * @param {{ refresh: () => Promise<void>, afterwards: () => void, log: import('pino').Logger, signal: AbortSignal }} parts
 */
function keepRefreshing ({ refresh, afterwards, log, signal }) {
  let isDone = false
  /** @type {Error & { code?: string, retryable?: boolean } | null} */
  let error = null

  async function keep () {
    while (!signal.aborted) {
      try {
        await refresh()
        isDone = true
        error = null
      } catch (failure) {
        if (!failure.retryable && failure.code !== error?.code) {
          log.warn({ code: failure.code, reason: failure.message }, 'feeds cannot be listed, retrying')
        }
        error = failure
      }
      afterwards()
      await sleep(untilTick(LOOK_MS), undefined, { signal }).catch(() => {})
    }
  }
  const ended = keep()

  return {
    /** Resolves after `signal` is aborted. */
    ended,
    /** Whether it succeeded once. */
    get isDone () { return isDone },
    get error () { return error }
  }
}
