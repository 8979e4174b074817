/** 001: see README.md. */
export default {
  title: 'How does processor time grow with load?',
  question: 'What does an item cost at 25, 50 and 75 thousand items a second, and what does a second cost without any?',
  baseline: 'ids',
  ceiling: 'blob',
  arms: {
    ids: { settings: { layout: 'ids' }, note: 'the newest version of an id counts, the default' },
    'ids (overwrite)': { settings: { layout: 'ids', late: 'overwrite' }, note: 'as published: what is written last counts' },
    values: { settings: { layout: 'values' } },
    stream: { settings: { layout: 'stream' } },
    segments: { settings: { layout: 'segments' } },
    reference: { load: 'reference' },
    blob: { load: 'blob' }
  },
  labels: {
    ids: 'ids, newest wins',
    'ids (overwrite)': 'ids, overwriting',
    values: 'values in the set',
    stream: 'stream entries',
    segments: 'packed segments',
    reference: 'published way',
    blob: 'bare bytes'
  },
  chart: {
    about: { arm: 'segments', against: 'ids', level: '75 k items/s', says: 'Packed segments cost {} of the default ids' }
  },
  levels: {
    '25 k items/s': { settings: { rate: 25_000 }, x: 25_000 },
    '50 k items/s': { settings: { rate: 50_000 }, x: 50_000, without: ['stream'] },
    '75 k items/s': { settings: { rate: 75_000 }, x: 75_000 }
  },
  fixed: { ids: 100_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 2.5,
  warmUpSeconds: 1.3,
  rounds: 5,
  counted: { levels: ['75 k items/s'], why: 'at lower rates batches are smaller, which 013 counts' },
  measures: ['primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'primaryCpuPercent', 'replicaCpuPercent', 'commandsPerItem',
    'behindMsP99', 'itemsPerSecond', 'generatorCpuMicrosPerItem', 'replicatedBytesPerItem'],
  differs: [
    'values, stream and segments keep every version of an id, ids and reference one',
    'ids compares versions on the server, reference and ids (overwrite) do not',
    'the layouts flush every 5 ms: batches of 125, 250 and 375 items; reference and blob send batches of 1,000',
    'reference sends values that never change, the others new ones each time',
    'blob cannot be asked for an item or for the newest'
  ],
  expected: [
    { arm: 'ids (overwrite)', against: 'ids', direction: 'less' },
    { arm: 'values', against: 'ids', direction: 'less' },
    { arm: 'values', against: 'ids (overwrite)', direction: 'less' },
    { arm: 'stream', against: 'ids (overwrite)', direction: 'same' },
    { arm: 'segments', against: 'ids', direction: 'less' },
    { arm: 'reference', against: 'ids', direction: 'more' },
    { arm: 'blob', against: 'ids', direction: 'less' }
  ],
  fixedAndMarginal: true,
  notControlled: [
    'primary, two replicas and the load share two cores: memory bandwidth, caches and clock frequency are shared too',
    'one machine instead of eight: no network, no other instance type'
  ]
}
