/**
 * 009: see README.md. The lists have a bound that is never reached, so that each batch asks for it and nothing is trimmed.
 */
const bound = { maxItems: 1_000_000 }

export default {
  title: 'Which structure?',
  question: 'What does an item cost in sorted sets, streams, lists, sets and HyperLogLogs?',
  baseline: 'ids (overwrite)',
  ceiling: 'blob',
  arms: {
    'ids (overwrite)': { settings: { layout: 'ids', late: 'overwrite' } },
    values: { settings: { layout: 'values' } },
    stream: { settings: { layout: 'stream' } },
    segments: { settings: { layout: 'segments' } },
    list: { load: 'list', settings: bound },
    reference: { load: 'reference' },
    'published-list': { load: 'published-list', settings: bound },
    'published-list-hll': { load: 'published-list-hll', settings: bound },
    'published-set': { load: 'published-set' },
    blob: { load: 'blob' }
  },
  labels: {
    'ids (overwrite)': 'ids, overwriting',
    values: 'values in the set',
    stream: 'stream entries',
    segments: 'packed segments',
    reference: 'published way',
    'published-list': 'published list',
    'published-list-hll': 'published list + HLL',
    'published-set': 'published set',
    blob: 'bare bytes'
  },
  chart: {
    about: { arm: 'segments', against: 'ids (overwrite)', says: 'Packed segments cost {} of overwriting ids' }
  },
  formerly: {
    ids: 'ids (overwrite)'
  },
  levels: {
    '40 k items/s': { settings: { rate: 40_000, batchMs: 30 } }
  },
  fixed: { ids: 100_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 4,
  warmUpSeconds: 2.5,
  rounds: 5,
  measures: ['primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'generatorCpuMicrosPerItem', 'primaryCpuPercent', 'replicaCpuPercent',
    'replicatedBytesPerItem', 'memoryBytesPerLiveItem', 'memoryBytesPerVersion', 'commandsPerItem', 'itemsPerSecond', 'behindMsP99'],
  differs: [
    'ids, reference and published-set keep one version of an id; the others every version',
    'only ids, reference and the published arms find an item by its id; the others need a scan or a view',
    'sets have no order: the newest items need a read and sort of a minute; lists are in arrival order, with late items out of order',
    'a HyperLogLog tells about how many ids a minute had, and not which',
    'the arms reference and published-... send values that never change, auto-pipelined by the client; the others change each time, ' +
      'spelt as bytes',
    'values, stream and segments have the writer command around them, the other arms only the driver of the lab'
  ],
  expected: [
    { arm: 'values', against: 'ids (overwrite)', direction: 'less' },
    { arm: 'stream', against: 'ids (overwrite)', direction: 'same' },
    { arm: 'segments', against: 'ids (overwrite)', direction: 'less' },
    { arm: 'list', against: 'ids (overwrite)', direction: 'less' },
    { arm: 'list', against: 'values', direction: 'less' },
    { arm: 'segments', against: 'list', direction: 'less' },
    { arm: 'reference', against: 'ids (overwrite)', direction: 'more' },
    { arm: 'published-list', against: 'reference', direction: 'less' },
    { arm: 'published-list-hll', against: 'reference', direction: 'same' },
    { arm: 'published-set', against: 'reference', direction: 'less' },
    { arm: 'blob', against: 'ids (overwrite)', direction: 'less' }
  ],
  notControlled: [
    'how the published list, HyperLogLog and set were written: only their figures are known, and a list with a HyperLogLog beside it ' +
      'cost less than the list alone, so they were not the same list',
    'primary, two replicas and the load share two cores',
    'a run of seconds: what trimming and expiry cost later is not in these figures'
  ]
}
