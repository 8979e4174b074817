/** 021: see README.md. */
const technique = (/** @type {string} */ name) => ({ contention: { technique: name } })

const FEW = ['function', 'batched']

export default {
  title: 'How should bids on one item be decided?',
  question: 'Bids on one contested auction: one script call each, optimistic locking, or batches of up to 256 in one call?',
  baseline: 'lua',
  ceiling: 'noop',
  arms: {
    lua: technique('lua'),
    function: technique('function'),
    batched: technique('batched'),
    'batched+cache': technique('batched+cache'),
    watch: technique('watch'),
    noop: technique('noop')
  },
  labels: {
    lua: 'a script per bid',
    function: 'a function per bid',
    batched: 'batches',
    'batched+cache': 'batches, cache',
    watch: 'WATCH',
    noop: 'no server'
  },
  chart: {
    about: {
      arm: 'batched+cache',
      against: 'lua',
      level: '1,000 users over HTTP',
      says: 'Over HTTP batches with the cache decide {} as many bids'
    },
    levels: ['1,000 in flight', '1,000 users over HTTP'],
    arms: ['batched', 'batched+cache', 'watch', 'noop']
  },
  levels: {
    '1,000 in flight': { contention: { users: 1000, thinkMs: 0 } },
    '1,000 in flight, Zipf over 1,000': { contention: { users: 1000, thinkMs: 0, lots: 1000 }, without: ['function'] },
    '500 users': { contention: { users: 500, thinkMs: 30 }, without: FEW },
    '100 users over HTTP': { contention: { users: 100, thinkMs: 30, driver: 'http' }, without: FEW },
    '500 users over HTTP': { contention: { users: 500, thinkMs: 30, driver: 'http' }, without: FEW },
    '1,000 users over HTTP': { contention: { users: 1000, thinkMs: 30, driver: 'http' }, without: FEW },
    '2,000 users over HTTP': { contention: { users: 2000, thinkMs: 30, driver: 'http' }, without: FEW }
  },
  fixed: { rate: 0, maxItems: 1_000_000 },
  seconds: 1.5,
  warmUpSeconds: 0.5,
  rounds: 5,
  measures: ['decisionsPerSecond', 'acceptedPerSecond', 'serverCpuMicrosPerBid', 'callsPerBid', 'attemptsPerAccepted', 'decisionMsP50',
    'decisionMsP95', 'decisionMsP99'],
  differs: [
    'WATCH keeps the state as one JSON text and decides in the client; it stores no outbox entry and no task',
    'no server: decides nothing and keeps nothing'
  ],
  expected: [
    { arm: 'batched', against: 'lua', direction: 'more' },
    { arm: 'batched+cache', against: 'lua', direction: 'more' },
    { arm: 'function', against: 'lua', direction: 'same' },
    { arm: 'watch', against: 'lua', direction: 'less' },
    { arm: 'noop', against: 'lua', direction: 'more' }
  ],
  budgets: [
    { measure: 'decisionsPerSecond', arm: 'batched+cache', against: 'lua', least: 3, level: '1,000 in flight' },
    { measure: 'serverCpuMicrosPerBid', arm: 'batched+cache', against: 'lua', most: 0.25, level: '1,000 in flight' },
    { measure: 'callsPerBid', arm: 'batched+cache', most: 0.1, level: '1,000 in flight' },
    { measure: 'acceptedPerSecond', arm: 'batched+cache', against: 'lua', least: 1, level: '1,000 in flight' },
    { measure: 'decisionsPerSecond', arm: 'batched+cache', against: 'noop', least: 0.85, level: '1,000 users over HTTP' }
  ],
  notControlled: [
    'primary, two replicas and the load share two cores',
    'the load is one process, which is its own limit in the fast arms'
  ]
}
