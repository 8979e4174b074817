/** 032: see README.md. */
const arm = (/** @type {string} */ servers, /** @type {string} */ technique) => ({ servers, contention: { technique } })

export default {
  title: 'How long does a failover stop a feed?',
  question: 'A primary is killed or replaced, in a cluster and with Sentinels: how long do writers and readers wait, and what is lost?',
  baseline: 'cluster killed',
  ceiling: 'undisturbed',
  arms: {
    'cluster killed': arm('cluster', 'kill'),
    'cluster planned': arm('cluster', 'planned'),
    'sentinels killed': arm('sentinels', 'kill'),
    'sentinels planned': arm('sentinels', 'planned'),
    undisturbed: { ...arm('cluster', 'noop'), note: 'the same load on a cluster in which nothing happens' }
  },
  labels: {
    'cluster killed': 'Cluster, killed',
    'cluster planned': 'Cluster, planned',
    'sentinels killed': 'Sentinels, killed',
    'sentinels planned': 'Sentinels, planned',
    undisturbed: 'undisturbed'
  },
  chart: { about: { arm: 'cluster killed', level: 'ack primary', says: 'A killed primary of a cluster stops a feed for {} ms' } },
  levels: {
    'ack primary': { settings: { ack: 'primary' }, contention: { driver: 'cluster' } },
    'ack replica': { settings: { ack: 'replica' }, contention: { driver: 'cluster' } }
  },
  fixed: { layout: 'ids', ids: 500, rate: 2000, partitions: 1, windowMs: 600_000, maxItems: 0 },
  seconds: 2,
  warmUpSeconds: 0.5,
  overheadSeconds: 9,
  rounds: 5,
  measures: ['deliveryPauseMs', 'writerPauseMs', 'recoveryMs', 'clientAddsMs', 'wholeMs', 'itemsLost', 'batchesAgain'],
  differs: [
    'a node of the cluster counts as down after 2 s without an answer, a primary with Sentinels after 1 s',
    'with ack replica, writers go on when the new primary has a replica again'
  ],
  expected: [
    { arm: 'cluster planned', against: 'cluster killed', direction: 'less' },
    { arm: 'sentinels killed', against: 'cluster killed', direction: 'less' },
    { arm: 'sentinels planned', against: 'sentinels killed', direction: 'less' },
    { arm: 'undisturbed', against: 'cluster planned', direction: 'less' }
  ],
  budgets: [
    { measure: 'clientAddsMs', arm: 'cluster killed', most: 1000, level: 'ack primary' },
    { measure: 'clientAddsMs', arm: 'sentinels killed', most: 1000, level: 'ack primary' },
    { measure: 'deliveryPauseMs', arm: 'cluster planned', most: 1000, level: 'ack primary' },
    { measure: 'deliveryPauseMs', arm: 'sentinels planned', most: 1000, level: 'ack primary' },
    { measure: 'itemsLost', arm: 'cluster killed', most: 0, level: 'ack replica' },
    { measure: 'itemsLost', arm: 'sentinels killed', most: 0, level: 'ack replica' }
  ],
  notControlled: [
    'all servers, the writer and the subscriber share two cores, and a node that starts again takes some of them',
    'a process is killed, not its machine: its connections are reset at once'
  ]
}
