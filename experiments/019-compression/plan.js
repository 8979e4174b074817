/**
 * 019: see README.md. The values are the kindest there are to a compressor; values.js asks for usual ones.
 */
export default {
  title: 'Compressed segments?',
  question: 'What does it cost to compress segments, and what does it save?',
  baseline: 'plain',
  ceiling: 'blob',
  arms: {
    plain: { settings: { layout: 'segments' } },
    brotli: { settings: { layout: 'segments', compress: 'brotli' } },
    blob: { load: 'blob' }
  },
  levels: {
    '10 k items/s, batches of 5 ms': { settings: { rate: 10_000, batchMs: 5, ids: 20_000 } },
    '200 k items/s, full batches': { settings: { rate: 200_000, batchMs: 10 } }
  },
  fixed: { ids: 50_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 2,
  warmUpSeconds: 1.5,
  rounds: 5,
  measures: ['replicatedBytesPerItem', 'generatorCpuMicrosPerItem', 'primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'memoryBytesPerVersion', 'itemsPerSecond', 'behindMsP99'],
  differs: [
    'brotli compresses the items of a segment in the loop of the writer, at its quickest; what a reader pays to undo it is not in these figures',
    'blob has no ids and no places, and is compressed by nobody'
  ],
  expected: [
    { arm: 'brotli', against: 'plain', direction: 'less' },
    { arm: 'blob', against: 'plain', direction: 'less' }
  ],
  notControlled: [
    'values are alike but for a number: what is left of usual ones is told by values.js',
    'all processes share two cores and no network: bytes cost copying here, and nothing else'
  ]
}
