/**
 * 038: see README.md. Pages of the newest 1,000 items, read from a replica by the lab's own handler, one after the other, while a writer
 * writes each item again.
 */
const asks = (/** @type {string} */ by) => ({ serving: { by, connections: 4, path: '/v1/feeds/lab/items?limit=1000' } })

export default {
  title: 'What does the key lookup cost readers?',
  question: 'What does a replica do for the newest 1,000 items with values in the set, in keys of their own, and without values?',
  baseline: 'ids and MGET',
  ceiling: 'bare',
  arms: {
    'ids and MGET': { settings: { layout: 'ids' }, ...asks('ask'), note: 'a range of the sorted set, then the values by their keys' },
    'values in the set': { settings: { layout: 'values' }, ...asks('ask range'), note: 'a range of the sorted set, with all versions' },
    'newest in the set': { settings: { layout: 'values' }, ...asks('ask'), note: 'as Freshet reads it: the newest version of each id' },
    'ids only': { settings: { layout: 'ids' }, ...asks('ask range'), note: 'a range of the sorted set, without the values' },
    bare: { settings: { layout: 'ids' }, ...asks('bare'), note: 'the same page from memory: no server is asked' }
  },
  labels: { 'ids and MGET': 'ids, then MGET', 'newest in the set': 'newest of each id', bare: 'constant responses' },
  chart: {
    about: {
      arm: 'values in the set',
      against: 'ids and MGET',
      level: 'newest 1,000 of 10,000',
      says: 'Values in the set cost readers {} of ids and MGET'
    }
  },
  levels: {
    'newest 1,000 of 10,000': { settings: { ids: 10_000 } },
    'newest 1,000 of 300,000': { settings: { ids: 300_000 } }
  },
  fixed: { rate: 60_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 2.5,
  warmUpSeconds: 1,
  rounds: 5,
  measures: ['replicaCpuMicrosPerItemRead', 'itemsReadPerSecond', 'replicaCpuPercent', 'replicaOutBytesPerSecond', 'latencyMsP99',
    'servingCpuPercent'],
  differs: [
    'values keeps every version of an id, ids one; the newest 1,000 are 1,000 versions',
    'a page without values has a fifth of the bytes'
  ],
  expected: [
    { arm: 'values in the set', against: 'ids and MGET', direction: 'less' },
    { arm: 'newest in the set', against: 'values in the set', direction: 'more' },
    { arm: 'ids only', against: 'values in the set', direction: 'less' },
    { arm: 'ids only', against: 'ids and MGET', direction: 'less' },
    { arm: 'bare', against: 'ids and MGET', direction: 'less' }
  ],
  notControlled: [
    'replicas also apply the writes of 60,000 items/s, which cost them more in one layout than in the other',
    'servers, writer, handler and client share two cores'
  ]
}
