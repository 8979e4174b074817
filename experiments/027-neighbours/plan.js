/** 027: see README.md. */
const technique = (/** @type {string} */ name, /** @type {string} */ neighbour) => ({ contention: { technique: name, neighbour } })

export default {
  title: 'Do the other routes suffer from a burst?',
  question: 'While 2,000 people come for 100 units, others look at the sale: how much longer do they wait, with pools shared or separate?',
  baseline: 'db-lock',
  ceiling: 'noop',
  arms: {
    'db-lock': technique('db-lock', 'gateway'),
    'db-lock shared pool': technique('db-lock', 'shared'),
    'db-lock apart': technique('db-lock', 'apart'),
    'batched+cache': technique('batched+cache', 'gateway'),
    'batched+cache apart': technique('batched+cache', 'apart'),
    noop: technique('noop', 'apart')
  },
  labels: {
    'db-lock': 'row lock, 2 pools',
    'db-lock shared pool': 'row lock, shared pool',
    'db-lock apart': 'row lock, reader',
    'batched+cache': 'batches, cache',
    'batched+cache apart': 'batches, cache, reader',
    noop: 'no server'
  },
  chart: {
    about: { arm: 'db-lock shared pool', against: 'db-lock', says: 'With a shared pool the others wait {} as long as with two' }
  },
  levels: { '2,000 people': { contention: { driver: 'sale', users: 2000 }, x: 2000 } },
  fixed: { rate: 0, maxItems: 1_000_000 },
  seconds: 4,
  warmUpSeconds: 0.2,
  rounds: 5,
  measures: ['neighbourMsP99', 'neighbourTimesIdle', 'repliesPerSecond', 'outcomeMsP99', 'waitingForConnection'],
  differs: [
    'the arms with a reader have a process more, which serves only those who look',
    'no server: those who look are served by a process that does nothing else'
  ],
  expected: [
    { arm: 'db-lock shared pool', against: 'db-lock', direction: 'more' },
    { arm: 'db-lock apart', against: 'db-lock', direction: 'less' },
    { arm: 'batched+cache', against: 'db-lock', direction: 'same' },
    { arm: 'batched+cache apart', against: 'db-lock', direction: 'less' },
    { arm: 'noop', against: 'db-lock', direction: 'less' }
  ],
  budgets: [{ measure: 'neighbourTimesIdle', arm: 'batched+cache apart', most: 2, level: '2,000 people' }],
  notControlled: [
    'primary, two replicas, the database, gateway, reader and both loads share two cores',
    'the response time without a burst comes from 2 s, so its p99 rests on 400 requests'
  ]
}
