/** 035: see README.md. Behind four gateways, as published, in windows of 20 s. */
const technique = (/** @type {string} */ name) => ({ contention: { technique: name } })
const level = (/** @type {number} */ users) => ({
  contention: { driver: 'http', gateways: 4, reads: true, thinkMs: 30, users }, x: users
})

export default {
  title: 'As published: bids behind four gateways',
  question: 'Users read the price and bid through four gateways: how many bids are decided, how late are the last?',
  baseline: 'lua',
  ceiling: 'noop',
  arms: {
    lua: technique('lua'),
    watch: technique('watch'),
    'batched+cache': technique('batched+cache'),
    noop: technique('noop')
  },
  labels: { lua: 'a script per bid', watch: 'WATCH', 'batched+cache': 'batches, cache', noop: 'no server' },
  chart: {
    about: {
      arm: 'watch',
      against: 'lua',
      level: '100 users',
      says: 'Behind four gateways WATCH decides {} of a script, 100 users'
    }
  },
  levels: { '100 users': level(100), '1,000 users': level(1000), '10,000 users': level(10_000) },
  fixed: { rate: 0, maxItems: 1_000_000 },
  seconds: 20,
  warmUpSeconds: 3,
  overheadSeconds: 6,
  rounds: 5,
  measures: ['decisionsPerSecond', 'acceptedPerSecond', 'decisionMsMean', 'decisionMsP50', 'decisionMsP95', 'decisionMsP99',
    'attemptsPerAccepted', 'primaryCpuPercent', 'generatorCpuMicrosPerItem'],
  differs: [
    'WATCH keeps the state as one JSON text and decides in the gateway; it stores no outbox entry and no task',
    'each gateway has a rejection cache of its own, in the arm with the cache',
    'no server: decides nothing and keeps nothing, and its price is always 0'
  ],
  expected: [
    { arm: 'watch', against: 'lua', direction: 'less' },
    { arm: 'batched+cache', against: 'lua', direction: 'more' },
    { arm: 'noop', against: 'lua', direction: 'more' }
  ],
  notControlled: [
    'four gateways, primary, two replicas and the load share two cores, where the published ones had a machine each',
    'the load is one process, which is its own limit in the fast arms'
  ]
}
