/** 037: see README.md. The storm of the published study, in the world of 026. */
const technique = (/** @type {string} */ name) => ({ contention: { technique: name } })

export default {
  title: 'As published: 10,000 requests for cold prices',
  question: '1,000 people send 10,000 requests for 800 cold assets when all have just expired: how late are replies, who gets none?',
  baseline: 'tiers',
  ceiling: 'noop',
  arms: {
    tiers: technique('tiers'),
    coalesce: technique('coalesce'),
    'scheduled+push': technique('scheduled+push'),
    'async-cache-dedupe': technique('async-cache-dedupe'),
    noop: technique('noop')
  },
  labels: {
    tiers: 'tiers, timers',
    coalesce: 'shared fetches',
    'scheduled+push': 'scheduled, pushed',
    'async-cache-dedupe': 'async-cache-dedupe',
    noop: 'constant'
  },
  chart: {
    about: {
      arm: 'scheduled+push',
      against: 'tiers',
      level: '10,000 requests of 1,000 people',
      says: 'In a storm of 10,000 requests scheduled prices take {} as long'
    }
  },
  levels: {
    '10,000 requests of 1,000 people': {
      contention: { driver: 'storm', users: 1000, each: 10, expiry: 'soft', tiers: 'hot=0.5/1/6,medium=2/4/20,cold=3/6/18' }
    }
  },
  fixed: { rate: 0, maxItems: 1_000_000 },
  seconds: 12,
  warmUpSeconds: 1,
  overheadSeconds: 18,
  rounds: 5,
  measures: ['priceMsP99', 'priceMsMean', 'priceMsP95', 'priceMsMax', 'missingPerThousand', 'cachedPercent', 'stormFetchesPerAsset',
    'stormCallsPerAsset', 'stormMostCalls', 'stormMs', 'gatewayCpuPercent', 'consumersCpuPercent', 'exchangesCpuPercent'],
  differs: [
    'only the product limits the calls of a source to 21 at a time, and leaves alone one that fails',
    'readers of the product wait 0.9 s for a price; the others as long as a fetch takes, at most 0.4 s after its call could be sent',
    'gateways of the published service have timers of their own, so two of them refresh twice',
    'constant bytes: fetches nothing, and has no price'
  ],
  expected: [
    { arm: 'coalesce', against: 'tiers', direction: 'less' },
    { arm: 'scheduled+push', against: 'tiers', direction: 'less' },
    { arm: 'async-cache-dedupe', against: 'tiers', direction: 'less' },
    { arm: 'noop', against: 'tiers', direction: 'less' }
  ],
  budgets: [
    { measure: 'missingPerThousand', arm: 'scheduled+push', most: 0, level: '10,000 requests of 1,000 people' }
  ],
  notControlled: [
    'primary, two replicas, three exchanges, consumers, two gateways and the load share two cores: a storm of calls takes CPU, too',
    'the load is one process with 1,000 connections'
  ]
}
