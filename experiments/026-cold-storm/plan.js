/** 026: see README.md. */
const technique = (/** @type {string} */ name) => ({ contention: { technique: name } })
const ALL_USERS = Object.freeze({ driver: 'storm', users: 2400 })
/** the interval is as long as the time to live, as published; where that is possible, a price may be served for six of them */
const SOFT = Object.freeze({ ...ALL_USERS, expiry: 'soft', tiers: 'hot=0.5/1/6,medium=2/4/20,cold=3/6/18' })
/** no timer refreshes, only requests do; no price may be served after 2 s */
const HARD = Object.freeze({ ...ALL_USERS, expiry: 'hard', tiers: 'hot=0.5/1/6,medium=2/4/20,cold=60/1/2' })

export default {
  title: 'What happens when 800 prices expire at once?',
  question: '2,400 people ask two gateways for 800 cold assets when all of them have just expired: who fetches, and how often?',
  baseline: 'tiers',
  ceiling: 'noop',
  arms: {
    tiers: technique('tiers'),
    coalesce: technique('coalesce'),
    'stale-while-revalidate': technique('stale-while-revalidate'),
    scheduled: technique('scheduled'),
    'scheduled+push': technique('scheduled+push'),
    'async-cache-dedupe': technique('async-cache-dedupe'),
    bentocache: technique('bentocache'),
    noop: technique('noop')
  },
  labels: {
    tiers: 'tiers, timers',
    coalesce: 'shared fetches',
    'stale-while-revalidate': 'stale while fetching',
    scheduled: 'scheduled',
    'scheduled+push': 'scheduled, pushed',
    'async-cache-dedupe': 'async-cache-dedupe',
    bentocache: 'bentocache',
    noop: 'constant'
  },
  chart: {
    about: {
      arm: 'scheduled+push',
      against: 'tiers',
      level: 'hard expiry',
      says: 'At a hard expiry scheduled refreshes fetch {} as often'
    },
    levels: ['hard expiry']
  },
  levels: {
    'soft expiry': { contention: SOFT },
    'soft expiry, a dead source': { contention: { ...SOFT, dead: 1 } },
    'hard expiry': { contention: HARD },
    'hard expiry, a dead source': { contention: { ...HARD, dead: 1 } }
  },
  fixed: { rate: 0, maxItems: 1_000_000 },
  seconds: 12,
  warmUpSeconds: 1,
  overheadSeconds: 18,
  rounds: 5,
  measures: ['stormFetchesPerAsset', 'stormCallsPerAsset', 'stormMostCalls', 'stormMs', 'missingPerThousand', 'cachedPercent',
    'priceMsMean', 'priceMsP95', 'priceMsP99', 'priceMsMax', 'wentBackPerMillion', 'gatewayCpuPercent', 'consumersCpuPercent',
    'exchangesCpuPercent'],
  differs: [
    'only the product limits the calls of a source to 21 at a time, and leaves alone one that fails',
    'readers of the product wait 0.9 s for a price; the others as long as a fetch takes, at most 0.4 s after its call could be sent',
    'gateways of the published service have timers of their own, so two of them refresh twice',
    'constant bytes: fetches nothing, and has no price'
  ],
  expected: [
    { arm: 'scheduled+push', against: 'tiers', direction: 'less' },
    { arm: 'coalesce', against: 'tiers', direction: 'less' },
    { arm: 'stale-while-revalidate', against: 'tiers', direction: 'less' },
    { arm: 'scheduled', against: 'tiers', direction: 'less' },
    { arm: 'async-cache-dedupe', against: 'tiers', direction: 'less' },
    { arm: 'bentocache', against: 'tiers', direction: 'less' },
    { arm: 'noop', against: 'tiers', direction: 'less' }
  ],
  budgets: [
    { measure: 'stormFetchesPerAsset', arm: 'scheduled+push', most: 1, level: 'hard expiry' },
    { measure: 'stormMostCalls', arm: 'scheduled+push', most: 3, level: 'hard expiry' },
    { measure: 'missingPerThousand', arm: 'scheduled+push', most: 0, level: 'soft expiry' },
    { measure: 'missingPerThousand', arm: 'scheduled+push', most: 0, level: 'soft expiry, a dead source' },
    { measure: 'missingPerThousand', arm: 'scheduled+push', most: 0, level: 'hard expiry' },
    { measure: 'missingPerThousand', arm: 'scheduled+push', most: 0, level: 'hard expiry, a dead source' },
    { measure: 'priceMsP99', arm: 'scheduled+push', against: 'noop', most: 1.25, level: 'soft expiry' }
  ],
  notControlled: [
    'primary, two replicas, three exchanges, consumers, two gateways and the load share two cores: a storm of calls takes CPU, too',
    'the load is one process with 2,400 connections'
  ]
}
