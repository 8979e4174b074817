/** 023: see README.md. */
const OTHERS = ['queue-kafka', 'queue-kafka-db', 'queue+token']
const few = (/** @type {number} */ users) => ({ contention: { driver: 'sale', users }, without: OTHERS })
const technique = (/** @type {string} */ name) => ({ contention: { technique: name } })

export default {
  title: 'What do people in a queue learn, and when?',
  question: '2,000 people queue for 100 units: when do all know, how often do they ask, and what if some give up?',
  baseline: 'queue-flow',
  ceiling: 'noop',
  arms: {
    'queue-flow': technique('queue-flow'),
    'queue-timer': technique('queue-timer'),
    'queue-timer-kafka': technique('queue-timer-kafka'),
    'queue-kafka': technique('queue-kafka'),
    'queue-kafka-db': technique('queue-kafka-db'),
    'queue+token': technique('queue+token'),
    noop: technique('noop')
  },
  labels: {
    'queue-flow': 'free slots',
    'queue-timer': 'timer, 1/4 of the time',
    'queue-timer-kafka': 'timer, then Kafka',
    'queue-kafka': 'Kafka in front',
    'queue-kafka-db': 'Kafka, then the database',
    'queue+token': 'free slots, token',
    noop: 'no server'
  },
  chart: {
    about: {
      measure: 'unansweredPerThousand',
      arm: 'queue-timer',
      level: 'no one gives up',
      says: 'A timer leaves {} of 1,000 people without an answer'
    },
    levels: ['no one gives up']
  },
  formerly: { 'nobody gives up': 'no one gives up' },
  levels: {
    'no one gives up': { contention: { driver: 'sale', users: 2000 }, x: 0 },
    '10 % give up': {
      contention: { driver: 'sale', users: 2000, giveUp: 0.1, holdMs: 1000 },
      x: 10,
      without: ['queue-timer', 'queue-timer-kafka', 'queue-kafka', 'queue-kafka-db']
    },
    '100 people': few(100),
    '500 people': few(500),
    '1,000 people': few(1000)
  },
  fixed: { rate: 0, maxItems: 1_000_000 },
  seconds: 2,
  warmUpSeconds: 0.2,
  overheadSeconds: 12,
  rounds: 5,
  measures: ['outcomeMsP99', 'everybodyMs', 'selloutMs', 'requestsPerPerson', 'unansweredPerThousand', 'untruePerThousand', 'outcomeMsMean',
    'winnerMsP99', 'loserMsP99'],
  differs: [
    'the timer runs in a quarter of the published time: 10 people every 0.75 s, who ask every 0.25 s, time-out after 15 s',
    'timer, then Kafka: its consumer writes the order, each in a transaction of PostgreSQL (published: MySQL)',
    'with Kafka no one is admitted and holds a unit: the place in the topic decides, so no one can give up while admitted',
    'Kafka, then the database: its consumer claims one after the other, each in a transaction of PostgreSQL',
    'no server: decides at once whether a unit is left, and no one queues'
  ],
  expected: [
    { arm: 'queue-timer', against: 'queue-flow', direction: 'more' },
    { arm: 'queue-timer-kafka', against: 'queue-timer', direction: 'same' },
    { arm: 'queue-kafka', against: 'queue-flow', direction: 'more' },
    { arm: 'queue-kafka-db', against: 'queue-kafka', direction: 'more' },
    { arm: 'queue+token', against: 'queue-flow', direction: 'same' },
    { arm: 'noop', against: 'queue-flow', direction: 'less' }
  ],
  budgets: [
    { measure: 'requestsPerPerson', arm: 'queue-flow', most: 3.5, level: 'no one gives up' },
    { measure: 'everybodyMs', arm: 'queue-flow', most: 2500, level: 'no one gives up' },
    { measure: 'everybodyMs', arm: 'queue-flow', most: 6500, level: '10 % give up' }
  ],
  notControlled: [
    'primary, two replicas, Kafka, the gateway and the load share two cores',
    'the people are one process'
  ]
}
