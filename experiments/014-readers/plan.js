/**
 * 014: see README.md. Each connection of the client asks again as soon as it is answered, but in arms that name a number of
 * requests.
 */
export default {
  title: 'What does an answer from memory cost?',
  question: 'How many newest pages does a reader serve from its view, against a constant response and against reading a replica?',
  baseline: 'view',
  ceiling: 'bare',
  arms: {
    view: { serving: { by: 'reader' } },
    bare: { serving: { by: 'bare' }, note: 'a fastify route that sends the same number of bytes from memory' },
    ask: { serving: { by: 'ask' }, note: 'a handler that reads a replica on each request' },
    'asks (shared)': {
      serving: { by: 'reader', settings: { views: 'none' } }, note: '--views none: concurrent identical requests share one fetch'
    },
    'view (10 a second)': { serving: { by: 'reader', connections: 1, everyMs: 100 } },
    'view (400 a second)': { serving: { by: 'reader', connections: 32, everyMs: 80 } },
    'asks (400 a second)': { serving: { by: 'reader', connections: 32, everyMs: 80, settings: { views: 'none' } } }
  },
  labels: {
    view: 'a memory view',
    bare: 'constant response',
    ask: 'a read per request',
    'asks (shared)': 'shared reads',
    'view (10 a second)': 'a memory view, 10/s',
    'view (400 a second)': 'a memory view, 400/s',
    'asks (400 a second)': 'shared reads, 400/s'
  },
  chart: {
    about: { arm: 'ask', against: 'view', level: 'newest 100', says: 'A read per request answers {} of what a memory view does' },
    arms: ['bare', 'ask', 'asks (shared)']
  },
  levels: {
    'newest 100': {},
    'newest 1,000': {
      serving: { path: '/v1/feeds/lab/items?limit=1000' },
      without: ['asks (shared)', 'view (10 a second)', 'view (400 a second)', 'asks (400 a second)']
    }
  },
  fixed: { layout: 'segments', rate: 200_000, ids: 100_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 3,
  warmUpSeconds: 1,
  rounds: 5,
  measures: ['requestsPerSecond', 'servingCpuMicrosPerRequest', 'latencyMsP50', 'latencyMsP99', 'servingCpuPercent', 'replicaCpuPercent',
    'primaryCpuPercent', 'servingCpuMicrosPerItem', 'servingMemoryBytes', 'itemsPerSecond', 'behindMsP99'],
  differs: [
    'bare sends a constant response; view sends the current one, and reads 200,000 items a second for it',
    'ask and bare lack the other work of a reader: request metrics, limits, headers about age, validation of the query',
    'ask sends the last items of the newest segments in arrival order, and ignores late and deleted items',
    'asks (shared) sends the same answer to all who asked while it was fetched; ask fetches one for each',
    'view can answer for a single id, count what is live and page through all of it; of segments nothing else can',
    'arms that name a number of requests are asked so often; the others as often as they answer'
  ],
  expected: [
    { arm: 'bare', against: 'view', direction: 'more' },
    { arm: 'ask', against: 'view', direction: 'less' },
    { arm: 'asks (shared)', against: 'view', direction: 'less', level: 'newest 100' },
    { arm: 'asks (shared)', against: 'ask', direction: 'more', level: 'newest 100' },
    { arm: 'view (10 a second)', against: 'view', direction: 'less', level: 'newest 100' },
    { arm: 'view (400 a second)', against: 'view', direction: 'less', level: 'newest 100' },
    { arm: 'asks (400 a second)', against: 'view', direction: 'less', level: 'newest 100' }
  ],
  budgets: [
    { measure: 'requestsPerSecond', arm: 'view', against: 'bare', least: 0.8, level: 'newest 100' },
    { measure: 'requestsPerSecond', arm: 'view', against: 'ask', least: 6, level: 'newest 100' },
    { measure: 'servingCpuMicrosPerItem', arm: 'view (10 a second)', most: 1, level: 'newest 100' }
  ],
  notControlled: [
    'the reader, its client, the writer and three servers share two cores: requests/s are what is left for them, so the processor time ' +
      'of a request stands beside',
    'the client runs on the same machine: latencies include no network'
  ]
}
