/**
 * What a feed needs on each type of node: processor, network, memory, and so shards and money. Pure arithmetic.
 *
 *     cores of a primary = factor x (fixed + micros of the published way x ratio of the layout x items/s of a shard)
 *
 * One thread of a server runs commands, so a node has one core for them, whatever its vCPU.
 *
 * @typedef {import('./nodes.js').Node} Node
 * @typedef {{ itemsPerSecond: number, valueBytes: number, layout: string, replicas: number, readers: number, requestsPerSecond: number,
 *   windowMs: number, maxItems: number, ids: number | null, engineVersion: string }} Load `ids`: distinct ones; null = each item has a
 *   new id
 * @typedef {{ name: string, of: string, use: number, limit: number, headroom: number }} Resource `use`, `limit`: in the unit of the name;
 *   `headroom`: share of the limit that is free
 * @typedef {{ node: Node, shards: number, resources: Resource[], headroom: number, tightest: string, usdPerHour: number,
 *   usdPerMillionItems: number, estimate: string, keptMs: number | null }} Option `keptMs`: how far back the feed reaches if maxItems ends
 *   before the window; null: the window decides
 */
import { costOf, FOLLOWS, KEEPS_VERSIONS } from './layouts.js'
import { fitOf } from './published.js'

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
  const coresOf = (/** @type {import('./published.js').Line} */ { fixedCores, microsPerItem }, /** @type {number} */ ratio) =>
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
  resources.reduce((least, one) => one.headroom < least.headroom ? one : least)

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
  .reduce((best, one) => one.headroom > best.headroom ? one : best)
