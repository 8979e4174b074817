/**
 * 015: see README.md. The newest item is asked for over and over, each millisecond (each second one at 500,000 items/s,
 * where an answer of `ask` takes a whole segment).
 */
const PROBE = { asks: 'freshness', path: '/v1/feeds/lab/items?limit=1', connections: 1, everyMs: 1 }
const OVERWRITING = { layout: 'ids', late: 'overwrite' }

export default {
  title: 'How soon is an item seen?',
  question: 'How long does it take from the intended append of an item until a response of a reader holds it, or a newer one?',
  baseline: 'segments',
  ceiling: 'ask',
  arms: {
    segments: { settings: { layout: 'segments' }, serving: { by: 'reader', ...PROBE } },
    'segments (1 ms)': { settings: { layout: 'segments', batchMs: 1 }, serving: { by: 'reader', ...PROBE } },
    'segments (10 ms)': { settings: { layout: 'segments', batchMs: 10 }, serving: { by: 'reader', ...PROBE } },
    stream: { settings: { layout: 'stream' }, serving: { by: 'reader', ...PROBE } },
    values: { settings: { layout: 'values' }, serving: { by: 'reader', ...PROBE } },
    'ids (overwrite; view)': { settings: OVERWRITING, serving: { by: 'reader', ...PROBE, settings: { views: 'all' } } },
    'ids (overwrite; asked)': { settings: OVERWRITING, serving: { by: 'reader', ...PROBE, settings: { views: 'none' } } },
    ask: {
      settings: { layout: 'segments' },
      serving: { by: 'ask', ...PROBE },
      note: 'a handler that reads a replica on each request: no HTTP server is fresher'
    }
  },
  labels: {
    segments: 'packed segments',
    'segments (1 ms)': 'segments, 1 ms batches',
    'segments (10 ms)': 'segments, 10 ms batches',
    stream: 'stream entries',
    values: 'values in the set',
    'ids (overwrite; view)': 'overwriting ids, view',
    'ids (overwrite; asked)': 'overwriting ids, no view',
    ask: 'a read per request'
  },
  chart: {
    about: { arm: 'segments', level: '1 k items/s', says: '99 % of items are seen within {} ms at 1,000 items/s' },
    levels: ['1 k items/s']
  },
  formerly: {
    'ids (view)': 'ids (overwrite; view)',
    'ids (asked)': 'ids (overwrite; asked)'
  },
  levels: {
    '1 k items/s': { settings: { rate: 1000, ids: 1500 }, x: 1000 },
    '10 k items/s': {
      settings: { rate: 10_000, ids: 20_000 },
      x: 10_000,
      without: ['segments (1 ms)', 'segments (10 ms)', 'stream', 'values', 'ids (overwrite; view)', 'ids (overwrite; asked)']
    },
    '200 k items/s': {
      settings: { rate: 200_000, ids: 100_000 },
      x: 200_000,
      without: ['segments (1 ms)', 'segments (10 ms)', 'stream', 'values', 'ids (overwrite; view)', 'ids (overwrite; asked)']
    },
    '500 k items/s': {
      settings: { rate: 500_000, ids: 100_000, maxItems: 300_000 },
      serving: { everyMs: 2 },
      x: 500_000,
      without: ['segments (1 ms)', 'segments (10 ms)', 'stream', 'values', 'ids (overwrite; view)', 'ids (overwrite; asked)']
    }
  },
  fixed: { batchMs: 5, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 2.5,
  warmUpSeconds: 2.5,
  rounds: 5,
  measures: ['freshnessMsP99', 'freshnessMsP50', 'betweenProbesMsP99', 'behindMsP99', 'latencyMsP99', 'itemsPerSecond', 'servingCpuPercent',
    'primaryCpuPercent', 'replicaCpuPercent'],
  differs: [
    'ids and values are polled every 10 ms, or queried; segments and stream are read on arrival',
    'a reader encodes the newest item at most once a millisecond; ask for each request',
    'at 500 k items/s the newest item is asked for each 2 ms, elsewhere each millisecond; and all but the newest 300,000 versions ' +
      'are trimmed'
  ],
  expected: [
    { arm: 'segments (1 ms)', against: 'segments', direction: 'less', level: '1 k items/s' },
    { arm: 'segments (10 ms)', against: 'segments', direction: 'more', level: '1 k items/s' },
    { arm: 'stream', against: 'segments', direction: 'same', level: '1 k items/s' },
    { arm: 'values', against: 'segments', direction: 'more', level: '1 k items/s' },
    { arm: 'ids (overwrite; view)', against: 'segments', direction: 'more' },
    { arm: 'ids (overwrite; asked)', against: 'segments', direction: 'same', level: '1 k items/s' },
    { arm: 'ask', against: 'segments', direction: 'less' }
  ],
  budgets: [
    { measure: 'freshnessMsP99', arm: 'segments', most: 15, level: '1 k items/s' },
    { measure: 'freshnessMsP99', arm: 'segments', most: 15, level: '200 k items/s' }
  ],
  notControlled: [
    'a million items/s do not fit on two cores beside a reader, three servers and a client: the view falls behind and says so',
    'writer, servers, reader and client share two cores: the longest times are waits for a processor',
    'one machine, one clock: with two, each time would include their difference'
  ]
}
