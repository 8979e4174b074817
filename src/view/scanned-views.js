/**
 * Keeps the views of feeds whose items are scanned, and for a minute longer: a scan of a node reads all items, of which few may be
 * wanted.
 */
const KEPT_MS = 60_000

/**
 * @param {{ registry: Pick<import('./view-registry.js').Registry, 'want' | 'unwant'>,
 *   queries: Pick<import('./queries.js').Queries, 'definition'>, isNone: boolean }} parts `isNone`: no feed has a view
 */
export function createScannedViews ({ registry, queries, isNone }) {
  /** When they are let go. @type {Map<string, NodeJS.Timeout>} */
  const kept = new Map()

  return {
    /** @param {string} feed @throws {import('../errors.js').FreshetError} FEED_UNKNOWN, of the first scan */
    async keep (feed) {
      if (isNone) return
      if (!kept.has(feed)) {
        const definition = await queries.definition(feed)
        if (!kept.has(feed)) {
          registry.want(definition)
          kept.set(feed, setTimeout(() => {
            kept.delete(feed)
            registry.unwant(feed)
          }, KEPT_MS).unref())
        }
      }
      kept.get(feed)?.refresh()
    },

    close () { for (const timer of kept.values()) clearTimeout(timer) }
  }
}
