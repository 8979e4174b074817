/**
 * 033: see README.md. Every client gets the same message of 20 items, ten times a second.
 */
const serving = { asks: 'push', connections: 500 }

export default {
  title: 'Is push as cheap as the best?',
  question: 'What do ten events of 20 items a second to each of hundreds of clients cost, beside Centrifugo and a bare stream?',
  baseline: 'push',
  ceiling: 'bare',
  arms: {
    push: { serving: { ...serving, by: 'reader', settings: { readFrom: 'primary', maxStreams: 2000 } } },
    bare: {
      serving: { ...serving, by: 'bare', maxRate: 10 },
      note: 'a fastify process that writes the same bytes to the same number of clients, one write of the socket for each event'
    },
    centrifugo: {
      serving: { ...serving, by: 'centrifugo', maxRate: 10 },
      note: 'Centrifugo 6 with the same Valkey as its broker: unidirectional SSE, messages published through its HTTP API; left out ' +
        'unless `centrifugo` is on PATH'
    }
  },
  labels: { push: 'our reader', bare: 'bare event stream', centrifugo: 'Centrifugo' },
  levels: {
    '500 clients': { settings: {}, serving: { connections: 500 } },
    '1,500 clients': { settings: {}, serving: { connections: 1500 } }
  },
  chart: {
    about: { arm: 'centrifugo', against: 'push', level: '1,500 clients', says: 'With 1,500 clients Centrifugo costs {} of a reader' }
  },
  fixed: {
    layout: 'segments', ids: 20, rate: 200, pace: 'burst', periodMs: 1000, chunks: 10, valueBytes: 96, windowMs: 60_000, maxItems: 0
  },
  seconds: 7.5,
  warmUpSeconds: 2.5,
  rounds: 5,
  measures: ['servingCpuMicrosPerEvent', 'deliveryMsP50', 'deliveryMsP99', 'eventsPerSecond', 'deliveredPercent', 'bytesPerEvent',
    'servingCpuPercent', 'servingMemoryBytes', 'clientLoopPercent', 'primaryCpuPercent'],
  differs: [
    'push stores what it pushes: a writer appends each burst of 20 items to a feed, and the reader follows it; in the other arms the ' +
      'same writer runs, but its items are not sent',
    'the delay of push counts from the time when an item is due, before the writer batches it; that of centrifugo from just before the ' +
      'request that publishes it; that of bare from just before it is written',
    'clients of push get the newest version of each item, a position to resume from, and a snapshot; those of centrifugo get messages ' +
      'without history'
  ],
  expected: [
    { arm: 'bare', against: 'push', direction: 'less' },
    { arm: 'centrifugo', against: 'push', direction: 'less' }
  ],
  budgets: [
    { measure: 'servingCpuMicrosPerEvent', arm: 'push', against: 'centrifugo', most: 1.25 },
    { measure: 'servingCpuMicrosPerEvent', arm: 'push', against: 'bare', most: 1.2 },
    { measure: 'deliveryMsP50', arm: 'push', against: 'centrifugo', most: 1.5 },
    { measure: 'deliveryMsP99', arm: 'push', against: 'centrifugo', most: 1 }
  ],
  notControlled: [
    'what serves, the clients, the writer and three servers share two cores: the longest delays are waits for a processor',
    'the clients are one process on the same machine, and all of them read at once',
    'the processor time of Centrifugo is read from /proc in steps of 10 ms'
  ]
}
