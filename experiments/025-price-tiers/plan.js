/** 025: see README.md. */
const technique = (/** @type {string} */ name) => ({ contention: { technique: name } })

/** arms that are measured with the load T1 only */
const OF_T1 = ['sequential', 'parallel', 'warm-up', 'coalesce', 'stale-while-revalidate', 'scheduled', 'async-cache-dedupe', 'bentocache']
const without = (/** @type {string[]} */ ...kept) => OF_T1.filter((arm) => !kept.includes(arm))

export default {
  title: 'How should prices be kept?',
  question: 'One price from three exchanges: fetched when asked for, by timers, or scheduled once for all and pushed to memory?',
  baseline: 'tiers',
  ceiling: 'noop',
  arms: {
    sequential: technique('sequential'),
    parallel: technique('parallel'),
    tiers: technique('tiers'),
    'warm-up': technique('warm-up'),
    coalesce: technique('coalesce'),
    'stale-while-revalidate': technique('stale-while-revalidate'),
    scheduled: technique('scheduled'),
    'scheduled+push': technique('scheduled+push'),
    'async-cache-dedupe': technique('async-cache-dedupe'),
    bentocache: technique('bentocache'),
    noop: technique('noop')
  },
  labels: {
    sequential: 'one by one, one TTL',
    parallel: 'parallel, one TTL',
    tiers: 'tiers, timers',
    'warm-up': 'tiers, warmed up',
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
      against: 'warm-up',
      level: 'T1',
      says: 'Scheduled and pushed: {} the answers of warmed-up timers'
    },
    levels: ['T1']
  },
  levels: {
    T1: { contention: { driver: 'prices', hot: 100, medium: 80, cold: 40 }, x: 220 },
    T2: { contention: { driver: 'prices', hot: 150, medium: 100, cold: 80 }, x: 330, without: OF_T1 },
    T3: { contention: { driver: 'prices', hot: 180, medium: 120, cold: 80 }, x: 380, without: OF_T1 },
    T4: { contention: { driver: 'prices', hot: 200, medium: 150, cold: 100 }, x: 450, without: OF_T1 },
    'T1 at 1,000/s': {
      settings: { rate: 1000 }, contention: { driver: 'prices', hot: 100, medium: 80, cold: 40 }, without: without('warm-up')
    },
    'one source dead, 1,000/s': {
      settings: { rate: 1000 }, contention: { driver: 'prices', hot: 100, medium: 80, cold: 40, dead: 1 }, without: OF_T1
    },
    'each request fetches': {
      contention: { driver: 'prices', hot: 6, medium: 4, cold: 2, uncached: true },
      without: [...without('sequential', 'parallel'), 'scheduled+push']
    },
    'owner killed': { contention: { driver: 'prices', hot: 100, medium: 80, cold: 40, kills: true }, without: OF_T1 },
    '10,000 symbols': {
      contention: {
        driver: 'prices', hot: 100, medium: 80, cold: 40, lots: 10_000, tiers: 'hot=0.5/1/6,medium=2/4/20,cold=60/120/360'
      },
      without: OF_T1
    }
  },
  fixed: { rate: 0, maxItems: 1_000_000 },
  seconds: 12,
  warmUpSeconds: 1,
  rounds: 5,
  measures: ['pricesPerSecond', 'priceMsP95', 'priceMsP99', 'priceMsMean', 'priceMsMax', 'hotPerSecond', 'mediumPerSecond', 'coldPerSecond',
    'coldToHotThroughput', 'coldToHotMsP99', 'fetchMsP50', 'cachedPercent', 'inTimePercent', 'missingPerThousand', 'wentBackPerMillion',
    'callsPerSecond', 'hotCallsPerAsset', 'mediumCallsPerAsset', 'coldCallsPerAsset', 'gatewayCpuPercent', 'gatewayCpuMicrosPerPrice',
    'consumersCpuPercent', 'exchangesCpuPercent', 'gatewayMemoryBytes', 'primaryCpuPercent'],
  differs: [
    'scheduled and pushed prices have versions, events, and headers of age and validity; the others have a time',
    'only the product limits the calls of a source, and leaves alone one that fails',
    'prices of the product are as new when they expire as when they are stored; the other arms count from the end of a fetch',
    'consumers of the product are a process of their own, whose CPU time is a measure of its own',
    'async-cache-dedupe keeps prices in memory only, and its times are whole seconds',
    'what others have built is not held to order and hard expiry: what it serves too late or out of order is counted',
    'constant bytes: fetches nothing, and has no price'
  ],
  pairs: [{ arm: 'scheduled+push', against: 'warm-up' }],
  expected: [
    { arm: 'scheduled+push', against: 'tiers', direction: 'more', level: 'T1' },
    { arm: 'sequential', against: 'tiers', direction: 'same', level: 'T1' },
    { arm: 'parallel', against: 'sequential', direction: 'more', level: 'each request fetches' },
    { arm: 'warm-up', against: 'tiers', direction: 'same', level: 'T1' },
    { arm: 'coalesce', against: 'tiers', direction: 'more', level: 'T1' },
    { arm: 'stale-while-revalidate', against: 'tiers', direction: 'more', level: 'T1' },
    { arm: 'scheduled', against: 'tiers', direction: 'same', level: 'T1' },
    { arm: 'async-cache-dedupe', against: 'tiers', direction: 'more', level: 'T1' },
    { arm: 'bentocache', against: 'tiers', direction: 'more', level: 'T1' },
    { arm: 'noop', against: 'tiers', direction: 'more', level: 'T1' }
  ],
  budgets: [
    { measure: 'pricesPerSecond', arm: 'scheduled+push', against: 'noop', least: 0.85, level: 'T1' },
    { measure: 'pricesPerSecond', arm: 'parallel', against: 'sequential', least: 2.5, level: 'each request fetches' },
    { measure: 'coldToHotThroughput', arm: 'scheduled+push', least: 0.9, level: 'T1' },
    { measure: 'coldToHotMsP99', arm: 'scheduled+push', most: 1.2, level: 'T1' },
    { measure: 'coldToHotThroughput', arm: 'scheduled+push', least: 0.9, level: 'T4' },
    { measure: 'coldToHotMsP99', arm: 'scheduled+push', most: 1.2, level: 'T4' },
    { measure: 'cachedPercent', arm: 'scheduled+push', least: 100, level: 'T1' },
    { measure: 'inTimePercent', arm: 'scheduled+push', least: 99, level: 'T1' },
    { measure: 'missingPerThousand', arm: 'scheduled+push', most: 0, level: 'T4' },
    { measure: 'priceMsP95', arm: 'scheduled+push', most: 80, level: 'T1 at 1,000/s' },
    { measure: 'priceMsP99', arm: 'scheduled+push', most: 100, level: 'T1 at 1,000/s' },
    { measure: 'gatewayCpuPercent', arm: 'scheduled+push', most: 70, level: 'T1 at 1,000/s' },
    { measure: 'missingPerThousand', arm: 'scheduled+push', most: 0, level: 'one source dead, 1,000/s' },
    { measure: 'priceMsP99', arm: 'scheduled+push', most: 100, level: 'one source dead, 1,000/s' },
    { measure: 'missingPerThousand', arm: 'scheduled+push', most: 0, level: 'owner killed' },
    { measure: 'missingPerThousand', arm: 'scheduled+push', most: 0, level: '10,000 symbols' }
  ],
  notControlled: [
    'primary, two replicas, three exchanges, consumers, gateway and load share two cores; in a closed loop all of them are busy',
    'the load is one process, which is its own limit in the fast arms'
  ]
}
