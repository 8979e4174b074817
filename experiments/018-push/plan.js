/**
 * 018: see README.md. Each client follows ids of its own, spread over the feed, or the whole of a small feed; it is told at
 * most ten times a second, in one arm as soon as something comes.
 */
export default {
  title: 'What does it cost to push?',
  question: 'What does a reader pay to push changes to hundreds of clients while 200,000 items/s come in, and how late are they?',
  baseline: 'push',
  ceiling: 'bare',
  arms: {
    push: { serving: { by: 'reader', asks: 'push', maxRate: 10 } },
    bare: {
      serving: { by: 'bare', asks: 'push', maxRate: 10 },
      note: 'a fastify process that writes events of the same size and rate to the same number of clients'
    },
    poll: { serving: { by: 'reader', asks: 'poll', everyMs: 500 }, note: 'the same clients request their ids twice a second' },
    'push (no limit)': { serving: { by: 'reader', asks: 'push' }, note: 'without maxRate: every 10 ms while there are changes' }
  },
  labels: {
    push: 'pushed, 10 times/s',
    bare: 'bare event stream',
    poll: 'polled twice a second',
    'push (no limit)': 'pushed every 10 ms'
  },
  chart: {
    about: { arm: 'push', level: '500 x 20 ids', says: '500 clients of 20 ids take {} % of a core to push' }
  },
  levels: {
    '50 x a feed of 100': { settings: { ids: 100 }, serving: { connections: 50 }, without: ['poll'] },
    '500 x 20 ids': { settings: { ids: 100_000 }, serving: { connections: 500, idsEach: 20 }, without: ['push (no limit)'] }
  },
  fixed: { layout: 'segments', rate: 200_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 7.5,
  warmUpSeconds: 2.5,
  rounds: 5,
  measures: ['servingCpuPercent', 'deliveryMsP99', 'deliveryMsP50', 'newestMsP99', 'eventsPerSecond', 'deliveredBytesPerSecond',
    'servingCpuMicrosPerEvent', 'servingCpuMillisPerMegabyte', 'servingMemoryBytes', 'servingLiveGrowthBytes', 'servingMemoryGrowthBytes',
    'servingDelayMsP99', 'clientLoopPercent', 'replicaCpuPercent', 'primaryCpuPercent', 'itemsPerSecond', 'behindMsP99'],
  differs: [
    'bare reads no feed and ignores what its clients follow: its events have the same number of bytes, and always the same items with ' +
      'the time at ' +
      'which they were built',
    'bare writes exactly ten events a second to each client, a reader at most ten',
    'poll sends two requests a second, push ten events: ten requests would take more than a core; a response holds all 20 items of a ' +
      'client, an event only those that changed',
    'push (no limit) sends up to ten times as many events as push'
  ],
  expected: [
    { arm: 'bare', against: 'push', direction: 'less' },
    { arm: 'poll', against: 'push', direction: 'same' },
    { arm: 'push (no limit)', against: 'push', direction: 'more' }
  ],
  budgets: [
    { measure: 'servingCpuPercent', arm: 'push', most: 100 },
    { measure: 'servingLiveGrowthBytes', arm: 'push', most: 16_777_216 }
  ],
  notControlled: [
    'reader, clients, writer and three servers share two cores: the longest delays are waits for a processor',
    'the clients are one process on the same machine: delays include no network and no slow clients',
    'memory is observed for seven seconds, so slow leaks do not show'
  ]
}
