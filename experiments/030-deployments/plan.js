/** 030: see README.md. */
const replicas = (/** @type {number} */ count) => ({ contention: { technique: 'partitions-16', replicas: count, everywhere: true } })
const level = (/** @type {number} */ rate, /** @type {string[]} */ without = []) => ({
  settings: { rate }, contention: { driver: 'orders' }, x: rate, ...(without.length > 0 ? { without } : {})
})
const FEW = ['replicas-2', 'replicas-3']

export default {
  title: 'How many replicas do orders need, and what do they cost?',
  question: 'One, two or three replicas of each service behind proxies, or as many as an autoscaler starts: how late, how busy, how dear?',
  baseline: 'replicas-1',
  ceiling: 'noop',
  arms: {
    'replicas-1': replicas(1),
    'replicas-2': replicas(2),
    'replicas-3': replicas(3),
    autoscaled: { contention: { technique: 'partitions-16', replicas: 3, everywhere: true, autoscaled: true } },
    noop: { contention: { technique: 'noop' } }
  },
  labels: {
    'replicas-1': '1 replica each',
    'replicas-2': '2 replicas each',
    'replicas-3': '3 replicas each',
    autoscaled: 'autoscaled',
    noop: 'ends at once'
  },
  chart: {
    about: {
      arm: 'replicas-3',
      against: 'replicas-1',
      level: '100/s',
      says: 'At 100/s customers wait {} as long with three of each'
    },
    levels: ['50/s', '100/s'],
    arms: ['replicas-1', 'replicas-2', 'replicas-3', 'autoscaled']
  },
  levels: {
    '10/s': level(10, FEW),
    '50/s': level(50),
    '100/s': level(100),
    '200/s': level(200)
  },
  fixed: { maxItems: 1_000_000, windowMs: 90_000 },
  seconds: 30,
  warmUpSeconds: 5,
  overheadSeconds: 5,
  rounds: 5,
  measures: ['polledMsP95', 'sagaMsP50', 'sagaMsP95', 'timeOutPercent', 'stuckPercent', 'httpMsP50', 'httpMsP95', 'errorPercent',
    'ordersPerSecond', 'gatewayReplicas', 'readerReplicas', 'consumerReplicas', 'busiestReplicaPercent', 'cpuMsPerOrder', 'usdPer10k',
    'usdPer10kUsed', 'serviceMemoryBytes'],
  differs: [
    'replicas are of gateways, readers and consumers, each behind a proxy and limited to one core; the ceiling is one process without both',
    'autoscaled begins with one of each, and changes each service by the formula of Kubernetes (70 % of half a core, 1 to 3)'
  ],
  expected: [
    { arm: 'replicas-2', against: 'replicas-1', direction: 'more', level: '200/s' },
    { arm: 'replicas-3', against: 'replicas-1', direction: 'more', level: '200/s' },
    { arm: 'autoscaled', against: 'replicas-1', direction: 'same', level: '50/s' },
    { arm: 'noop', against: 'replicas-1', direction: 'less', level: '200/s' }
  ],
  budgets: [
    { measure: 'timeOutPercent', arm: 'replicas-1', most: 0, level: '200/s' },
    { measure: 'timeOutPercent', arm: 'replicas-3', most: 0, level: '200/s' },
    { measure: 'timeOutPercent', arm: 'autoscaled', most: 0, level: '200/s' }
  ],
  notControlled: [
    'primary, two replicas, PostgreSQL, payment provider, proxies, all services and the load share two cores: a second replica of ' +
    'anything can only take from the first'
  ]
}
