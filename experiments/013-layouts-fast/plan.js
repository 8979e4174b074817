/**
 * 013: see README.md. At high rates a log grows by a gigabyte in a few seconds, and memory that is new costs a server more than
 * memory that is used again; so there maxItems is set, memory is level when the window opens, and trimming is in the figures.
 */
export default {
  title: 'How far from the possible are the layouts?',
  question: 'What does an item cost as segments, stream, ids and values, against the published way and against bare bytes?',
  baseline: 'ids (overwrite)',
  ceiling: 'blob',
  arms: {
    ids: { settings: { layout: 'ids' }, note: 'the newest version of an id counts, the default' },
    'ids (overwrite)': { settings: { layout: 'ids', late: 'overwrite' } },
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
    about: {
      arm: 'segments',
      against: 'ids (overwrite)',
      level: '50 k items/s, full batches',
      says: 'Segments cost {} of overwriting ids, in full batches'
    },
    levels: ['50 k items/s, full batches', 'as fast as it goes']
  },
  formerly: {
    ids: 'ids (overwrite)'
  },
  levels: {
    '50 k items/s, full batches': { settings: { rate: 50_000, batchMs: 25 } },
    '200 k items/s, full batches': {
      settings: { rate: 200_000, batchMs: 10, maxItems: 200_000 }, without: ['ids', 'values', 'stream', 'reference']
    },
    'as fast as it goes': { settings: { rate: 0, maxItems: 1_000_000 } },
    '10 k items/s, batches of 5 ms': { settings: { rate: 10_000, ids: 20_000 }, without: ['values', 'stream', 'reference'] }
  },
  fixed: { ids: 100_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 3,
  warmUpSeconds: 2,
  rounds: 5,
  counted: {
    levels: ['50 k items/s, full batches', '10 k items/s, batches of 5 ms'],
    why: 'the other levels have the same batches at another rate, which a count does not have'
  },
  measures: ['primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'generatorCpuMicrosPerItem', 'itemsPerSecond', 'primaryCpuPercent',
    'replicatedBytesPerItem', 'netBytesPerItem', 'memoryBytesPerLiveItem', 'memoryBytesPerVersion', 'commandsPerItem', 'behindMsP99'],
  differs: [
    'ids compares versions, and keeps the newest; ids (overwrite) compares nothing',
    'ids and reference keep one version of an id, values, stream and segments every version, until it is trimmed',
    'ids finds an item by its id; stream, segments and values need a view, which costs the reader',
    'reference sends values that never change, the others new ones each time',
    'reference and blob never trim; the others do where maxItems is set, once a second: at 200 k items/s (200,000) and as fast as it ' +
      'goes (1,000,000)',
    'as fast as it goes each arm has another rate, so the fixed cost of a second is shared by more items in faster ones',
    'reference and blob have 4 batches in flight, the others up to 16 MiB'
  ],
  expected: [
    { arm: 'ids', against: 'ids (overwrite)', direction: 'more' },
    { arm: 'segments', against: 'ids (overwrite)', direction: 'less' },
    { arm: 'segments', against: 'reference', direction: 'less' },
    { arm: 'segments', against: 'blob', direction: 'more' },
    { arm: 'stream', against: 'ids (overwrite)', direction: 'same' },
    { arm: 'values', against: 'ids (overwrite)', direction: 'less' },
    { arm: 'ids (overwrite)', against: 'reference', direction: 'less' },
    { arm: 'reference', against: 'ids (overwrite)', direction: 'more' },
    { arm: 'blob', against: 'ids (overwrite)', direction: 'less' }
  ],
  budgets: [
    { measure: 'primaryCpuMicrosPerItem', arm: 'segments', against: 'reference', most: 0.1, level: '50 k items/s, full batches' },
    { measure: 'primaryCpuMicrosPerItem', arm: 'segments', against: 'blob', most: 1.8, level: '50 k items/s, full batches' },
    { measure: 'primaryCpuMicrosPerItem', arm: 'ids (overwrite)', against: 'reference', most: 0.65, level: '50 k items/s, full batches' },
    { measure: 'primaryCpuMicrosPerItem', arm: 'segments', against: 'blob', most: 1.8, level: '200 k items/s, full batches' },
    { measure: 'primaryCpuMicrosPerItem', arm: 'segments', against: 'reference', most: 0.1, level: 'as fast as it goes' },
    { measure: 'primaryCpuMicrosPerItem', arm: 'segments', against: 'blob', most: 1.8, level: 'as fast as it goes' },
    { measure: 'primaryCpuMicrosPerItem', arm: 'ids (overwrite)', against: 'reference', most: 0.65, level: 'as fast as it goes' },
    { measure: 'itemsPerSecond', arm: 'segments', against: 'reference', least: 14, level: 'as fast as it goes' },
    { measure: 'primaryCpuPercent', arm: 'segments', most: 2, level: '10 k items/s, batches of 5 ms' },
    { measure: 'primaryCpuPercent', arm: 'ids (overwrite)', most: 6, level: '10 k items/s, batches of 5 ms' }
  ],
  notControlled: [
    'primary, two replicas and the writer share two cores: at full speed one of them always waits for another',
    'one process writes, into one partition'
  ]
}
