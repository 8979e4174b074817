/**
 * What layouts cost, as ratios to the published way, on a server without MSETEX, or in a cluster, where Freshet does not use it: medians of
 * experiments/031-without-msetex, at 50,000 items/s in full batches of 128-byte values. A test compares them with its results.
 *
 * @typedef {{ primary: number, replica: number, sentBytes: number, replicatedBytes: number, memoryBytes: number }} LayoutCost `primary`,
 *   `replica`: CPU per item, x that of the published way; bytes: per item beyond its value; `memoryBytes`: per version that is kept
 */

export const MEASURED = Object.freeze({ experiment: '031-without-msetex', level: '50 k items/s, full batches', valueBytes: 128 })

/** @type {Readonly<Record<string, LayoutCost>>} */
export const LAYOUTS = Object.freeze({
  reference: { primary: 1, replica: 1, sentBytes: 106, replicatedBytes: 126, memoryBytes: 297 },
  ids: { primary: 1.21, replica: 1.24, sentBytes: 129, replicatedBytes: 139, memoryBytes: 302 },
  values: { primary: 0.71, replica: 0.78, sentBytes: 50, replicatedBytes: 50, memoryBytes: 141 },
  stream: { primary: 0.77, replica: 0.64, sentBytes: 117, replicatedBytes: 134, memoryBytes: 71 },
  segments: { primary: 0.132, replica: 0.12, sentBytes: 20, replicatedBytes: 20, memoryBytes: 39 }
})

/** Layout ids with MSETEX (experiment 013). A cluster, of any version, gets the same commands as a server without it. */
const WITH_MSETEX = Object.freeze({
  primary: 0.703, replica: 0.94, experiment: '013-layouts-fast', why: 'by MSETEX, on one shard with items in order'
})

/**
 * @param {{ layout: string, engineVersion: string }} load @param {number} shards
 * @returns {LayoutCost & { experiment: string, why?: string }} `experiment`: where it was measured; `why`: what else it has to do with
 */
export function costOf ({ layout, engineVersion }, shards) {
  const cost = { ...LAYOUTS[layout], experiment: MEASURED.experiment }
  if (layout !== 'ids' || engineVersion !== '9.1' || shards > 1) return cost
  return { ...cost, ...WITH_MSETEX }
}

/** of readers: requests per second of the newest 100 that one process answers from its view (experiments/014-readers, median) */
export const REQUESTS_PER_READER = 5_900
/** CPU of a replica for one reader that follows the feed, per item: as much as for replicating it (experiments/010-consumers: at most) */
export const FOLLOWS = 1
/** layouts that keep every version, not one per id */
export const KEEPS_VERSIONS = Object.freeze(['values', 'stream', 'segments'])
