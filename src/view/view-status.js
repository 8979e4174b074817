/** The state of the views of a process, and of what it follows without a view (recent.js): for readiness, and for metrics. */
import { publicReason } from '../errors.js'
import { BEHIND_MS } from './lag.js'

/** a view that is being built keeps the process from being ready for so long */
const READY_WITHIN_MS = 30_000

/** @typedef {import('./view-registry.js').Held} Held */
/** @typedef {import('./view-registry.js').ViewCounts} ViewCounts */
/** @typedef {{ reason: string, isBlocking: boolean }} Fault `isBlocking`: the process should get no requests because of it */
/**
 * @typedef {{ feed: string, isComplete: boolean, items: number, bytes: number, behindMs: number | null,
 *   isOverBound: boolean }} ViewFigures
 *   `behindMs` null while it is being built */

/**
 * @param {{ queries: Pick<import('./queries.js').Queries, 'status'>, registry: import('./view-registry.js').Registry, discover: boolean,
 *   behindOf: import('./view-lookup.js').UsabilityOf['behindOf'] }} parts
 */
export function createViewStatus ({ queries, registry, discover, behindOf }) {
  const startedMs = performance.now()

  /** @param {string} feed @param {Held} one @returns {Fault[]} */
  function faultsOf (feed, { view, openedMs, answers: isNeeded }) {
    const faults = []
    if (!view.isComplete) {
      faults.push({
        reason: view.failure ? `feed ${feed}: ${view.failure}` : `VIEW_BEHIND: the view of feed ${feed} is being built`,
        isBlocking: isNeeded && performance.now() - openedMs < READY_WITHIN_MS
      })
    } else if (behindOf(view) > BEHIND_MS) {
      faults.push({
        reason: `VIEW_BEHIND: the view of feed ${feed} is ${(behindOf(view) / 1000).toFixed(1)} s behind`, isBlocking: isNeeded
      })
    }
    if (view.floor) {
      faults.push({
        reason: `VIEW_OVER_BOUND: the view of feed ${feed} holds ${view.stats().items} items, and more are live`, isBlocking: false
      })
    }
    return faults
  }

  /** Streams wait, or lack what came since; queries do not need it. @param {string} feed @returns {Fault[]} */
  function faultsOfRecent (feed) {
    const recent = registry.recentOf(feed)
    const behindMs = recent === null ? 0 : behindOf(recent)
    if (behindMs <= BEHIND_MS) return []
    const why = `VIEW_BEHIND: what is pushed of feed ${feed} is ${(behindMs / 1000).toFixed(1)} s behind`
    return [{ reason: recent?.failure ? `feed ${feed}: ${recent.failure}` : why, isBlocking: false }]
  }

  /** @returns {Fault} */
  const undiscovered = () => ({
    reason: registry.listError ? publicReason(registry.listError) : 'VIEW_BEHIND: the feeds are being listed',
    isBlocking: performance.now() - startedMs < READY_WITHIN_MS
  })

  return {
    /**
     * Whether queries can be answered now, and all faults. A fault that queries do not depend on, or that has lasted long, is
     * named but does not make the process unready.
     * @param {string} [only] a feed: without the faults of the views of others
     */
    status (only) {
      const { ready, reasons, ...rest } = queries.status()
      const isShown = (/** @type {string} */ feed) => only === undefined || feed === only
      const faults = [
        ...[...registry.held].flatMap(([feed, one]) => isShown(feed) ? faultsOf(feed, one) : []),
        ...registry.recentNames().filter(isShown).flatMap(faultsOfRecent)
      ]
      if (!registry.isDiscovered && ready) faults.push(undiscovered())
      return {
        ready: ready && !(discover && faults.some(({ isBlocking }) => isBlocking)),
        reasons: [...reasons, ...faults.map(({ reason }) => reason)],
        ...rest
      }
    },

    /** @returns {{ views: ViewFigures[], counts: [feed: string, counts: ViewCounts][], bound: { closed: number, refused: number } }} */
    figures: () => ({
      bound: registry.bound.counts,
      views: [...registry.held].map(([feed, { view }]) => {
        const { items, bytes, floor } = view.stats()
        return {
          feed, isComplete: view.isComplete, items, bytes, behindMs: view.isComplete ? behindOf(view) : null, isOverBound: floor !== null
        }
      }),
      counts: [...registry.counts]
    })
  }
}
