/**
 * 010: see README.md. The feed has 10,000 live items. Each reader is a process (`npm start reader`), and its consumer repeats one
 * request at a fixed rate.
 */
const ALL = { path: '/v1/feeds/lab/items?limit=10000', everyMs: 1000 }
const NEWEST = { path: '/v1/feeds/lab/items?limit=1000' }
const PAGES = { path: '/v1/feeds/lab/items?limit=100', everyMs: 20 }
const asks = { views: 'none' }
const of = (/** @type {object} */ request, settings = {}) => ({ serving: { by: 'reader', ...request, settings } })

const arms = {
  none: {},
  all: of(ALL, asks),
  'all (primary)': of(ALL, { ...asks, readFrom: 'primary' }),
  'all (view)': of(ALL, { views: 'all' }),
  'newest (1 s)': of({ ...NEWEST, everyMs: 1000 }, asks),
  'newest (500 ms)': of({ ...NEWEST, everyMs: 500 }, asks),
  'newest (250 ms)': of({ ...NEWEST, everyMs: 250 }, asks),
  pages: of(PAGES, asks),
  'pages (view)': of(PAGES, { views: 'all' }),
  bare: {
    serving: { by: 'bare', ...ALL }, note: 'processes that send the same number of bytes as often, without reading from a server'
  }
}
/** all but these and the baseline and the ceiling, which every level has */
const without = (/** @type {string[]} */ ...kept) => Object.keys(arms).filter((arm) => !['none', 'bare', ...kept].includes(arm))
const readers = (/** @type {number} */ n) => ({ processes: n, connections: n })

export default {
  title: 'What do consumers cost?',
  question: 'How much CPU time of the primary and the replicas do 1 to 8 readers take, by what they ask for and where?',
  baseline: 'none',
  ceiling: 'bare',
  arms,
  labels: {
    all: 'all items each second',
    'all (primary)': 'all, from the primary',
    'all (view)': 'all, from views',
    'newest (1 s)': 'newest 1,000 each 1 s',
    'newest (500 ms)': 'newest 1,000 each 0.5 s',
    'newest (250 ms)': 'newest 1,000 each 0.25 s',
    pages: '50 requests/s of 100',
    'pages (view)': '50 requests/s, views',
    bare: 'constant responses'
  },
  levels: {
    'ids, 1 reader': { serving: readers(1), without: without('all') },
    'ids, 2 readers': { serving: readers(2), without: without('all') },
    'ids, 4 readers': { serving: readers(4), without: without('all') },
    'ids, 8 readers': { serving: readers(8) },
    'values, 8 readers': {
      settings: { layout: 'values' },
      serving: readers(8),
      without: without('all', 'all (view)')
    },
    'segments, 8 readers': { settings: { layout: 'segments' }, serving: readers(8), without: without('all (view)') }
  },
  fixed: { layout: 'ids', rate: 15_000, ids: 10_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 2.75,
  warmUpSeconds: 0.7,
  rounds: 5,
  measures: ['replicaCpuPercent', 'primaryCpuPercent', 'replicaLagMsP99', 'behindMsP99', 'newestAgeMsP99', 'itemsReadPerSecond',
    'replicaOutBytesPerSecond', 'primaryOutBytesPerSecond', 'latencyMsP99', 'servingCpuPercent', 'itemsPerSecond',
    'primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem'],
  differs: [
    'pages that are read one after the other lack the items that were rewritten meanwhile: all has fewer than 10,000, all (view) not',
    'a view follows the feed all the time, however often it is asked; without one a reader reads from a server on each request',
    'items of segments cannot be asked for all at once without a view',
    'bare sends the page that a reader sent before the window'
  ],
  expected: [
    { arm: 'all', against: 'none', direction: 'more' },
    { arm: 'newest (1 s)', against: 'none', direction: 'same' },
    { arm: 'newest (250 ms)', against: 'none', direction: 'same' },
    { arm: 'all (primary)', against: 'none', direction: 'same' },
    { arm: 'pages', against: 'none', direction: 'more' },
    { arm: 'pages (view)', against: 'pages', direction: 'more' },
    { arm: 'all (view)', against: 'all', direction: 'more', level: 'ids, 8 readers' },
    { arm: 'newest (500 ms)', against: 'none', direction: 'same' },
    { arm: 'bare', against: 'none', direction: 'same' }
  ],
  published: {
    source: 'README of luciopaiva/redis-nodejs-test, experiments/sorted-set-of-byte-arrays (2021)',
    conditions: 'ElastiCache Redis on r5.large; 300,000 live items, 8 consumers that read from replicas',
    unit: 'ms an answer',
    figures: [
      { label: 'all 300,000 live items each second, ids then values: replica CPU up, primary unchanged', arm: 'all', value: 4690 },
      { label: 'all 300,000 live ids only', value: 317 }
    ],
    ratios: []
  },
  notControlled: [
    'eight readers, their client, the writer and three servers share two cores: what readers take of the processors slows the servers ' +
      'down as well, which bare shows',
    'clients and servers are on one machine: bytes cross no network'
  ]
}
