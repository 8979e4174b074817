/**
 * What a feed needs on each type of node: processor, network, memory, and so shards and money. Pure arithmetic.
 *
 *     cores of a primary = factor x (fixed + micros of the published way x ratio of the layout x items/s of a shard)
 *
 * One thread of a server runs commands, so a node has one core for them, whatever its vCPU.
 *
 * @typedef {{ itemsPerSecond: number, valueBytes: number, layout: string, replicas: number, readers: number, requestsPerSecond: number,
 *   windowMs: number, maxItems: number, ids: number | null }} Load `ids`: distinct ones; null = each item has a new id
 * @typedef {{ name: string, of: string, use: number, limit: number, headroom: number }} Resource `use`, `limit`: in the unit of the name;
 *   `headroom`: share of the limit that is free
 * @typedef {{ node: Node, shards: number, resources: Resource[], headroom: number, tightest: string, usdPerHour: number,
 *   usdPerMillionItems: number, estimate: string, keptMs: number | null }} Option `keptMs`: how far back the feed reaches if maxItems ends
 *   before the window; null: the window decides
 */

/**
 * What the published way (one SETEX per item and one ZADD per 1,000, 128-byte values) cost on ElastiCache: percent of the whole node of 2
 * vCPU, of which 50 is one core.
 *
 * Source: the README at STUDY (2021).
 *
 * @typedef {{ node: string, writers: number, itemsPerSecond: number, primary: number, replica: number }} Published
 */

export const STUDY = 'https://github.com/luciopaiva/redis-nodejs-test/tree/HEAD/experiments/sorted-set-of-byte-arrays'

/** @type {readonly Published[]} */
export const PUBLISHED = Object.freeze([
  ['r6g.large', 4, 40_000, 11, 7.5], ['r6g.large', 4, 200_000, 36, 24], ['r6g.large', 6, 300_000, 50, 33],
  ['r6g.large', 8, 200_000, 40, 27], ['r6g.large', 8, 200_000, 45, 30],
  ['r5.large', 4, 40_000, 9.5, 7], ['r5.large', 4, 200_000, 30, 22], ['r5.large', 6, 300_000, 44, 31], ['r5.large', 8, 400_000, 53, 37],
  ['r5.large', 5, 240_000, 42, 27], ['r5.large', 6, 240_000, 42, 28], ['r5.large', 8, 300_000, 48, 35], ['r5.large', 8, 240_000, 42, 30],
  ['r5.large', 8, 200_000, 37, 25]
].map(([node, writers, itemsPerSecond, primary, replica]) =>
  Object.freeze(/** @type {Published} */ ({ node, writers, itemsPerSecond, primary, replica }))))

const PERCENT_OF_A_CORE = 50
const FIT_WRITERS = 4
const FITTED = Object.freeze([40_000, 200_000])

/** @typedef {{ fixedCores: number, microsPerItem: number }} Line cores = fixed + micros x items/s / 1e6 */

/**
 * Through the two rows of four writers.
 * @param {string} node @returns {{ primary: Line, replica: Line }}
 */
export function fitOf (node) {
  const [low, high] = FITTED.map((rate) =>
    PUBLISHED.find((row) => row.node === node && row.writers === FIT_WRITERS && row.itemsPerSecond === rate))
  if (!low || !high) throw new RangeError(`${node} has no published rows`)
  const lineOf = (/** @type {'primary' | 'replica'} */ what) => {
    const perItem = (high[what] - low[what]) / PERCENT_OF_A_CORE / (high.itemsPerSecond - low.itemsPerSecond)
    return { fixedCores: low[what] / PERCENT_OF_A_CORE - perItem * low.itemsPerSecond, microsPerItem: perItem * 1e6 }
  }
  return { primary: lineOf('primary'), replica: lineOf('replica') }
}

/** How far the line is from each published row. @returns {(Published & { planned: number, error: number })[]} of the primary, percent */
export const errorsOfFit = () => PUBLISHED.map((row) => {
  const { fixedCores, microsPerItem } = fitOf(row.node).primary
  const planned = PERCENT_OF_A_CORE * (fixedCores + microsPerItem * row.itemsPerSecond / 1e6)
  return { ...row, planned, error: planned / row.primary - 1 }
})

/**
 * Nodes of ElastiCache, as data.
 *
 * @typedef {{ type: string, family: string, vcpu: number, memoryGiB: number, networkGbit: number, usdPerHour: number }} Node
 *   `type`: without `cache.`; `networkGbit`: baseline, per direction
 */

/** On demand. */
export const PRICES = Object.freeze({
  date: '2026-10-02',
  what: 'Valkey on ElastiCache, us-east-1, on demand',
  source: 'AWS Price List API, service AmazonElastiCache, usage type NodeUsage'
})
/** @type {Readonly<Record<string, string>>} */
export const SOURCES = Object.freeze({
  memory: 'https://aws.amazon.com/elasticache/pricing/',
  network: 'https://docs.aws.amazon.com/AmazonElastiCache/latest/dg/CacheNodes.SupportedTypes.html'
})

/** @type {readonly [string, number, number, number, number][]} vCPU, memory, baseline of the network, price */
const ROWS = [
  ['r6g.large', 2, 13.07, 0.75, 0.1648],
  ['r6g.xlarge', 4, 26.32, 1.25, 0.3288],
  ['r6g.2xlarge', 8, 52.82, 2.5, 0.6568],
  ['r6g.4xlarge', 16, 105.81, 5, 1.3136],
  ['r6g.8xlarge', 32, 209.55, 12, 2.6272],
  ['r6g.12xlarge', 48, 317.77, 20, 3.94],
  ['r6g.16xlarge', 64, 419.09, 25, 5.2536],
  ['r7g.large', 2, 13.07, 0.937, 0.1752],
  ['r7g.xlarge', 4, 26.32, 1.876, 0.3496],
  ['r7g.2xlarge', 8, 52.82, 3.75, 0.6984],
  ['r7g.4xlarge', 16, 105.81, 7.5, 1.396],
  ['r7g.8xlarge', 32, 209.55, 15, 2.7928],
  ['r7g.12xlarge', 48, 317.77, 22.5, 4.188],
  ['r7g.16xlarge', 64, 419.09, 30, 5.5848],
  ['m6g.large', 2, 6.38, 0.75, 0.1192],
  ['m6g.xlarge', 4, 12.93, 1.25, 0.2376],
  ['m6g.2xlarge', 8, 26.04, 2.5, 0.4744],
  ['m6g.4xlarge', 16, 52.26, 5, 0.9488],
  ['m6g.8xlarge', 32, 103.68, 12, 1.8976],
  ['m6g.12xlarge', 48, 157.12, 20, 2.8456],
  ['m6g.16xlarge', 64, 209.55, 25, 3.7944],
  ['m7g.large', 2, 6.38, 0.937, 0.1264],
  ['m7g.xlarge', 4, 12.93, 1.876, 0.252],
  ['m7g.2xlarge', 8, 26.04, 3.75, 0.5032],
  ['m7g.4xlarge', 16, 52.26, 7.5, 1.0056],
  ['m7g.8xlarge', 32, 103.68, 15, 2.0112],
  ['m7g.12xlarge', 48, 157.12, 22.5, 3.016],
  ['m7g.16xlarge', 64, 209.55, 30, 4.0224],
  ['r5.large', 2, 13.07, 0.75, 0.1728],
  ['r5.xlarge', 4, 26.32, 1.25, 0.3448],
  ['r5.2xlarge', 8, 52.82, 2.5, 0.6896],
  ['r5.4xlarge', 16, 105.81, 5, 1.3792],
  ['r5.12xlarge', 48, 317.77, 12, 4.1472],
  ['r5.24xlarge', 96, 635.61, 25, 8.2944],
  ['m5.large', 2, 6.38, 0.75, 0.1248],
  ['m5.xlarge', 4, 12.93, 1.25, 0.2488],
  ['m5.2xlarge', 8, 26.04, 2.5, 0.4984],
  ['m5.4xlarge', 16, 52.26, 5, 0.996],
  ['m5.12xlarge', 48, 157.12, 12, 2.9952],
  ['m5.24xlarge', 96, 314.32, 25, 5.9904]
]

/** @type {readonly Node[]} */
export const NODES = Object.freeze(ROWS.map(([type, vcpu, memoryGiB, networkGbit, usdPerHour]) =>
  Object.freeze({ type, family: type.split('.')[0], vcpu, memoryGiB, networkGbit, usdPerHour })))

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

/** Layout ids with MSETEX of Valkey 9.1 (experiment 013). A cluster gets the same commands as a server without it. */
const WITH_MSETEX = Object.freeze({
  primary: 0.703, replica: 0.94, experiment: '013-layouts-fast', why: 'by MSETEX, on one shard with items in order'
})

/**
 * @param {{ layout: string }} load @param {number} shards
 * @returns {LayoutCost & { experiment: string, why?: string }} `experiment`: where it was measured; `why`: what else it has to do with
 */
export function costOf ({ layout }, shards) {
  const cost = { ...LAYOUTS[layout], experiment: MEASURED.experiment }
  if (layout !== 'ids' || shards > 1) return cost
  return { ...cost, ...WITH_MSETEX }
}

/** of readers: requests per second of the newest 100 that one process answers from its view (experiments/014-readers, median) */
export const REQUESTS_PER_READER = 5_900
/** CPU of a replica for one reader that follows the feed, per item: as much as for replicating it (experiments/010-consumers: at most) */
const FOLLOWS = 1
/** layouts that keep every version, not one per id */
const KEEPS_VERSIONS = Object.freeze(['values', 'stream', 'segments'])

/** of the core that runs commands; ElastiCache alarms at 90 % */
const MOST_CORES = 0.7
const MOST_NETWORK = 0.8
/** the parameter reserved-memory-percent of ElastiCache is 25 */
const MOST_MEMORY = 0.75
const MOST_SHARDS = 90
/** so that a feed spreads over shards that are added later, too */
export const PARTITIONS_PER_SHARD = 2
/** share of each limit that stays free */
export const HEADROOM = 0.2
const GIB = 2 ** 30
const GRAVITON3 = 'AWS announced up to 28 % more throughput for these nodes, August 2023'

/** @type {Readonly<Record<string, { like: string, factor: number, why: string }>>} */
const FAMILIES = Object.freeze({
  r6g: { like: 'r6g.large', factor: 1, why: 'fitted on published rows' },
  m6g: { like: 'r6g.large', factor: 1, why: 'estimated from r6g: the same processor; published 40 % of both at 200,000 items/s' },
  r7g: { like: 'r6g.large', factor: 1 / 1.28, why: `estimated from r6g: / 1.28, ${GRAVITON3}` },
  m7g: { like: 'r6g.large', factor: 1 / 1.28, why: `estimated from r6g: / 1.28, ${GRAVITON3}` },
  r5: { like: 'r5.large', factor: 1, why: 'fitted on published rows' },
  m5: { like: 'r5.large', factor: 1, why: 'estimated from r5: the same processor' }
})

/** What does not depend on the type of the node. @param {Load} load @param {number} shards one has one partition */
export function demandOf (load, shards) {
  const { itemsPerSecond, valueBytes, layout, replicas, readers, windowMs, maxItems, ids } = load
  const cost = costOf(load, shards)
  const keepsVersions = KEEPS_VERSIONS.includes(layout)
  const inWindow = windowMs === 0 ? Infinity : itemsPerSecond * windowMs / 1000
  const live = keepsVersions ? inWindow : Math.min(inWindow, ids ?? Infinity)
  const kept = Math.min(live / shards, (maxItems || Infinity) * (shards === 1 ? 1 : PARTITIONS_PER_SHARD))
  const gbit = (/** @type {number} */ bytes) => itemsPerSecond * (valueBytes + bytes) * 8 / 1e9
  return {
    cost,
    keepsVersions,
    /** within the window, of all shards */
    live,
    /** of one shard */
    kept,
    /** of one shard */
    memoryGiB: kept * (valueBytes + cost.memoryBytes) / GIB,
    sentGbit: gbit(cost.sentBytes),
    replicatedGbit: gbit(cost.replicatedBytes),
    /** of the replica that has the most */
    readersOfReplica: Math.ceil(readers / Math.max(1, replicas))
  }
}

/** @param {Node} node @param {Load} load @param {number} shards @returns {Resource[]} of one shard */
export function resourcesOf (node, load, shards) {
  const { cost, memoryGiB, sentGbit, replicatedGbit, readersOfReplica } = demandOf(load, shards)
  const { like, factor } = FAMILIES[node.family]
  const { primary, replica } = fitOf(like)
  const items = load.itemsPerSecond / shards
  const coresOf = (/** @type {Line} */ { fixedCores, microsPerItem }, /** @type {number} */ ratio) =>
    factor * (fixedCores + microsPerItem * ratio * items / 1e6)
  const hasReplicas = load.replicas > 0
  const followed = 1 + FOLLOWS * readersOfReplica
  const readsOfPrimary = hasReplicas ? 0 : readersOfReplica
  /** @type {(name: string, of: string, use: number, limit: number) => Resource} */
  const resource = (name, of, use, limit) => ({ name, of, use, limit, headroom: 1 - use / limit })
  return [
    resource('cores', 'primary', coresOf(primary, cost.primary) + coresOf({ fixedCores: 0, microsPerItem: replica.microsPerItem },
      cost.replica * FOLLOWS * readsOfPrimary), MOST_CORES),
    ...(hasReplicas ? [resource('cores', 'replica', coresOf(replica, cost.replica * followed), MOST_CORES)] : []),
    resource('Gbit/s in', 'primary', sentGbit / shards, MOST_NETWORK * node.networkGbit),
    resource('Gbit/s out', 'primary', replicatedGbit * (load.replicas + readsOfPrimary) / shards, MOST_NETWORK * node.networkGbit),
    ...(hasReplicas
      ? [resource('Gbit/s out', 'replica', replicatedGbit * readersOfReplica / shards, MOST_NETWORK * node.networkGbit)]
      : []),
    resource('GiB', 'each node', memoryGiB, MOST_MEMORY * node.memoryGiB)
  ]
}

/** See Option. @param {Load} load @param {number} shards */
function keptMsOf (load, shards) {
  const { live, kept } = demandOf(load, shards)
  return kept * shards < live ? kept * shards / load.itemsPerSecond * 1000 : null
}

const tightestOf = (/** @type {Resource[]} */ resources) =>
  resources.reduce((least, candidate) => candidate.headroom < least.headroom ? candidate : least)

/**
 * With as few shards as leave 20 % of each limit free.
 * @param {Node} node @param {Load} load @returns {Option | null} null: not with 90 shards, the most of a cluster
 */
function optionOf (node, load) {
  for (let shards = 1; shards <= MOST_SHARDS; shards++) {
    const resources = resourcesOf(node, load, shards)
    const tightest = tightestOf(resources)
    if (tightest.headroom < HEADROOM) continue
    const usdPerHour = shards * (1 + load.replicas) * node.usdPerHour
    return {
      node,
      shards,
      resources,
      headroom: tightest.headroom,
      tightest: `${tightest.name} of ${tightest.of}`,
      usdPerHour,
      usdPerMillionItems: usdPerHour / (load.itemsPerSecond * 3600 / 1e6),
      estimate: FAMILIES[node.family].why,
      keptMs: keptMsOf(load, shards)
    }
  }
  return null
}

/** Of one partition, so that the window decides. @param {Load} load @param {number} shards */
export const maxItemsFor = (load, shards) => {
  const { live } = demandOf(load, shards)
  return Math.ceil(live / (shards === 1 ? 1 : shards * PARTITIONS_PER_SHARD))
}

/** @param {readonly Node[]} nodes @param {Load} load @returns {Option[]} the cheapest first */
export const planFor = (nodes, load) => nodes.flatMap((node) => optionOf(node, load) ?? [])
  .sort((a, b) => a.usdPerHour - b.usdPerHour || a.shards - b.shards)

/** Why none fits: what even the largest node of 90 shards has not. @param {readonly Node[]} nodes @param {Load} load @returns {Resource} */
export const lackOf = (nodes, load) => nodes.map((node) => tightestOf(resourcesOf(node, load, MOST_SHARDS)))
  .reduce((best, candidate) => candidate.headroom > best.headroom ? candidate : best)
