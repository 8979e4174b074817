/**
 * 034: see README.md. The published writers send all of their ids once a second. Windows of 12 s hold 12 such bursts, and the processor
 * time of each node is read at the end of each second.
 */
export default {
  title: 'As published: CPU over time',
  question: 'How busy are primary and replicas, second by second, when 4 writers send 10 or 50 thousand items each once a second?',
  baseline: 'reference',
  ceiling: 'blob',
  arms: {
    reference: { load: 'reference' },
    ids: { settings: { layout: 'ids' }, note: 'the newest version of an id counts, the default' },
    'ids (overwrite)': { settings: { layout: 'ids', late: 'overwrite' } },
    blob: { load: 'blob' }
  },
  labels: {
    reference: 'published way',
    ids: 'ids, newest wins',
    'ids (overwrite)': 'ids, overwriting',
    blob: 'bare bytes'
  },
  chart: {
    about: { arm: 'reference', level: '4 writers x 10 k', says: 'As published: 4 writers x 10,000 items/s take {} % of a core' },
    overTime: '4 writers x 10 k'
  },
  levels: {
    '4 writers x 10 k': { settings: { rate: 10_000, ids: 40_000 } },
    '4 writers x 50 k': { settings: { rate: 50_000, ids: 200_000 }, without: ['ids', 'ids (overwrite)'] }
  },
  fixed: { writers: 4, pace: 'burst', periodMs: 1000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 12,
  warmUpSeconds: 2,
  rounds: 5,
  counted: { levels: ['4 writers x 10 k'], why: 'the writers were the limit of the other level' },
  measures: ['primaryCpuPercent', 'replicaCpuPercent', 'primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'itemsPerSecond',
    'behindMsP99', 'generatorCpuMicrosPerItem'],
  differs: [
    'ids compares versions on the server, reference and ids (overwrite) do not',
    'reference sends values that never change, the others new ones each time',
    'blob cannot be asked for an item or for the newest'
  ],
  expected: [
    { arm: 'ids', against: 'reference', direction: 'less', level: '4 writers x 10 k' },
    { arm: 'ids (overwrite)', against: 'reference', direction: 'less', level: '4 writers x 10 k' },
    { arm: 'blob', against: 'reference', direction: 'less', level: '4 writers x 10 k' }
  ],
  notControlled: [
    'four writers, primary and two replicas share two cores: published writers had machines of their own',
    'one machine instead of seven: no network, no other instance type'
  ]
}
