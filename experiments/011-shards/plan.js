/** 011: see README.md. It answers 017, too. */
const feed = (/** @type {number} */ partitions, /** @type {string} */ servers) => ({ settings: { partitions }, servers })

export default {
  title: 'Do shards and several sets spread load?',
  question: 'What does an item cost in a feed of 1, 3 and 10 partitions, on one primary, over three, and on one of three?',
  baseline: '1 partition',
  ceiling: 'blob',
  arms: {
    '1 partition': feed(1, 'pair'),
    '3 partitions': feed(3, 'pair'),
    '10 partitions': feed(10, 'pair'),
    '1 in a cluster': feed(1, 'cluster'),
    '3 over three': feed(3, 'cluster'),
    '10 over three': feed(10, 'cluster'),
    '10 on one of three': feed(10, 'cluster-one'),
    blob: { load: 'blob', servers: 'pair' }
  },
  chart: {
    about: {
      measure: 'busiestPrimaryPercent',
      arm: '10 over three',
      level: 'ids',
      says: 'Ten partitions on three primaries: the busiest at {} % of a core'
    },
    levels: ['segments', 'ids']
  },
  levels: {
    segments: { settings: { layout: 'segments' } },
    ids: { settings: { layout: 'ids' }, without: ['3 partitions', '3 over three'] },
    'segments, batches ten times as large': {
      settings: { layout: 'segments', batchMs: 50 }, without: ['3 partitions', '3 over three', '1 in a cluster', '10 on one of three']
    }
  },
  fixed: { rate: 20_000, ids: 20_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 3,
  warmUpSeconds: 1,
  overheadSeconds: 3.5,
  rounds: 5,
  counted: {
    levels: ['segments', 'ids'],
    without: ['3 partitions', '3 over three', '10 over three', '10 on one of three'],
    why: 'a count has one primary, and here no replica, so what a primary sends to one is not counted'
  },
  measures: ['primariesCpuMicrosPerItem', 'serversCpuMicrosPerItem', 'itemsPerSecond', 'busiestPrimaryPercent', 'itemsPerBatch',
    'flushMsP99', 'generatorCpuMicrosPerItem'],
  differs: [
    'each primary has one replica; a cluster runs six processes, one primary and its replica two, and each process has a cost of its own',
    'ids: one primary gets MSETEX under WATCH, a cluster a SET per item under WATCH (docs/layouts.md)',
    'blob supports no query for an item or for the newest'
  ],
  expected: [
    { arm: '10 partitions', against: '1 partition', direction: 'more', level: 'segments' },
    { arm: '3 partitions', against: '1 partition', direction: 'more', level: 'segments' },
    { arm: '1 in a cluster', against: '1 partition', direction: 'more', level: 'ids' },
    { arm: '10 over three', against: '10 partitions', direction: 'same', level: 'segments, batches ten times as large' },
    { arm: '3 over three', against: '3 partitions', direction: 'same', level: 'segments' },
    { arm: '10 over three', against: '10 partitions', direction: 'more', level: 'ids' },
    { arm: '10 over three', against: '10 on one of three', direction: 'same' },
    { arm: '10 on one of three', against: '10 partitions', direction: 'more', level: 'ids' },
    { arm: 'blob', against: '1 partition', direction: 'less' }
  ],
  budgets: [
    { measure: 'primariesCpuMicrosPerItem', arm: '3 over three', against: '3 partitions', most: 1.1, level: 'segments' },
    { measure: 'primariesCpuMicrosPerItem', arm: '10 over three', against: '10 partitions', most: 1.1, level: 'segments' },
    { measure: 'primariesCpuMicrosPerItem', arm: '10 over three', against: '10 partitions', most: 1.1, level: 'ids' },
    {
      measure: 'primariesCpuMicrosPerItem',
      arm: '10 over three',
      against: '10 partitions',
      most: 1.1,
      level: 'segments, batches ten times as large'
    }
  ],
  notControlled: [
    'up to six servers and the writer share two cores, so items/s cannot grow with the primaries here; CPU time per item can be compared',
    'at 20,000 items/s and 5 ms a batch holds 100 items with one partition, 10 with ten: partitions make batches smaller'
  ]
}
