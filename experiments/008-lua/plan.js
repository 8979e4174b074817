/**
 * 008: see README.md. Batches hold 1,000 items in every arm. MSETEX is there from Valkey 9.1 on. Values of 126 bytes are those that the Lua
 * of Redis 6.2 hashes worst.
 */
export default {
  title: 'Lua or plain commands?',
  question: 'What does a batch cost as plain commands, as MSETEX, as a script, and as a script for each item?',
  baseline: 'pipelined-commands',
  ceiling: 'blob',
  arms: {
    'pipelined-commands': { load: 'pipelined-commands' },
    msetex: { load: 'msetex' },
    'script-per-batch': { load: 'script-per-batch' },
    'script-per-batch (126 bytes)': {
      load: 'script-per-batch',
      settings: { valueBytes: 126 },
      note: 'two bytes shorter: in Redis 6.2 the records of a batch then share two to four hashes in Lua'
    },
    'script-per-item': { load: 'script-per-item' },
    blob: { load: 'blob' }
  },
  labels: {
    'pipelined-commands': 'plain commands',
    msetex: 'MSETEX',
    'script-per-batch': 'a script per batch',
    'script-per-batch (126 bytes)': 'a script, 126 bytes each',
    'script-per-item': 'a script per item',
    blob: 'bare bytes'
  },
  chart: {
    about: { arm: 'script-per-batch', against: 'pipelined-commands', says: 'A script per batch costs {} of plain commands' }
  },
  levels: {
    'valkey 9.1': { engine: 'valkey 9.1', without: ['script-per-batch (126 bytes)'] },
    'redis 7.0': { engine: 'redis 7.0', without: ['msetex'] },
    'redis 6.2': { engine: 'redis 6.2', without: ['msetex'] }
  },
  fixed: { rate: 20_000, ids: 14_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 2.5,
  warmUpSeconds: 0.7,
  rounds: 5,
  measures: ['primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'primaryCpuPercent', 'scriptMicrosPerItem', 'commandsPerItem',
    'behindMsP99', 'itemsPerSecond', 'generatorCpuMicrosPerItem', 'netBytesPerItem', 'replicatedBytesPerItem'],
  differs: [
    'pipelined-commands is not atomic; script-per-item is atomic for each item, the others for each batch',
    'blob supports no query for an item or for the newest'
  ],
  expected: [
    { arm: 'script-per-batch', against: 'pipelined-commands', direction: 'more' },
    { arm: 'script-per-item', against: 'pipelined-commands', direction: 'more' },
    { arm: 'msetex', against: 'pipelined-commands', direction: 'less' },
    { arm: 'script-per-batch (126 bytes)', against: 'script-per-batch', direction: 'more', level: 'redis 6.2' },
    { arm: 'script-per-batch (126 bytes)', against: 'script-per-batch', direction: 'same', level: 'redis 7.0' },
    { arm: 'blob', against: 'pipelined-commands', direction: 'less' }
  ],
  notControlled: [
    'the published calls held up to 10,000 items, ours 1,000: longer calls cost more per item where Lua hashes badly',
    'the bytes of the published values are unknown, and so is how badly they were hashed',
    'primary, two replicas and the load share two cores',
    'how each engine was built: the published binaries were taken as they are'
  ]
}
