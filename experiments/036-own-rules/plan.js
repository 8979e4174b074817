/** 036: see README.md. */
const rule = (/** @type {string} */ technique) => ({ contention: { technique } })
const level = (/** @type {number} */ users) => ({ contention: { driver: 'own', users } })

export default {
  title: 'What do decisions of a user\'s rule cost?',
  question: 'The rule of examples/seats through the library, beside ours of auctions and sales: decisions a second, server time of each?',
  baseline: 'max',
  ceiling: 'noop',
  arms: { max: rule('max'), bounded: rule('bounded'), seat: rule('seat'), noop: rule('noop') },
  labels: { max: 'our rule of auctions', bounded: 'our rule of sales', seat: 'a rule of a user', noop: 'no server' },
  chart: {
    about: {
      arm: 'seat',
      level: '1,000 in flight',
      says: 'A rule of a user makes {} decisions/s, 1,000 in flight'
    },
    arms: ['bounded', 'seat']
  },
  levels: { '100 in flight': level(100), '1,000 in flight': level(1000) },
  fixed: { rate: 0, maxItems: 1_000_000 },
  seconds: 1.5,
  warmUpSeconds: 0.5,
  rounds: 5,
  measures: ['decisionsPerSecond', 'serverCpuMicrosPerDecision', 'decisionMsP50', 'decisionMsP99'],
  differs: [
    'max stores a bid; seat holds or releases a seat, of which a hold is a scheduled task, too; bounded also keeps members',
    'what a rule of ours returns is trusted; what a rule of a user returns is checked',
    'no server: decides nothing and keeps nothing'
  ],
  expected: [
    { arm: 'seat', against: 'max', direction: 'more' },
    { arm: 'bounded', against: 'max', direction: 'less' },
    { arm: 'noop', against: 'max', direction: 'more' }
  ],
  notControlled: [
    'primary, two replicas and the load share two cores',
    'the load is one process, which is its own limit in the fast arms'
  ]
}
