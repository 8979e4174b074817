/**
 * 007: see README.md. The warm-up writes each of the 100,000 ids once, so that the window holds updates only; of the
 * 1,000,000 new ids none comes twice in a run.
 */
export default {
  title: 'Reference or actual value?',
  question: 'Does it cost less to keep values inside the sorted set than beside it?',
  baseline: 'ids (overwrite)',
  ceiling: 'blob',
  arms: {
    ids: { settings: { layout: 'ids' }, note: 'the newest version of an id counts, the default' },
    'ids (full batches)': { settings: { layout: 'ids', batchMs: 25 }, note: 'the same in batches of 1,000' },
    'ids (overwrite)': { settings: { layout: 'ids', late: 'overwrite' } },
    values: { settings: { layout: 'values' } },
    'ids (overwrite; full batches)': {
      settings: { layout: 'ids', late: 'overwrite', batchMs: 25 },
      note: 'batches wait 25 ms and have 1,000 items, like those of the published arms'
    },
    'values (full batches)': { settings: { layout: 'values', batchMs: 25 }, note: 'the same' },
    reference: {
      load: 'reference', note: 'the published way with values beside the set: a SETEX for each item, ZADD of ids; values never change'
    },
    'published values (never change)': {
      load: 'published-values',
      settings: { valueChange: 'never' },
      note: 'the published way with values inside the set: ZADD of the values, each of which replaces itself'
    },
    'published values (change)': {
      load: 'published-values',
      settings: { valueChange: 'always' },
      note: 'the same with values that change, as real ones do: each stays until it is trimmed'
    },
    blob: { load: 'blob' }
  },
  labels: {
    ids: 'ids, newest wins',
    'ids (full batches)': 'ids, full batches',
    'ids (overwrite)': 'ids, overwriting',
    values: 'values in the set',
    'ids (overwrite; full batches)': 'overwriting, full batch',
    'values (full batches)': 'in the set, full batches',
    reference: 'published: ids + SETEX',
    'published values (never change)': 'published: in the set',
    'published values (change)': 'the same, values change',
    blob: 'bare bytes'
  },
  chart: {
    about: {
      arm: 'values (full batches)',
      against: 'ids (full batches)',
      says: 'Values in the set cost {} of values in keys of their own'
    }
  },
  formerly: {
    ids: 'ids (overwrite)',
    'ids (full batches)': 'ids (overwrite; full batches)'
  },
  levels: {
    'the same ids again': { settings: { ids: 100_000 } },
    'new ids': {
      settings: { ids: 1_000_000 },
      without: ['ids (full batches)', 'ids (overwrite; full batches)', 'values (full batches)', 'reference',
        'published values (never change)', 'published values (change)']
    }
  },
  fixed: { rate: 40_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 4,
  warmUpSeconds: 2.5,
  rounds: 5,
  measures: ['primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'primaryCpuPercent', 'replicaCpuPercent', 'netBytesPerItem',
    'replicatedBytesPerItem', 'usedMemoryBytes', 'commandsPerItem', 'behindMsP99', 'itemsPerSecond', 'generatorCpuMicrosPerItem'],
  differs: [
    'ids compares versions, and keeps the newest; the arms that overwrite compare nothing',
    'values and published values that change keep every version, the others one of each id',
    'values stores a new version even of an unchanged value; published values replaces it',
    'an item of ids can be read by its id; values has to be searched, or kept in a view',
    'ids and values send what is 5 ms old, about 200 items; the published ways and blob gather 1,000'
  ],
  expected: [
    { arm: 'ids', against: 'ids (overwrite)', direction: 'more' },
    { arm: 'ids (full batches)', against: 'ids (overwrite; full batches)', direction: 'more' },
    { arm: 'values', against: 'ids', direction: 'less' },
    { arm: 'values (full batches)', against: 'ids (full batches)', direction: 'less' },
    { arm: 'values', against: 'ids (overwrite)', direction: 'less' },
    { arm: 'ids (overwrite; full batches)', against: 'reference', direction: 'less' },
    { arm: 'values (full batches)', against: 'ids (overwrite; full batches)', direction: 'less' },
    { arm: 'reference', against: 'ids (overwrite)', direction: 'more' },
    { arm: 'published values (never change)', against: 'reference', direction: 'less' },
    { arm: 'published values (change)', against: 'published values (never change)', direction: 'more' },
    { arm: 'blob', against: 'ids (overwrite)', direction: 'less' }
  ],
  notControlled: [
    'primary, two replicas and the load share two cores: the versions compete for the same caches',
    'runs last seconds: sets of values without trimming keep growing, and so does the cost of an insertion'
  ]
}
