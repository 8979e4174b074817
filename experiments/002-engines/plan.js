/**
 * 002: see README.md. An engine that is not found is left out, and the run says so.
 */
export default {
  title: 'Does the engine matter?',
  question: 'What does the same batch cost, overwriting ids or values, on Valkey 9.1 and 9.0, Redis 7.0 and 6.2?',
  baseline: 'valkey 9.1',
  ceiling: 'blob',
  arms: {
    'valkey 9.1': { engine: 'valkey 9.1' },
    'valkey 9.0': { engine: 'valkey 9.0' },
    'redis 7.0': { engine: 'redis 7.0' },
    'redis 6.2': { engine: 'redis 6.2' },
    blob: { load: 'blob', engine: 'valkey 9.1' }
  },
  labels: {
    'valkey 9.1': 'Valkey 9.1',
    'valkey 9.0': 'Valkey 9.0',
    'redis 7.0': 'Redis 7.0',
    'redis 6.2': 'Redis 6.2',
    blob: 'bare bytes'
  },
  chart: {
    about: { arm: 'redis 7.0', against: 'valkey 9.1', level: 'ids (overwrite)', says: 'Overwriting ids on Redis 7.0 cost {} of Valkey 9.1' }
  },
  formerly: {
    'layout ids': 'ids (overwrite)'
  },
  levels: {
    'ids (overwrite)': { settings: { layout: 'ids', late: 'overwrite' } },
    'layout values': { settings: { layout: 'values' }, without: ['valkey 9.0'] }
  },
  fixed: { rate: 40_000, ids: 60_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 4,
  warmUpSeconds: 1.5,
  rounds: 5,
  measures: ['primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'primaryCpuPercent', 'commandsPerItem', 'behindMsP99', 'itemsPerSecond',
    'generatorCpuMicrosPerItem', 'netBytesPerItem', 'replicatedBytesPerItem'],
  differs: [
    'layout ids: valkey 9.1 stores the items of a batch with one MSETEX, the other engines with a SET each',
    'the engines were built by different people with different compilers and allocators'
  ],
  expected: [
    { arm: 'valkey 9.0', against: 'valkey 9.1', direction: 'more', level: 'ids (overwrite)' },
    { arm: 'redis 7.0', against: 'valkey 9.1', direction: 'more' },
    { arm: 'redis 6.2', against: 'valkey 9.1', direction: 'more' },
    { arm: 'blob', against: 'valkey 9.1', direction: 'less' }
  ],
  notControlled: [
    'how each engine was built: the published binaries are used',
    'primary, two replicas and the load share two cores'
  ]
}
