/** 022: see README.md. */
const technique = (/** @type {string} */ name, more = {}) => ({ contention: { technique: name, ...more } })

/** the losers wait until the first token expires */
const TOKEN_MS = 1000
const VARIANTS = ['db-lock pool 20', 'db-lock 2 ms', 'db-atomic 2 ms', 'mariadb-atomic', 'token-ed25519']

export default {
  title: 'How should the first to come get the last units?',
  question: '100 units, and people who all come at once: a lock in the database, better ways of the database, the server, tokens, a queue?',
  baseline: 'db-lock',
  ceiling: 'noop',
  arms: {
    'db-lock': technique('db-lock'),
    'db-lock pool 20': technique('db-lock', { pool: 20 }),
    'db-lock 2 ms': technique('db-lock', { delayMs: 2 }),
    'db-atomic': technique('db-atomic'),
    'db-atomic 2 ms': technique('db-atomic', { delayMs: 2 }),
    'mariadb-lock': technique('mariadb-lock'),
    'mariadb-atomic': technique('mariadb-atomic'),
    'redis-decr': technique('redis-decr'),
    'redis-row': technique('redis-row'),
    lua: technique('lua'),
    'lua+cache': technique('lua+cache'),
    'batched+cache': technique('batched+cache'),
    'token-hs256': technique('token-hs256', { holdMs: TOKEN_MS }),
    'token-ed25519': technique('token-ed25519', { holdMs: TOKEN_MS }),
    'queue-flow': technique('queue-flow'),
    noop: technique('noop')
  },
  labels: {
    'db-lock': 'row lock',
    'db-lock pool 20': 'row lock, pool 20',
    'db-lock 2 ms': 'row lock, 2 ms',
    'db-atomic': 'one UPDATE',
    'db-atomic 2 ms': 'one UPDATE, 2 ms',
    'mariadb-lock': 'row lock, MariaDB',
    'mariadb-atomic': 'one UPDATE, MariaDB',
    'redis-decr': 'SADD, DECR',
    'redis-row': 'script, then row',
    lua: 'script per claim',
    'lua+cache': 'script, cache',
    'batched+cache': 'batches, cache',
    'token-hs256': 'token HS256',
    'token-ed25519': 'token Ed25519',
    'queue-flow': 'queue',
    noop: 'no server'
  },
  chart: {
    about: {
      arm: 'batched+cache',
      against: 'db-lock',
      level: '2,000 people',
      says: 'Batches answer {} as many people a second as a row lock'
    },
    levels: ['2,000 people'],
    arms: ['db-lock pool 20', 'db-atomic', 'mariadb-lock', 'redis-decr', 'redis-row', 'lua',
      'lua+cache', 'batched+cache', 'queue-flow', 'noop']
  },
  levels: {
    '100 people': { contention: { driver: 'sale', users: 100 }, x: 100, without: [...VARIANTS, 'lua'] },
    '500 people': { contention: { driver: 'sale', users: 500 }, x: 500, without: VARIANTS },
    '1,000 people': { contention: { driver: 'sale', users: 1000 }, x: 1000, without: VARIANTS },
    '2,000 people': { contention: { driver: 'sale', users: 2000 }, x: 2000 }
  },
  fixed: { rate: 0, maxItems: 1_000_000 },
  seconds: 2,
  warmUpSeconds: 0.2,
  rounds: 5,
  measures: ['repliesPerSecond', 'selloutMs', 'outcomeMsP99', 'outcomeMsP95', 'outcomeMsMean', 'winnerMsP99', 'loserMsP99',
    'requestsPerPerson', 'untruePerThousand', 'waitingForConnection'],
  differs: [
    'the database has the order before the reply; on the server a claim counts when the primary has it, and consumers write orders',
    'the script that is followed by a row is as published: its reply waits for the commit in MariaDB',
    'SADD and DECR keep no order, no events and no replies; a reply that is lost is answered as already claimed',
    'a token and a place in the queue are two requests and more',
    'no server: decides nothing but whether a unit is left'
  ],
  expected: [
    { arm: 'batched+cache', against: 'db-lock', direction: 'more' },
    { arm: 'lua+cache', against: 'db-lock', direction: 'more' },
    { arm: 'redis-row', against: 'mariadb-lock', direction: 'more' },
    { arm: 'mariadb-lock', against: 'db-lock', direction: 'same' },
    { arm: 'mariadb-atomic', against: 'db-atomic', direction: 'same' },
    { arm: 'redis-decr', against: 'db-lock', direction: 'more' },
    { arm: 'token-hs256', against: 'db-lock', direction: 'more' },
    { arm: 'db-lock pool 20', against: 'db-lock', direction: 'same' },
    { arm: 'db-lock 2 ms', against: 'db-lock', direction: 'less' },
    { arm: 'db-atomic 2 ms', against: 'db-lock', direction: 'less' },
    { arm: 'lua', against: 'db-lock', direction: 'more' },
    { arm: 'token-ed25519', against: 'db-lock', direction: 'more' },
    { arm: 'queue-flow', against: 'db-lock', direction: 'more' },
    { arm: 'db-atomic', against: 'db-lock', direction: 'more' },
    { arm: 'noop', against: 'db-lock', direction: 'more' }
  ],
  budgets: [
    { measure: 'outcomeMsP99', arm: 'batched+cache', against: 'noop', most: 1.25, level: '2,000 people' },
    { measure: 'repliesPerSecond', arm: 'batched+cache', against: 'db-lock', least: 5, level: '2,000 people' },
    { measure: 'repliesPerSecond', arm: 'db-atomic', against: 'db-lock', least: 1, level: '2,000 people' },
    { measure: 'requestsPerPerson', arm: 'queue-flow', most: 3.5, level: '2,000 people' }
  ],
  notControlled: [
    'primary, two replicas, the database, the gateway and the load share two cores',
    'the people are one process, which is its own limit in the fast arms'
  ]
}
