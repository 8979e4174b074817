/** 039: see README.md. Orders of one unit, without faults, followers, reservations and new customers. */
const technique = (/** @type {string} */ name) => ({ contention: { technique: name } })
const level = (/** @type {number} */ rate) => ({
  settings: { rate }, contention: { driver: 'orders', replicas: 1, faults: 'none', ordersOnly: true }
})

export default {
  title: 'What does an order cost beside plain SQL?',
  question: 'What do all processes spend on an order: Freshet with two replicas, a job of BullMQ, a workflow of DBOS, and one SQL ' +
    'statement a step?',
  baseline: 'freshet',
  ceiling: 'floor',
  arms: {
    freshet: technique('partitions-16'),
    bullmq: technique('bullmq'),
    dbos: technique('dbos'),
    floor: { ...technique('floor'), note: 'plain SQL, one statement and one event a step, in one process' }
  },
  labels: { freshet: 'Freshet', bullmq: 'jobs of BullMQ', dbos: 'workflows of DBOS', floor: 'plain SQL' },
  chart: {
    about: {
      measure: 'allCpuMsPerOrder',
      arm: 'freshet',
      against: 'floor',
      level: '100/s',
      says: 'At 100/s an order costs {} of plain SQL'
    },
    levels: ['10/s', '100/s', '200/s']
  },
  levels: {
    '100/s': level(100),
    '10/s': level(10),
    '200/s': level(200),
    'at rest': level(0)
  },
  fixed: { maxItems: 1_000_000 },
  seconds: 6,
  warmUpSeconds: 2,
  overheadSeconds: 5.5,
  rounds: 5,
  measures: ['allCpuMillicores', 'allCpuMsPerOrder', 'sagaMsP50', 'sagaMsP99', 'httpMsP50', 'httpMsP95', 'errorPercent', 'stuckPercent',
    'ordersPerSecond', 'cpuMsPerOrder', 'primaryCpuPercent', 'replicaCpuPercent', 'serviceMemoryBytes'],
  pairs: [{ arm: 'freshet', against: 'floor' }, { arm: 'freshet', against: 'bullmq' }, { arm: 'freshet', against: 'dbos' }],
  differs: [
    'Freshet accepts an order when primary and replica have it in memory, BullMQ when one server has it, plain SQL and DBOS on disk',
    'Freshet has a gateway, a reader and consumers, views, deadlines, cancelling, and two callbacks of the provider an order',
    'plain SQL, BullMQ and DBOS are one process each; BullMQ keeps no events and no rows, DBOS the results of steps',
    'plain SQL and DBOS use no Valkey, whose servers run beside them and are not counted'
  ],
  expected: [
    { arm: 'floor', against: 'freshet', direction: 'less' },
    { arm: 'bullmq', against: 'freshet', direction: 'less' },
    { arm: 'dbos', against: 'freshet', direction: 'more' }
  ],
  budgets: [
    { measure: 'allCpuMsPerOrder', arm: 'freshet', against: 'floor', most: 1.7, level: '100/s' },
    { measure: 'allCpuMsPerOrder', arm: 'freshet', against: 'floor', most: 1.8, level: '200/s' },
    { measure: 'allCpuMsPerOrder', arm: 'freshet', against: 'floor', most: 2.7, level: '10/s' },
    { measure: 'allCpuMillicores', arm: 'freshet', most: 20, level: 'at rest' },
    { measure: 'sagaMsP50', arm: 'freshet', most: 40, level: '100/s' },
    { measure: 'sagaMsP50', arm: 'freshet', most: 25, level: '10/s' }
  ],
  notControlled: [
    'servers, database, provider, all processes and the load share two cores',
    'processes are seconds old: what compiling costs is in the figures, most of all at rest and at 10/s'
  ]
}
