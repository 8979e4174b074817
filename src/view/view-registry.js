/**
 * The views of a process. With `discover`, it opens them as it finds feeds, and keeps them. Without, a query opens one, and it
 * is closed when idle. A feed that was dropped and created again is a different one.
 *
 *     mode auto    a view of each feed whose layout cannot answer everything exactly by itself
 *          all     of every feed
 *          none    of none: every query goes to a node
 *
 * A view that exists only because a client watches its feed does not answer queries: of such a layout a node answers exactly,
 * while the view is a moment behind.
 *
 * @typedef {import('./view.js').View} View
 * @typedef {import('../feeds/index.js').Definition} Definition
 * @typedef {{ skipped: Record<string, number>, rebuilt: number }} ViewCounts counters of a feed's views, closed ones included
 * @typedef {{ view: View, openedMs: number, usedMs: number, wasComplete: boolean, hasWritten: number, answers: boolean }} Held
 *   `hasWritten`: how much of what the caller wrote the view has; `answers`: queries, not only watchers
 * @typedef {ReturnType<typeof createViewRegistry>} Registry
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isFollowable, isSpread } from '../feeds/index.js'
import { layoutNames, layoutOf } from '../layouts/index.js'
import { untilTick } from '../ticks.js'
import { DUPLICATE, SKIP_REASONS } from './log-intake.js'
import { createView } from './view.js'

const LOOK_MS = 500
/** an unused view is closed after it, where feeds are not discovered */
const IDLE_MS = 60_000

/** Whether a node answers every query of a layout exactly. @param {string} layout */
export const isExactPerRequest = (layout) => Object.values(layoutOf(layout).describe().withoutView).every((promise) => promise === 'exact')

/** Whether this version can follow a feed. @param {Definition} definition */
const isReadable = (definition) => layoutNames().some((name) => name === definition.layout) && isFollowable(definition) &&
  (layoutOf(definition.layout).format === definition.format || isSpread(definition.format))

/** Whether queries need a view of the feed. @param {'auto' | 'all' | 'none'} mode @param {Definition} definition */
const needsView = (mode, definition) =>
  mode !== 'none' && isReadable(definition) && (mode === 'all' || !isExactPerRequest(definition.layout))

/** Logs the first time that a view is complete. @param {Held} one @param {import('pino').Logger} log */
function noteComplete (one, log) {
  if (one.wasComplete || !one.view.isComplete) return
  one.wasComplete = true
  const { items, bytes } = one.view.stats()
  log.info({ feed: one.view.definition.feed, items, bytes }, 'view is complete')
}

/**
 * @param {{ queries: import('./queries.js').Queries, deployment: import('../store/index.js').Servers,
 *   keyPrefix: string, now: () => number,
 *   log: import('pino').Logger, mode: 'auto' | 'all' | 'none', boundItems: number, boundBytes: number, discover: boolean,
 *   written: () => number, idleMs?: number }} options as of createViews (views.js)
 */
export function createViewRegistry ({ queries, log, mode, discover, written, idleMs = IDLE_MS, ...viewOptions }) {
  const stop = new AbortController()
  /** @type {Map<string, Held>} */
  const held = new Map()
  const { counts, countsOf } = createCounts()
  /** watched feeds, with their number of watchers @type {Map<string, number>} */
  const watched = new Map()

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
    const one = { view, openedMs: nowMs, usedMs: nowMs, wasComplete: false, hasWritten: written(), answers: needsView(mode, definition) }
    held.set(definition.feed, one)
    return one
  }

  /** @param {string} feed */
  async function shut (feed) {
    const one = held.get(feed)
    held.delete(feed)
    await one?.view.close()
  }

  /** The view of a feed as it is stored now, opened if there should be one. @param {Definition} definition @returns {Held | null} */
  function follow (definition) {
    const { feed } = definition
    const known = held.get(feed)
    if (known?.view.isOf(definition)) {
      known.view.setDefinition(definition)
      return known
    }
    if (known) shut(feed)
    const isWanted = needsView(mode, definition) || (watched.has(feed) && isReadable(definition))
    return isWanted && !stop.signal.aborted ? open(definition) : null
  }

  async function refreshAll () {
    const definitions = await queries.definitions(true)
    definitions.forEach(follow)
    await Promise.all(unlistedOf(held, definitions).map(refresh))
  }

  /** @param {string} feed */
  const refresh = (feed) => queries.definition(feed, true).then(follow, (error) => { if (!error.retryable) shut(feed) })

  async function refreshHeld () {
    for (const [feed, { usedMs }] of held) {
      if (performance.now() - usedMs > idleMs && !watched.has(feed)) shut(feed)
      else await refresh(feed)
    }
  }

  const refreshing = keepRefreshing({
    refresh: discover ? refreshAll : refreshHeld,
    afterwards () { for (const one of held.values()) noteComplete(one, log) },
    isIdle: mode === 'none',
    log,
    signal: stop.signal
  })

  return {
    /** By feed. @type {ReadonlyMap<string, Held>} */
    held,
    counts,
    follow,
    /** @param {Held} one */
    note: (one) => noteComplete(one, log),
    /** Aborted on close. @type {AbortSignal} */
    signal: stop.signal,
    /** Whether all feeds are known. */
    get isDiscovered () { return mode === 'none' || !discover || refreshing.isDone },
    /** Why the feeds cannot be listed. */
    get listError () { return refreshing.error },

    /** Keeps a view of the feed, whatever its layout. @param {Definition} definition */
    want (definition) {
      watched.set(definition.feed, (watched.get(definition.feed) ?? 0) + 1)
      follow(definition)
    },

    /** Undoes one `want`. @param {string} feed */
    unwant (feed) {
      const times = /** @type {number} */ (watched.get(feed))
      if (times > 1) return watched.set(feed, times - 1)
      watched.delete(feed)
      const one = held.get(feed)
      if (one && !one.answers) shut(feed)
    },

    async close () {
      stop.abort()
      await refreshing.ended
      await Promise.all([...held.keys()].map(shut))
    }
  }
}

/**
 * Feeds that may be gone; a node that is behind does not list a new feed yet, either.
 * @param {Map<string, Held>} held @param {Definition[]} definitions
 */
const unlistedOf = (held, definitions) => [...held.keys()].filter((name) => !definitions.some(({ feed }) => feed === name))

function createCounts () {
  /** @type {Map<string, ViewCounts>} */
  const counts = new Map()
  const reasons = [...Object.values(SKIP_REASONS), DUPLICATE]
  return {
    counts,
    /** @param {string} feed @returns {ViewCounts} */
    countsOf (feed) {
      const known = counts.get(feed) ?? { skipped: Object.fromEntries(reasons.map((reason) => [reason, 0])), rebuilt: 0 }
      counts.set(feed, known)
      return known
    }
  }
}

/**
 * Refreshes twice a second. While no node answers, everything stays as it was.
 * @param {{ refresh: () => Promise<void>, afterwards: () => void, isIdle: boolean, log: import('pino').Logger, signal: AbortSignal }} parts
 */
function keepRefreshing ({ refresh, afterwards, isIdle, log, signal }) {
  let isDone = false
  /** @type {Error & { code?: string, retryable?: boolean } | null} */
  let error = null

  async function keep () {
    if (isIdle) return
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
