/** 024: see README.md. */
export default {
  title: 'What does it cost that the newest wins?',
  question: 'What does a batch of layout ids cost when the server compares versions, against overwriting in place?',
  baseline: 'overwrite',
  ceiling: 'blob',
  arms: {
    overwrite: { settings: { layout: 'ids', late: 'overwrite' } },
    newest: { settings: { layout: 'ids', late: 'newest' } },
    script: { load: 'newest-script' },
    reference: { load: 'reference' },
    blob: { load: 'blob' }
  },
  labels: {
    overwrite: 'overwriting',
    newest: 'newest wins',
    script: 'a script per batch',
    reference: 'published way',
    blob: 'bare bytes'
  },
  chart: {
    about: {
      arm: 'newest',
      against: 'overwrite',
      level: 'valkey 9.1, 10 % late',
      says: 'With a tenth late, newest wins costs {} of overwriting'
    },
    levels: ['valkey 9.1, as fast as it goes', 'valkey 9.1, 10 % late', 'redis 7.0, as fast as it goes']
  },
  formerly: { newest: 'script' },
  levels: {
    'valkey 9.1, as fast as it goes': { engine: 'valkey 9.1', settings: { rate: 0, maxItems: 1_000_000 } },
    'valkey 9.1, 50 k items/s': { engine: 'valkey 9.1', settings: { rate: 50_000 } },
    'valkey 9.1, new ids': { engine: 'valkey 9.1', settings: { rate: 0, maxItems: 2_000_000, ids: 2_000_000 } },
    'valkey 9.1, 10 % late': {
      engine: 'valkey 9.1', settings: { rate: 0, maxItems: 1_000_000, ids: 10_000, lateEvery: 10 }
    },
    'redis 7.0, as fast as it goes': { engine: 'redis 7.0', settings: { rate: 0, maxItems: 1_000_000 }, without: ['script'] },
    'redis 7.0, 50 k items/s': { engine: 'redis 7.0', settings: { rate: 50_000 }, without: ['script', 'reference'] }
  },
  fixed: { ids: 100_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 2,
  warmUpSeconds: 1,
  rounds: 5,
  measures: ['primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'itemsPerSecond', 'generatorCpuMicrosPerItem', 'primaryCpuPercent',
    'behindMsP99', 'commandsPerItem', 'replicatedBytesPerItem'],
  differs: [
    'newest sends transactions of at most 996 items, one at a time; overwrite transactions of at most 1,000; script, reference and blob ' +
      'batches of 1,000, four at a time',
    'reference sends values that never change, the others new ones each time',
    'as fast as it goes newest and overwrite trim once a second, script, reference and blob never',
    'with 10 % late items overwrite and reference let an older version replace a newer one, newest and script drop it; newest and ' +
      'overwrite then also mark each batch for views',
    'blob supports no query for an item or for the newest'
  ],
  pairs: [{ arm: 'newest', against: 'reference' }],
  expected: [
    { arm: 'newest', against: 'overwrite', direction: 'more' },
    { arm: 'script', against: 'overwrite', direction: 'more' },
    { arm: 'script', against: 'newest', direction: 'more' },
    { arm: 'reference', against: 'newest', direction: 'more', level: 'valkey 9.1, as fast as it goes' },
    { arm: 'blob', against: 'overwrite', direction: 'less' }
  ],
  budgets: [
    {
      measure: 'primaryCpuMicrosPerItem', arm: 'newest', against: 'overwrite', most: 1.75, level: 'valkey 9.1, as fast as it goes'
    },
    { measure: 'primaryCpuMicrosPerItem', arm: 'newest', against: 'overwrite', most: 1.75, level: 'valkey 9.1, 50 k items/s' },
    { measure: 'primaryCpuMicrosPerItem', arm: 'newest', against: 'reference', most: 1, level: 'valkey 9.1, as fast as it goes' },
    { measure: 'itemsPerSecond', arm: 'newest', against: 'script', least: 1, level: 'valkey 9.1, new ids' }
  ],
  notControlled: [
    'items arrive in the order of their times, but for one level: otherwise no batch needs the script',
    'primary, two replicas and the load share two cores'
  ]
}
