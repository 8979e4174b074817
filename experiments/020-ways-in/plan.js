/**
 * 020: see README.md. Every way in stores the same items in the same layout; `ack replica` promises more than the others. A
 * batch of the gateway's arms is what one request carries, and four requests are under way.
 */
export default {
  title: 'What do the ways in cost?',
  question: 'How many items a second of overwriting ids come in through the writer, the library and the gateway, and what does ack ' +
    'replica cost?',
  baseline: 'writer',
  ceiling: 'blob',
  arms: {
    writer: {},
    'ack replica': { settings: { ack: 'replica' }, note: 'a batch is acknowledged when one replica has it' },
    library: { load: 'library', note: 'openFeed in a process of its own, without the writer around it' },
    'gateway (1000 a request)': { load: 'gateway', settings: { batchItems: 1000 } },
    'gateway (100 a request)': { load: 'gateway', settings: { batchItems: 100 } },
    blob: { load: 'blob' }
  },
  labels: {
    writer: 'the writer command',
    'ack replica': 'waiting for a replica',
    'gateway (1000 a request)': 'HTTP, 1,000 a request',
    'gateway (100 a request)': 'HTTP, 100 a request',
    blob: 'bare bytes'
  },
  chart: {
    about: {
      arm: 'gateway (1000 a request)',
      against: 'writer',
      level: 'as fast as it goes',
      says: 'The gateway accepts {} of the items of a writer'
    },
    levels: ['as fast as it goes']
  },
  levels: {
    '20 k items/s': { settings: { rate: 20_000 }, without: ['library', 'gateway (1000 a request)'] },
    'as fast as it goes': { settings: { rate: 0 } }
  },
  fixed: { layout: 'ids', late: 'overwrite', ids: 18_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 2,
  warmUpSeconds: 0.9,
  rounds: 5,
  measures: ['itemsPerSecond', 'flushMsP50', 'flushMsP99', 'primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem',
    'generatorCpuMicrosPerItem', 'commandsPerItem', 'behindMsP99'],
  differs: [
    'ack replica: each group of batches ends with a marker and WAIT, over four connections; the others count replies of the primary',
    'the gateway receives items as JSON over HTTP, and its CPU time counts with that of its client; the time of a request is from its ' +
      'first byte to its response',
    'items of one request share one time; those of the writer and the library have the time when they were due',
    'blob supports no query for an item or for the newest; its values are concatenated'
  ],
  expected: [
    { arm: 'ack replica', against: 'writer', level: 'as fast as it goes', direction: 'less' },
    { arm: 'ack replica', against: 'writer', level: '20 k items/s', direction: 'same' },
    { arm: 'library', against: 'writer', level: 'as fast as it goes', direction: 'same' },
    { arm: 'gateway (1000 a request)', against: 'writer', level: 'as fast as it goes', direction: 'less' },
    { arm: 'gateway (100 a request)', against: 'writer', level: 'as fast as it goes', direction: 'less' },
    { arm: 'blob', against: 'writer', level: 'as fast as it goes', direction: 'more' }
  ],
  notControlled: [
    'three servers, the gateway and its client share two cores, which limit the maximum rate',
    'there is no network between a writer, its servers and its replica: an acknowledgement by a replica takes one more round trip ' +
      'elsewhere (--rtt-ms)',
    'one client with four connections: many clients with small requests cost the gateway more'
  ]
}
