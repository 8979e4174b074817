/**
 * Views for scans of all items (filtered-queries.js), of any layout: a node reads all items for a scan, of which few may be wanted. They
 * are kept for a minute after the last scan.
 */
const KEPT_MS = 60_000

/** @typedef {import('./view.js').Question} Question */
/** @typedef {import('./partitioned-store.js').Visit} Visit */
/** @typedef {{ next: import('../item/index.js').Place | null, asOf: number, lagMs: number | null } | null} Visited */

/**
 * @param {{ registry: Pick<import('./view-registry.js').Registry, 'held' | 'want' | 'unwant'>,
 *   queries: Pick<import('./queries.js').Queries, 'definition'>, deployment: Pick<import('../store/index.js').Servers, 'use'>,
 *   untilComplete: (one: import('./view-registry.js').Held) => Promise<void>, isNone: boolean,
 *   visitIn: (view: import('./view.js').View | null, question: Question, visit: Visit) => Visited }} parts `isNone`: no feed has a view
 */
export function createScannedViews ({ registry, queries, deployment, untilComplete, isNone, visitIn }) {
  /** When they are let go. @type {Map<string, NodeJS.Timeout>} */
  const kept = new Map()

  /** @param {string} feed */
  async function keep (feed) {
    if (isNone) return
    const definition = kept.has(feed) ? null : await queries.definition(feed)
    if (definition && !kept.has(feed)) {
      registry.want(definition)
      kept.set(feed, setTimeout(letGo, KEPT_MS, feed).unref())
    }
    kept.get(feed)?.refresh()
  }

  /** @param {string} feed */
  function letGo (feed) {
    kept.delete(feed)
    registry.unwant(feed)
  }

  return {
    /**
     * As `visit` of views, but it waits some seconds for a view that is being built.
     * @param {string} feed @param {Question} question @param {Visit} visit @returns {Promise<Visited>}
     * @throws {import('../errors.js').FreshetError} FEED_UNKNOWN
     */
    async scan (feed, question, visit) {
      deployment.use()
      await keep(feed)
      const one = registry.held.get(feed)
      if (one && !one.view.isComplete) await untilComplete(one)
      return visitIn(one?.view ?? null, question, visit)
    },

    close () { for (const timer of kept.values()) clearTimeout(timer) }
  }
}
