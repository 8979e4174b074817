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
