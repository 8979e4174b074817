/** 024: see README.md. */
export default {
  title: 'What does it cost that the newest wins?',
  question: 'What does a batch of layout ids cost when the server compares versions, against overwriting in place?',
  baseline: 'overwrite',
  ceiling: 'blob',
  arms: {
    overwrite: { settings: { layout: 'ids', late: 'overwrite' } },
    newest: { settings: { layout: 'ids', late: 'newest' } },
    blob: { load: 'blob' }
  },
  labels: {
    overwrite: 'overwriting',
    newest: 'newest wins',
    blob: 'bare bytes'
  },
  levels: {
    'valkey 9.1, as fast as it goes': { engine: 'valkey 9.1', settings: { rate: 0, maxItems: 1_000_000 } },
    'valkey 9.1, 50 k items/s': { engine: 'valkey 9.1', settings: { rate: 50_000 } },
    'redis 7.0, as fast as it goes': { engine: 'redis 7.0', settings: { rate: 0, maxItems: 1_000_000 } },
    'redis 7.0, 50 k items/s': { engine: 'redis 7.0', settings: { rate: 50_000 } }
  },
  fixed: { ids: 100_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 2,
  warmUpSeconds: 1,
  rounds: 5,
  measures: ['primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'itemsPerSecond', 'generatorCpuMicrosPerItem', 'primaryCpuPercent',
    'behindMsP99', 'commandsPerItem', 'replicatedBytesPerItem'],
  differs: [
    'newest sends one script per batch of at most 996 items, overwrite a transaction of at most 1,000',
    'as fast as it goes newest and overwrite trim once a second, blob never',
    'blob supports no query for an item or for the newest'
  ],
  expected: [
    { arm: 'newest', against: 'overwrite', direction: 'more' },
    { arm: 'blob', against: 'overwrite', direction: 'less' }
  ],
  budgets: [
    {
      measure: 'primaryCpuMicrosPerItem', arm: 'newest', against: 'overwrite', most: 1.8, level: 'valkey 9.1, as fast as it goes'
    },
    { measure: 'primaryCpuMicrosPerItem', arm: 'newest', against: 'overwrite', most: 1.8, level: 'valkey 9.1, 50 k items/s' }
  ],
  notControlled: [
    'items arrive in the order of their times: every batch takes the short way through the script',
    'primary, two replicas and the load share two cores'
  ]
}
