/**
 * 019: see README.md. The values are the kindest there are to a compressor; values.js asks for usual ones.
 */
export default {
  title: 'Compressed segments?',
  question: 'What does it cost to compress segments, and what does it save?',
  baseline: 'plain',
  ceiling: 'blob',
  arms: {
    plain: { load: 'segments-plain' },
    deflate: { load: 'segments-deflate' },
    brotli: { load: 'segments-brotli' },
    blob: { load: 'blob' }
  },
  levels: {
    '50 k items/s': { settings: { rate: 50_000 }, x: 50_000 },
    '200 k items/s': { settings: { rate: 200_000 }, x: 200_000 }
  },
  fixed: { ids: 50_000, valueBytes: 128, batchItems: 1000, windowMs: 60_000, maxItems: 0 },
  seconds: 2,
  warmUpSeconds: 1.5,
  rounds: 5,
  measures: ['replicatedBytesPerItem', 'generatorCpuMicrosPerItem', 'primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'memoryBytesPerVersion', 'itemsPerSecond', 'behindMsP99'],
  differs: [
    'deflate and brotli compress the items of a segment in the loop of the writer, at their quickest; what a reader pays to undo it is not in these figures',
    'blob has no ids and no places, and is compressed by nobody'
  ],
  expected: [
    { arm: 'deflate', against: 'plain', direction: 'less' },
    { arm: 'brotli', against: 'plain', direction: 'less' },
    { arm: 'blob', against: 'plain', direction: 'less' }
  ],
  notControlled: [
    'values are alike but for a number: what is left of usual ones is told by values.js',
    'all processes share two cores and no network: bytes cost copying here, and nothing else'
  ]
}
