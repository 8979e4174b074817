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
    about: {
      arm: 'default (4 writers)',
      against: 'default (1 writer)',
      says: 'By default four writers cost {} of one'
    }
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
  pairs: [{ arm: 'default (4 writers)', against: 'default (1 writer)' }],
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
  notControlled: [
    'writers share two cores with the servers; eight writers compete for CPU time that eight machines would have',
    'published writers burst once a second, so their batches were full whatever their number; ours are paced'
  ]
}
