/** 026: see README.md. */
const technique = (/** @type {string} */ name) => ({ contention: { technique: name } })
/** the interval is as long as the time to live, as published; a price may be served for six of them */
const AT_EXPIRY = { driver: 'storm', users: 2400, expiry: 'soft', tiers: 'hot=0.5/1/6,medium=2/4/20,cold=3/6/18' }
/** refreshed by nobody until it is asked for, and unusable after 2 s */
const NOTHING_LEFT = { driver: 'storm', users: 2400, expiry: 'hard', tiers: 'hot=60/120/180,medium=60/120/180,cold=60/61/62' }

export default {
  title: 'What happens when 800 prices expire at once?',
  question: '2,400 people ask two gateways for 800 cold assets at the moment when all of them expire. Who calls the exchanges, how often?',
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
  levels: { 'at expiry': { contention: AT_EXPIRY }, 'nothing left': { contention: NOTHING_LEFT } },
  seconds: 12,
  warmUpSeconds: 1,
  rounds: 5,
  measures: ['stormCallsPerAsset']
}
