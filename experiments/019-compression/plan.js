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
  labels: {
    plain: 'plain segments',
    brotli: 'Brotli',
    blob: 'bare bytes'
  },
  chart: {
    about: {
      arm: 'brotli',
      against: 'plain',
      level: '200 k items/s, full batches',
      says: 'Brotli sends {} of the bytes of plain segments'
    },
    levels: ['200 k items/s, full batches']
  },
  levels: {
    '10 k items/s, batches of 5 ms': { settings: { rate: 10_000, batchMs: 5, ids: 20_000 } },
    '200 k items/s, full batches': { settings: { rate: 200_000, batchMs: 10 } }
  },
  fixed: { ids: 50_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 2,
  warmUpSeconds: 1.5,
  rounds: 5,
  measures: ['replicatedBytesPerItem', 'generatorCpuMicrosPerItem', 'primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem',
    'memoryBytesPerVersion', 'itemsPerSecond', 'behindMsP99'],
  differs: [
    'brotli compresses the items of a segment in the event loop of the writer, at its fastest level; the cost of decompression in a ' +
      'reader is not included',
    'blob has no ids and no order, and is not compressed'
  ],
  expected: [
    { arm: 'brotli', against: 'plain', direction: 'less' },
    { arm: 'blob', against: 'plain', direction: 'less' }
  ],
  notControlled: [
    'values differ only by a number; values.js measures the compression of usual ones',
    'all processes share two cores and no network: bytes only cost copying here'
  ]
}
