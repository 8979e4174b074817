/**
 * Views for scans of all items (filtered-queries.js), of any layout: a node reads all items for a scan, of which few may be wanted. They
 * are kept for a minute after the last scan.
 */
import { setTimeout as sleep } from 'node:timers/promises'

const KEPT_MS = 60_000
const REACHED_WITHIN_MS = 2000
const LOOK_MS = 10

/** @typedef {import('./view.js').Question} Question */
/** @typedef {import('./partitioned-store.js').Visit} Visit */
/** @typedef {{ next: import('../item/index.js').Place | null, asOf: number, lagMs: number | null } | null} Visited */

/**
 * @param {{ registry: Pick<import('./view-registry.js').Registry, 'held' | 'scan' | 'unscan'>,
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
      const one = registry.held.get(feed)
      if (one && !one.view.isComplete) await untilComplete(one)
      const untilMs = performance.now() + REACHED_WITHIN_MS
      while (one?.view.isComplete && !hasReached(one.view)) {
        if (performance.now() > untilMs) return null
        await sleep(LOOK_MS)
      }
      return visitIn(one?.view ?? null, question, visit)
    },

    close () { for (const timer of kept.values()) clearTimeout(timer) }
  }
}
