/**
 * 010: see README.md. The feed has 10,000 live items. Each reader is a process (`npm start reader`), and its consumer repeats one
 * request at a fixed rate.
 */
const ALL = { path: '/v1/feeds/lab/items?limit=10000', everyMs: 1000 }
const NEWEST = { path: '/v1/feeds/lab/items?limit=1000' }
const PAGES = { path: '/v1/feeds/lab/items?limit=100', everyMs: 20 }
const asks = { views: 'none' }
const by = (/** @type {number} */ readers, /** @type {object} */ request, settings = {}) =>
  ({ serving: { by: 'reader', processes: readers, connections: readers, ...request, settings } })

const arms = {
  none: {},
  'all x 1': by(1, ALL, asks),
  'all x 2': by(2, ALL, asks),
  'all x 4': by(4, ALL, asks),
  'all x 8': by(8, ALL, asks),
  'all x 8 (primary)': by(8, ALL, { ...asks, readFrom: 'primary' }),
  'all x 4 (view)': by(4, ALL, { views: 'all' }),
  'newest x 8 (1 s)': by(8, { ...NEWEST, everyMs: 1000 }, asks),
  'newest x 8 (500 ms)': by(8, { ...NEWEST, everyMs: 500 }, asks),
  'newest x 8 (250 ms)': by(8, { ...NEWEST, everyMs: 250 }, asks),
  'newest x 4 (view)': by(4, { ...NEWEST, everyMs: 250 }, { views: 'all' }),
  'pages x 8': by(8, PAGES, asks),
  'pages x 4 (view)': by(4, PAGES, { views: 'all' }),
  bare: {
    serving: { by: 'bare', processes: 8, connections: 8, ...NEWEST, everyMs: 250 },
    note: '8 processes that send the newest 1,000 as often, without reading from a server'
  }
}
const without = (/** @type {string[]} */ ...kept) => Object.keys(arms).filter((arm) => !['none', 'bare', ...kept].includes(arm))

export default {
  title: 'What do consumers cost?',
  question: 'How much CPU time of the primary and the replicas do 1 to 8 readers take, by what they ask for and where?',
  baseline: 'none',
  ceiling: 'bare',
  arms,
  labels: {
    none: 'no readers',
    'all x 1': '1 asks for all',
    'all x 2': '2 ask for all',
    'all x 4': '4 ask for all',
    'all x 8': '8 ask for all',
    'all x 8 (primary)': '8, all, from the primary',
    'all x 4 (view)': '4, all, from views',
    'newest x 8 (1 s)': '8, newest 1,000 each 1 s',
    'newest x 8 (500 ms)': '8, newest each 0.5 s',
    'newest x 8 (250 ms)': '8, newest each 0.25 s',
    'newest x 4 (view)': '4, each 0.25 s, views',
    'pages x 8': '8, 50 requests/s of 100',
    'pages x 4 (view)': '4, 50 requests/s, views',
    bare: 'constant responses'
  },
  chart: {
    about: { arm: 'all x 8', against: 'none', level: 'ids', says: 'With eight readers of all items replicas use {} of none' },
    levels: ['ids']
  },
  levels: {
    ids: {},
    values: { settings: { layout: 'values' }, without: without('newest x 8 (250 ms)', 'newest x 4 (view)') },
    segments: { settings: { layout: 'segments' }, without: without('all x 4 (view)', 'newest x 8 (250 ms)') }
  },
  fixed: { layout: 'ids', rate: 5000, ids: 10_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 2.75,
  warmUpSeconds: 2,
  rounds: 5,
  measures: ['replicaCpuPercent', 'primaryCpuPercent', 'replicaLagMsP99', 'behindMsP99', 'newestAgeMsP99', 'itemsReadPerSecond',
    'replicaOutBytesPerSecond', 'primaryOutBytesPerSecond', 'latencyMsP99', 'servingCpuPercent', 'itemsPerSecond',
    'primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem'],
  differs: [
    'a view follows the feed all the time, however often it is asked; without one a reader reads from a server on each request',
    'pages that are read one after the other lack the items that were rewritten meanwhile: all x 8 has fewer than 10,000, ' +
      'all x 4 (view) not',
    'all items of values and segments cannot be asked for without a view: 20,000 stored versions are the bound',
    'bare sends the page that a reader sent before the window'
  ],
  expected: [
    { arm: 'all x 8', against: 'none', direction: 'more' },
    { arm: 'all x 4', against: 'none', direction: 'more' },
    { arm: 'all x 2', against: 'none', direction: 'more' },
    { arm: 'all x 1', against: 'none', direction: 'same' },
    { arm: 'newest x 8 (1 s)', against: 'none', direction: 'same' },
    { arm: 'newest x 8 (500 ms)', against: 'none', direction: 'same' },
    { arm: 'newest x 8 (250 ms)', against: 'none', direction: 'more' },
    { arm: 'all x 8 (primary)', against: 'none', direction: 'same' },
    { arm: 'pages x 8', against: 'none', direction: 'more' },
    { arm: 'pages x 4 (view)', against: 'none', direction: 'more' },
    { arm: 'newest x 4 (view)', against: 'none', direction: 'more' },
    { arm: 'all x 4 (view)', against: 'all x 4', direction: 'more', level: 'ids' },
    { arm: 'bare', against: 'none', direction: 'same' }
  ],
  notControlled: [
    'eight readers, their client, the writer and three servers share two cores: what readers take of the processors slows the servers ' +
      'down as well, which bare shows',
    'clients and servers are on one machine: bytes cross no network'
  ]
}
