/**
 * Which view answers a query, and whether it may now.
 *
 * A process that writes finds what it wrote: when writes were acknowledged since the last query, the view first takes in what
 * the node has.
 *
 * @typedef {import('./view.js').View} View
 * @typedef {import('./view-registry.js').Held} Held
 * @typedef {{ isUsable: boolean, readMs: number, asOf: number, lagMs: number | null, gone: Error | null }} Usability `readMs`: when it
 *   last had what its node has; `asOf`: earlier, if the primary is not confirmed; `gone`: no node can be asked, and the view is behind
 * @typedef {ReturnType<typeof createUsability>} UsabilityOf
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createReads } from '../store/index.js'
import { BEHIND_MS } from './lag.js'

/** how long a query waits for a view that it opened */
const OPEN_WITHIN_MS = 5000
const OPEN_LOOK_MS = 5
/** and for a view to take in what was written */
const CATCH_UP_WITHIN_MS = 1000

/** @typedef {Pick<import('../store/index.js').Servers, 'pick' | 'shard' | 'use' | 'confirmedAt'>} Deployment */

/** @param {{ deployment: Deployment, now: () => number, maxStaleMs: number }} parts */
export function createUsability ({ deployment, now, maxStaleMs }) {
  /** @param {Pick<View, 'asOf' | 'lagMs'>} view @returns {number} ms */
  const behindOf = (view, nowMs = now()) => Math.max(0, nowMs - view.asOf, view.lagMs ?? 0)

  /** @param {View} view @param {{ isPage?: boolean }} [of] `isPage`: a page of the newest, for which less is enough @returns {Usability} */
  function usabilityOf (view, { isPage = false } = {}) {
    if (!view.isComplete && !(isPage && view.hasNewest)) return { isUsable: false, readMs: 0, asOf: 0, lagMs: null, gone: null }
    const nowMs = now()
    const behindMs = behindOf(view, nowMs)
    const confirmedMs = deployment.confirmedAt(nowMs)
    if (behindMs <= BEHIND_MS) {
      return { isUsable: true, readMs: view.asOf, asOf: Math.min(view.asOf, confirmedMs), lagMs: view.lagMs, gone: null }
    }
    const gone = pickError(deployment)
    const readMs = Math.round(nowMs - behindMs)
    return { isUsable: gone !== null && behindMs < maxStaleMs, readMs, asOf: Math.min(readMs, confirmedMs), lagMs: null, gone }
  }

  return { behindOf, usabilityOf }
}

/** Why no node can be asked. @param {Deployment} deployment @returns {Error & { code?: string } | null} */
function pickError (deployment) {
  try {
    deployment.pick()
    return null
  } catch (error) {
    return error
  }
}

/**
 * @param {{ registry: import('./view-registry.js').Registry, queries: import('./queries.js').Queries, deployment: Deployment,
 *   isNone: boolean, discover: boolean, written: () => number }} parts `isNone`: no feed has a view
 */
export function createViewLookup ({ registry: { held, follow, note, signal, bound }, queries, deployment, isNone, discover, written }) {
  /**
   * The view of a feed that answers queries, opened now where feeds are not discovered.
   * @param {string} feed @param {{ isAwaited: boolean }} options whether to wait until the view is complete
   * @returns {Promise<View | null>} null: a node must be asked
   */
  async function viewOf (feed, { isAwaited }) {
    deployment.use()
    const open = held.get(feed)
    if (!open) bound.asked(feed)
    if (isNone || (discover && !open)) return null
    const heldView = open ?? follow(await queries.definition(feed), { isQueried: true })
    if (heldView === null || !heldView.answers) return null
    heldView.usedMs = performance.now()
    if (discover) return heldView.view
    if (isAwaited && !heldView.wasComplete) await untilComplete(heldView)
    note(heldView)
    return (heldView.view.isComplete || heldView.view.hasNewest) && !await hasCaughtUp(heldView) ? null : heldView.view
  }

  /** Waits for a view that is being built, unless that fails. @param {Held} heldView */
  async function untilComplete ({ view, openedMs }) {
    const isOpening = () => !view.isComplete && view.failure === null && performance.now() - openedMs < OPEN_WITHIN_MS && !signal.aborted
    while (isOpening()) await sleep(OPEN_LOOK_MS)
  }

  /** Whether it has what the caller wrote. @param {Held} heldView */
  async function hasCaughtUp (heldView) {
    const count = written()
    if (count === heldView.hasWritten) return true
    const late = new AbortController()
    // without a node to compare with, the query goes to a node and fails there
    const caughtUp = (async () => heldView.view.caughtUp(createReads(deployment).router))().then(() => true, () => false)
    const timeout = sleep(CATCH_UP_WITHIN_MS, false, { signal: late.signal }).catch(() => false)
    const isCaughtUp = await Promise.race([caughtUp, timeout]).finally(() => late.abort())
    if (isCaughtUp) heldView.hasWritten = Math.max(heldView.hasWritten, count)
    return isCaughtUp
  }

  return {
    viewOf,
    untilComplete,

    /** The view of a feed that answers queries and is already open. @param {string} feed @returns {View | null} */
    openViewOf (feed) {
      deployment.use()
      const heldView = held.get(feed)
      if (!heldView?.answers) return null
      heldView.usedMs = performance.now()
      return heldView.view
    }
  }
}
