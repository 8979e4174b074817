/** 031: see README.md. */
export default {
  title: 'What do layouts cost without MSETEX?',
  question: 'ElastiCache up to Valkey 8.2 has no MSETEX: what does an item cost there in each layout, against the published way?',
  baseline: 'reference',
  ceiling: 'blob',
  arms: {
    reference: { load: 'reference', engine: 'redis 7.0' },
    ids: { settings: { layout: 'ids' }, engine: 'redis 7.0' },
    'ids (overwrite)': { settings: { layout: 'ids', late: 'overwrite' }, engine: 'redis 7.0' },
    values: { settings: { layout: 'values' }, engine: 'redis 7.0' },
    stream: { settings: { layout: 'stream' }, engine: 'redis 7.0' },
    segments: { settings: { layout: 'segments' }, engine: 'redis 7.0' },
    blob: { load: 'blob', engine: 'redis 7.0' }
  },
  labels: {
    reference: 'published way',
    ids: 'ids, newest wins',
    'ids (overwrite)': 'ids, overwriting',
    values: 'values in the set',
    stream: 'stream entries',
    segments: 'packed segments',
    blob: 'bare bytes'
  },
  chart: {
    about: {
      arm: 'segments',
      against: 'ids',
      says: 'Without MSETEX segments cost {} of the default ids'
    }
  },
  formerly: {
    ids: 'ids (overwrite)'
  },
  levels: { '50 k items/s, full batches': { settings: { rate: 50_000, batchMs: 25 } } },
  fixed: { ids: 100_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 4,
  warmUpSeconds: 2,
  rounds: 7,
  measures: ['primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'itemsPerSecond', 'primaryCpuPercent', 'netBytesPerItem',
    'replicatedBytesPerItem', 'memoryBytesPerVersion', 'commandsPerItem', 'generatorCpuMicrosPerItem', 'behindMsP99'],
  differs: [
    'ids and reference keep one version of an id, values, stream and segments every version, until it is trimmed',
    'reference sends values that never change, the others new ones each time',
    'reference and blob never trim'
  ],
  pairs: [{ arm: 'segments', against: 'ids' }],
  expected: [
    { arm: 'ids', against: 'ids (overwrite)', direction: 'same' },
    { arm: 'ids (overwrite)', against: 'reference', direction: 'same' },
    { arm: 'values', against: 'reference', direction: 'less' },
    { arm: 'stream', against: 'reference', direction: 'same' },
    { arm: 'segments', against: 'reference', direction: 'less' },
    { arm: 'blob', against: 'reference', direction: 'less' }
  ],
  notControlled: [
    'Redis 7.0 of Debian stands for the Valkey 8.2 of ElastiCache, which has another processor and I/O threads'
  ]
}
