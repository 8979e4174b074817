/**
 * What layouts cost, as ratios to the published way, on a server without MSETEX, or in a cluster, where Freshet does not use it: medians of
 * experiments/031-without-msetex, at 50,000 items/s in full batches of 128-byte values, there with `--late overwrite`. A test compares them
 * with its results.
 *
 * @typedef {{ primary: number, replica: number, sentBytes: number, replicatedBytes: number, memoryBytes: number }} LayoutCost `primary`,
 *   `replica`: CPU per item, x that of the published way; bytes: per item beyond its value; `memoryBytes`: per version that is kept
 */

export const MEASURED = Object.freeze({ experiment: '031-without-msetex', level: '50 k items/s, full batches', valueBytes: 128 })

/** @type {Readonly<Record<string, LayoutCost>>} */
export const LAYOUTS = Object.freeze({
  reference: { primary: 1, replica: 1, sentBytes: 106, replicatedBytes: 126, memoryBytes: 297 },
  ids: { primary: 1, replica: 1.06, sentBytes: 129, replicatedBytes: 139, memoryBytes: 300 },
  values: { primary: 0.72, replica: 0.82, sentBytes: 50, replicatedBytes: 50, memoryBytes: 141 },
  stream: { primary: 0.61, replica: 0.49, sentBytes: 117, replicatedBytes: 134, memoryBytes: 71 },
  segments: { primary: 0.13, replica: 0.109, sentBytes: 20, replicatedBytes: 20, memoryBytes: 39 }
})

/**
 * What layout ids costs the primary beyond overwriting, because the newest version wins (experiment 024), and what MSETEX saves (experiment
 * 013). A cluster, of any version, gets the same commands as a server without MSETEX.
 */
const SCRIPT = Object.freeze({ ratio: 1.79, why: '1.79 x because a script compares versions (experiment 024, Redis 7.0)' })
const WATCHED = Object.freeze({
  ratio: 1.5 * 0.76,
  why: 'at most 1.5 x because the newest version wins (experiment 024), 0.76 x by MSETEX (013): Valkey 9.1, one shard, items in order'
})

/**
 * @param {{ layout: string, engineVersion: string }} load @param {number} shards
 * @returns {LayoutCost & { why?: string }} `why`: what the ratio of the primary has beside that of experiment 031
 */
export function costOf ({ layout, engineVersion }, shards) {
  const cost = LAYOUTS[layout]
  if (layout !== 'ids') return cost
  const { ratio, why } = engineVersion === '9.1' && shards === 1 ? WATCHED : SCRIPT
  return { ...cost, primary: ratio * cost.primary, why }
}

/** of readers: requests per second of the newest 100 that one process answers from its view (experiments/014-readers, median) */
export const REQUESTS_PER_READER = 5_900
/** CPU of a replica for one reader that follows the feed, per item: as much as for replicating it (experiments/010-consumers: at most) */
export const FOLLOWS = 1
/** layouts that keep every version, not one per id */
export const KEEPS_VERSIONS = Object.freeze(['values', 'stream', 'segments'])
