/** 006: see README.md. Windows begin and end 0.7 s after a full second, between two bursts of every arm, so that none is cut. */
export default {
  title: 'Many small chunks or one burst?',
  question: 'Do the same 40,000 items a second of overwriting ids cost less in one burst, in two or four, or spread evenly?',
  baseline: '1 burst a second',
  ceiling: 'blob',
  arms: {
    '1 burst a second': { settings: { pace: 'burst', periodMs: 1000, chunks: 1 } },
    '2 bursts a second': { settings: { pace: 'burst', periodMs: 1000, chunks: 2 } },
    '4 bursts a second': { settings: { pace: 'burst', periodMs: 1000, chunks: 4 } },
    steady: { settings: { pace: 'steady' } },
    'reference-burst': { load: 'reference-burst' },
    reference: { load: 'reference' },
    blob: { load: 'blob' }
  },
  labels: {
    steady: 'evenly spread',
    'reference-burst': 'published, one burst',
    reference: 'published way',
    blob: 'bare bytes'
  },
  chart: {
    about: { arm: 'steady', against: '1 burst a second', says: 'An even pace costs {} of one burst a second' }
  },
  levels: { '40 k items/s': {} },
  fixed: { layout: 'ids', late: 'overwrite', rate: 40_000, ids: 100_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 4,
  warmUpSeconds: 2.7,
  rounds: 5,
  measures: ['primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'primaryCpuPercent', 'replicaCpuPercent', 'commandsPerItem',
    'behindMsP99', 'itemsPerSecond', 'generatorCpuMicrosPerItem'],
  differs: [
    'batches of a burst have 1,000 items, those at a steady pace about 200 (5 ms)',
    'with bursts an item waits up to a second, and behindMs counts from the burst',
    'reference and reference-burst send values that never change, the others new ones each time'
  ],
  expected: [
    { arm: '2 bursts a second', against: '1 burst a second', direction: 'same' },
    { arm: '4 bursts a second', against: '1 burst a second', direction: 'same' },
    { arm: 'steady', against: '1 burst a second', direction: 'more' },
    { arm: 'reference-burst', against: '1 burst a second', direction: 'more' },
    { arm: 'reference', against: 'reference-burst', direction: 'more' },
    { arm: 'blob', against: '1 burst a second', direction: 'less' }
  ],
  notControlled: [
    'primary, two replicas and the load share two cores: during a burst all of them are busy at once',
    'a published chunk was written with a promise for each item; here only the reference arms do that'
  ]
}
