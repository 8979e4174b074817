/**
 * 016: see README.md. The warm-up writes each of the 300,000 ids once; in the window a fresh process starts, and is asked
 * for everything over and over, one answer after the other.
 */
const ALL = { asks: 'everything', path: '/v1/feeds/lab/items?limit=1000000', connections: 1 }
const OVERWRITING = { layout: 'ids', late: 'overwrite' }

export default {
  title: 'How long do all live items take?',
  question: 'How long does a reader take to send 300,000 live items, how long does that delay others, and when is a fresh reader ready?',
  baseline: 'view',
  ceiling: 'bare',
  arms: {
    view: { settings: { layout: 'segments' }, serving: { by: 'reader', ...ALL } },
    'ids (overwrite; view)': { settings: OVERWRITING, serving: { by: 'reader', ...ALL, settings: { views: 'all' } } },
    'ids (overwrite; asked)': { settings: OVERWRITING, serving: { by: 'reader', ...ALL, settings: { views: 'none' } } },
    ask: {
      settings: OVERWRITING,
      serving: { by: 'ask', ...ALL },
      note: 'the published way: ids of a range, then their values, a thousand at a time'
    },
    bare: {
      settings: { layout: 'segments' },
      serving: { by: 'bare', ...ALL },
      note: 'a fastify route that sends the same number of bytes from one Buffer'
    }
  },
  labels: {
    view: 'a view of segments',
    'ids (overwrite; view)': 'overwriting ids, view',
    'ids (overwrite; asked)': 'overwriting ids, no view',
    ask: 'published way',
    bare: 'constant response'
  },
  chart: {
    about: { arm: 'ask', against: 'view', says: 'Asking a replica for all items takes {} as long as a view' }
  },
  formerly: {
    'ids (view)': 'ids (overwrite; view)',
    'ids (asked)': 'ids (overwrite; asked)'
  },
  levels: { '300,000 live items': { settings: { ids: 300_000 } } },
  fixed: { rate: 40_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 6,
  warmUpSeconds: 2,
  rounds: 5,
  measures: ['everythingMs', 'everythingFirstByteMs', 'everythingDelayMsMax', 'startUpMs', 'everythingItems', 'servingMemoryBytes',
    'servingCpuPercent', 'replicaCpuPercent', 'primaryCpuPercent', 'behindMsP99'],
  differs: [
    'bare sends a constant response from one Buffer, which does not delay its event loop',
    'ask ignores the window and deletions',
    'the median includes the first response of a process that has just started',
    'ids that are asked, ask and bare have nothing to get ready: they are up when they answer'
  ],
  expected: [
    { arm: 'ids (overwrite; view)', against: 'view', direction: 'same' },
    { arm: 'ids (overwrite; asked)', against: 'view', direction: 'more' },
    { arm: 'ask', against: 'view', direction: 'more' },
    { arm: 'bare', against: 'view', direction: 'less' }
  ],
  budgets: [
    { measure: 'everythingMs', arm: 'view', most: 400 },
    { measure: 'everythingDelayMsMax', arm: 'view', most: 10 }
  ],
  notControlled: [
    'the client that receives 67 MB runs on the same two cores as the sender, the writer and the servers',
    'published responses crossed a network, and eight readers sent requests in parallel'
  ]
}
