/** 012: see README.md. */
const arm = (/** @type {string} */ technique) => ({ contention: { technique } })
const level = (/** @type {number} */ rate) => ({ servers: 'cluster-one', engine: 'valkey 9.1', contention: { driver: 'cluster', rate } })

export default {
  title: 'What happens while slots move?',
  question: 'All 64 slots of a feed move to another primary under appends: what do writers and readers notice, at which rate?',
  baseline: 'one by one',
  ceiling: 'still',
  arms: {
    'one by one': arm('move-slots'),
    together: arm('move-together'),
    'key by key': arm('move-keys'),
    still: { ...arm('noop'), note: 'the same load, and no slot moves' }
  },
  labels: {
    'one by one': 'one at a time',
    together: 'all at once',
    'key by key': 'key by key',
    still: 'nothing moves'
  },
  chart: { about: { arm: 'one by one', level: '5 k writes/s', says: 'Slots that move one at a time stop delivery for {} ms' } },
  levels: { '5 k writes/s': level(1), '50 k writes/s': level(45_000) },
  fixed: { layout: 'stream', rate: 5000, ids: 500, partitions: 64, batchMs: 50, windowMs: 600_000, maxItems: 0 },
  seconds: 3,
  warmUpSeconds: 2,
  overheadSeconds: 12,
  rounds: 5,
  measures: ['deliveryPauseMs', 'writerPauseMs', 'writesPerSecondMoving', 'itemsPerSecondMoving', 'slotMs', 'slotsMoved', 'movesFailed',
    'redirects', 'batchesAgain'],
  differs: [
    'together moves all slots by one CLUSTER MIGRATESLOTS, one by one each by its own, key by key by MIGRATE with up to ' +
      '100 keys',
    'at both levels a feed of 5,000 items/s whose slots have 1,000 more keys each, to which 45,000 plain SETs/s go at 50 k writes/s; ' +
      'these are not sent again when a slot moves'
  ],
  expected: [
    { arm: 'together', against: 'one by one', direction: 'more', level: '50 k writes/s' },
    { arm: 'key by key', against: 'one by one', direction: 'less', level: '5 k writes/s' },
    { arm: 'still', against: 'one by one', direction: 'less' }
  ],
  budgets: [{ measure: 'deliveryPauseMs', arm: 'one by one', most: 1000, level: '5 k writes/s' }],
  notControlled: [
    'before they move, all slots of the feed are on one primary, so together moves slots with the whole rate',
    'six servers, the writer and the subscriber share two cores; rates are those of commands that write, one XADD per item and one SET ' +
      'per plain write',
    'a slot has a stream, which is one key, and 1,000 small keys: key by key it moves by 11 commands or more'
  ]
}
