/** What changed lately (recent.js), of all feeds of a process that are followed so. */
import { createRecent } from './recent.js'

/** @typedef {import('../feeds/index.js').Definition} Definition */
/** @typedef {import('./recent.js').Recent} Recent */

/** of versions that are kept, of all feeds together; each has at least LEAST_BYTES */
const KEPT_BYTES = 64 * 1024 * 1024
const LEAST_BYTES = 4 * 1024 * 1024

/**
 * @param {Pick<Parameters<typeof createRecent>[0], 'deployment' | 'keyPrefix' | 'now' | 'log' | 'boundItems' | 'boundBytes'> & {
 *   countsOf: (feed: string) => import('./view-registry.js').ViewCounts }} parts
 */
export function createRecents ({ countsOf, ...parts }) {
  /** @type {Map<string, Recent>} */
  const recents = new Map()
  const maxBytes = () => Math.max(LEAST_BYTES, KEPT_BYTES / recents.size)

  /** @param {string} feed */
  async function shut (feed) {
    const recent = recents.get(feed)
    recents.delete(feed)
    await recent?.close()
  }

  return {
    names: () => [...recents.keys()],

    /** @param {string} feed @returns {Recent | null} */
    of: (feed) => recents.get(feed) ?? null,

    /** As the feed is stored now. @param {Definition} definition @param {boolean} isNeeded */
    follow (definition, isNeeded) {
      const { feed } = definition
      const before = recents.get(feed)
      if (isNeeded && before?.isOf(definition)) return before.setDefinition(definition)
      shut(feed)
      if (!isNeeded) return
      const counted = countsOf(feed)
      recents.set(feed, createRecent({
        ...parts,
        definition,
        maxBytes,
        onSkipped (reason) { counted.skipped[reason]++ },
        onRebuilt () { counted.rebuilt++ }
      }))
    },

    shut,
    close: () => Promise.all([...recents.keys()].map(shut))
  }
}
