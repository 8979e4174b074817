/** 028: see README.md. */
const technique = (/** @type {string} */ name) => ({ contention: { technique: name } })
const level = (/** @type {number} */ rate, /** @type {number} */ replicas, /** @type {string[]} */ without = []) => ({
  settings: { rate }, contention: { driver: 'orders', replicas }, x: rate, ...(without.length > 0 ? { without } : {})
})

export default {
  title: 'Do more replicas help orders?',
  question: 'Orders that reserve stock and take a payment: at one owner, as jobs of BullMQ, or partitions with one owner each?',
  baseline: 'partitions-16',
  ceiling: 'noop',
  arms: {
    single: technique('single'),
    bullmq: technique('bullmq'),
    'partitions-16': technique('partitions-16'),
    noop: technique('noop')
  },
  labels: {
    single: 'one owner',
    bullmq: 'jobs of BullMQ',
    'partitions-16': '16 partitions',
    noop: 'ends at once'
  },
  chart: {
    about: {
      arm: 'partitions-16',
      level: '200/s, 3 replicas',
      says: 'With three replicas customers wait {} ms (p95) at 200/s'
    },
    levels: ['200/s, 1 replica', '200/s, 3 replicas'],
    arms: ['single', 'bullmq', 'partitions-16']
  },
  levels: {
    '50/s, 3 replicas': level(50, 3, ['single', 'bullmq']),
    '200/s, 1 replica': level(200, 1),
    '200/s, 3 replicas': level(200, 3),
    '500/s, 1 replica': level(500, 1),
    '10/s, 1 replica': level(10, 1, ['bullmq']),
    '25/s, 1 replica': level(25, 1, ['bullmq']),
    '100/s, 1 replica': level(100, 1, ['bullmq']),
    '50/s, 3 replicas, one killed every 2 s': {
      settings: { rate: 50 },
      contention: { driver: 'orders', replicas: 3, faults: 'consumers-killed' },
      without: ['single', 'bullmq']
    }
  },
  fixed: { maxItems: 1_000_000 },
  seconds: 8,
  warmUpSeconds: 2,
  overheadSeconds: 5,
  rounds: 5,
  measures: ['polledMsP95', 'polledMsP50', 'sagaMsP95', 'sagaMsP50', 'sagaMsMax', 'timeOutPercent', 'stuckPercent', 'pushedMsP95',
    'pollsPerOrder', 'httpMsP50', 'httpMsP95', 'errorPercent', 'ordersPerSecond', 'cpuMsPerOrder', 'busiestReplicaPercent',
    'serviceMemoryBytes', 'replicasKilled', 'primaryCpuPercent'],
  differs: [
    'one owner and partitions are the product, with a database, long polls and exactly-once payments',
    'jobs of BullMQ keep their step, so that any replica goes on; stock is not exact when one is killed, and there are no events, no ' +
    'database, no deadline and no long poll',
    'ends at once: a process that calls every order confirmed, and does nothing'
  ],
  expected: [
    { arm: 'single', against: 'partitions-16', direction: 'same', level: '200/s, 1 replica' },
    { arm: 'bullmq', against: 'partitions-16', direction: 'less', level: '200/s, 1 replica' },
    { arm: 'single', against: 'partitions-16', direction: 'same', level: '500/s, 1 replica' },
    { arm: 'noop', against: 'partitions-16', direction: 'less', level: '200/s, 3 replicas' }
  ],
  budgets: [
    { measure: 'timeOutPercent', arm: 'partitions-16', most: 0, level: '200/s, 1 replica' },
    { measure: 'timeOutPercent', arm: 'partitions-16', most: 0, level: '200/s, 3 replicas' },
    { measure: 'timeOutPercent', arm: 'partitions-16', most: 0, level: '500/s, 1 replica' },
    { measure: 'stuckPercent', arm: 'partitions-16', most: 0, level: '200/s, 3 replicas' },
    { measure: 'stuckPercent', arm: 'partitions-16', most: 0, level: '50/s, 3 replicas, one killed every 2 s' },
    { measure: 'sagaMsP95', arm: 'partitions-16', most: 50, level: '200/s, 1 replica' },
    { measure: 'httpMsP95', arm: 'partitions-16', most: 25, level: '200/s, 1 replica' }
  ],
  notControlled: [
    'primary, two replicas, PostgreSQL, payment provider, gateway, reader, consumers and load share two cores: more processes leave ' +
    'less for each'
  ]
}
