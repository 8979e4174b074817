/**
 * 003: see README.md. 40,000 items a second in all arms; `rate` is of each process. The warm-up is long for eight
 * processes that begin at once: until their code is compiled they are late, and late batches are full ones.
 */
export default {
  title: 'Same items, more writers?',
  question: 'Do the same 40,000 items a second cost the servers more when 4 to 8 processes send them instead of one, ' +
    'overwriting or by default?',
  baseline: '1 writer',
  ceiling: 'blob',
  arms: {
    '1 writer': { settings: { writers: 1, rate: 40_000 } },
    '4 writers': { settings: { writers: 4, rate: 10_000 } },
    '5 writers': { settings: { writers: 5, rate: 8000 } },
    '6 writers': { settings: { writers: 6, rate: 6667 } },
    '8 writers': { settings: { writers: 8, rate: 5000 } },
    '8 writers (full batches)': {
      settings: { writers: 8, rate: 5000, batchMs: 40 },
      note: 'batches wait 40 ms instead of 5 and have as many items as those of one writer'
    },
    'default (1 writer)': { settings: { late: 'newest', writers: 1, rate: 40_000 } },
    'default (4 writers)': { settings: { late: 'newest', writers: 4, rate: 10_000 } },
    'default (8 writers)': { settings: { late: 'newest', writers: 8, rate: 5000 } },
    blob: { load: 'blob', settings: { rate: 40_000 } }
  },
  labels: {
    '8 writers (full batches)': '8 writers, full batches',
    'default (1 writer)': '1 writer, newest wins',
    'default (4 writers)': '4 writers, newest wins',
    'default (8 writers)': '8 writers, newest wins',
    blob: 'bare bytes'
  },
  chart: {
    about: { arm: 'default (4 writers)', against: '4 writers', says: 'By default four writers cost {} of four that overwrite' }
  },
  levels: { '40 k items/s': {} },
  fixed: { layout: 'ids', late: 'overwrite', ids: 40_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 4,
  warmUpSeconds: 3,
  rounds: 5,
  measures: ['primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'primaryCpuPercent', 'commandsPerItem', 'behindMsP99', 'itemsPerSecond',
    'generatorCpuMicrosPerItem', 'netBytesPerItem'],
  differs: [
    'with batches as full, an item waits up to 40 ms for its batch, else up to 5 ms',
    'arms without default overwrite; by default the newest version of an id wins',
    'blob sends 1,000 items as one value, from one process'
  ],
  expected: [
    { arm: '4 writers', against: '1 writer', direction: 'more' },
    { arm: '5 writers', against: '1 writer', direction: 'more' },
    { arm: '6 writers', against: '1 writer', direction: 'more' },
    { arm: '8 writers', against: '1 writer', direction: 'more' },
    { arm: '8 writers (full batches)', against: '1 writer', direction: 'same' },
    { arm: 'default (1 writer)', against: '1 writer', direction: 'same' },
    { arm: 'default (4 writers)', against: '4 writers', direction: 'more' },
    { arm: 'default (8 writers)', against: '8 writers', direction: 'more' },
    { arm: 'blob', against: '1 writer', direction: 'less' }
  ],
  published: {
    source: 'README of luciopaiva/redis-nodejs-test, experiments/sorted-set-of-byte-arrays (2021)',
    conditions: 'ElastiCache Redis, 1 primary and 2 replicas; 300,000, 240,000 and 200,000 items/s in bursts once a second; ' +
      '128-byte values',
    unit: 'primary CPU percent of the whole 2-vCPU node, 50 = one core',
    figures: [
      { label: 'r5.large, 6 writers x 50,000', value: 44 },
      { label: 'r5.large, 8 writers x 37,500 (unstable)', arm: '8 writers', value: 48 },
      { label: 'r5.large, 5 writers x 48,000', value: 42 },
      { label: 'r5.large, 6 writers x 40,000', value: 42 },
      { label: 'r5.large, 8 writers x 30,000', arm: '8 writers', value: 42 },
      { label: 'r6g.large, 4 writers x 50,000', arm: '4 writers', value: 35 },
      { label: 'r6g.large, 8 writers x 25,000', arm: '8 writers', value: 45 }
    ],
    ratios: [
      { arm: '8 writers', against: '4 writers', value: 1.286, label: '45 / 35, r6g.large, 200,000 items/s' },
      { arm: '8 writers', against: '6 writers', value: 1.091, label: '48 / 44, r5.large, 300,000 items/s (unstable)' },
      { arm: '6 writers', against: '5 writers', value: 1, label: '42 / 42, r5.large, 240,000 items/s' }
    ]
  },
  notControlled: [
    'writers share two cores with the servers; eight writers compete for CPU time that eight machines would have',
    'published writers burst once a second, so their batches were full whatever their number; ours are paced'
  ]
}
