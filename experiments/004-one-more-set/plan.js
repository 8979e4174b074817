/**
 * 004: see README.md. 20,000 items a second in all arms and levels; `rate` is of each process.
 */
export default {
  title: 'One more sorted set?',
  question: 'What does it cost to keep the ids in two sorted sets instead of one, with 1 to 8 writers?',
  baseline: 'reference',
  ceiling: 'blob',
  arms: {
    reference: { load: 'reference' },
    'published-two-sets': { load: 'published-two-sets' },
    blob: { load: 'blob', settings: { writers: 1, rate: 20_000 } }
  },
  labels: {
    reference: 'one set',
    'published-two-sets': 'two sets',
    blob: 'bare bytes'
  },
  chart: {
    about: {
      arm: 'published-two-sets',
      against: 'reference',
      level: '8 writers',
      says: 'A second sorted set costs {} of one, with 8 writers'
    }
  },
  levels: {
    '1 writer': { settings: { writers: 1, rate: 20_000 }, x: 1 },
    '8 writers': { settings: { writers: 8, rate: 2500 }, x: 8 }
  },
  fixed: { ids: 20_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 3,
  warmUpSeconds: 1.5,
  rounds: 5,
  counted: { levels: ['8 writers'], why: 'a count has one connection, and batches of the published arms are alike at both levels' },
  measures: ['primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'primaryCpuPercent', 'replicaCpuPercent', 'replicatedBytesPerItem',
    'memoryBytesPerLiveItem', 'generatorCpuMicrosPerItem', 'commandsPerItem', 'itemsPerSecond', 'behindMsP99'],
  differs: [
    'with two sets, readers can ask in two orders; with one, in the order of time only',
    'blob sends 1,000 items as one value, from one process'
  ],
  expected: [
    { arm: 'published-two-sets', against: 'reference', direction: 'more' },
    { arm: 'blob', against: 'reference', direction: 'less' }
  ],
  notControlled: [
    'which scores the second published set had is not known',
    'writers share two cores with the servers; eight writers compete for CPU time that eight machines would have'
  ]
}
