/** 029: see README.md. */
const faults = (/** @type {string} */ name) => ({ contention: { technique: 'partitions-16', faults: name } })
const level = (/** @type {number} */ rate) => ({ settings: { rate }, contention: { driver: 'orders', replicas: 3 } })

export default {
  title: 'What do faults do to orders?',
  question: 'Processes are killed, the payment provider is silent or down, all comes twice: which orders are late, and is any wrong?',
  baseline: 'few',
  ceiling: 'noop',
  arms: {
    few: faults('few'),
    duplicates: faults('duplicates'),
    silent: faults('silent'),
    down: faults('down'),
    'consumers-killed': faults('consumers-killed'),
    'any-killed': faults('any-killed'),
    noop: { contention: { technique: 'noop' } }
  },
  labels: {
    few: 'few faults',
    duplicates: 'everything comes twice',
    silent: 'silent provider',
    down: 'provider is down',
    'consumers-killed': 'consumers are killed',
    'any-killed': 'any process is killed',
    noop: 'ends at once'
  },
  chart: {
    about: {
      arm: 'consumers-killed',
      level: '60/s',
      says: 'The orders of a killed owner take {} ms (p95), its lease'
    },
    levels: ['60/s']
  },
  levels: { '60/s': level(60), '120/s': level(120) },
  fixed: { maxItems: 1_000_000 },
  seconds: 8,
  warmUpSeconds: 2,
  rounds: 5,
  measures: ['sagaMsP95', 'sagaMsP50', 'sagaMsMax', 'handOverMsP50', 'handOverMsMax', 'timeOutPercent', 'stuckPercent', 'pushedMsP95',
    'polledMsP95', 'seenAfterMsP95', 'httpMsP95', 'errorPercent', 'ordersPerSecond', 'cpuMsPerOrder', 'allCpuMsPerOrder',
    'replicasKilled'],
  differs: [
    'few faults are those of 028: 5 % of the payments are declined, of 1 % of the calls nothing is heard, 2 % of the orders are sent twice',
    'ends at once: a process that calls every order confirmed; nothing happens to it'
  ],
  expected: [
    { arm: 'duplicates', against: 'few', direction: 'same', level: '60/s' },
    { arm: 'silent', against: 'few', direction: 'more', level: '60/s' },
    { arm: 'down', against: 'few', direction: 'more', level: '60/s' },
    { arm: 'consumers-killed', against: 'few', direction: 'more', level: '60/s' },
    { arm: 'any-killed', against: 'few', direction: 'more', level: '60/s' },
    { arm: 'noop', against: 'few', direction: 'less', level: '60/s' }
  ],
  budgets: [
    { measure: 'stuckPercent', arm: 'any-killed', most: 0, level: '60/s' },
    { measure: 'stuckPercent', arm: 'any-killed', most: 0, level: '120/s' },
    { measure: 'timeOutPercent', arm: 'any-killed', most: 0, level: '60/s' },
    { measure: 'sagaMsMax', arm: 'consumers-killed', most: 10_000, level: '60/s' },
    { measure: 'handOverMsMax', arm: 'consumers-killed', most: 4000, level: '60/s' },
    { measure: 'handOverMsMax', arm: 'consumers-killed', most: 4000, level: '120/s' },
    { measure: 'seenAfterMsP95', arm: 'few', most: 220, level: '60/s' },
    { measure: 'errorPercent', arm: 'any-killed', most: 0, level: '60/s' }
  ],
  notControlled: [
    'primary, two replicas, PostgreSQL, payment provider, gateway, reader, three processes of consumers and load share two cores; each ' +
    'process that is started again takes half a second of them'
  ]
}
