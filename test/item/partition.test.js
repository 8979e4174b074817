import t from 'tap'
import fc from 'fast-check'
import { partitionOf, bucketOf } from '../../src/item/id.js'
import { anyId, holds } from '../properties.js'

t.test('the hash is FNV-1a of 32 bits, as published', async (t) => {
  const vectors = { '': 0x811c9dc5, a: 0xe40c292c, foobar: 0xbf9cf968 }
  for (const [text, hash] of Object.entries(vectors)) {
    for (const partitions of [3, 16, 1024]) t.equal(partitionOf(Buffer.from(text), partitions), hash % partitions)
  }
})

t.test('every id has one partition below their number', (t) => holds(t, fc.property(anyId, fc.integer({ min: 1, max: 1024 }), (id,
  partitions) => {
  const partition = partitionOf(id, partitions)
  return Number.isInteger(partition) && partition >= 0 && partition < partitions && partition === partitionOf(Buffer.from(id), partitions)
})))

t.test('ids spread evenly', async (t) => {
  const counts = new Array(8).fill(0)
  for (let i = 0; i < 8000; i++) counts[partitionOf(Buffer.from(`id-${i}`), 8)]++
  t.ok(counts.every((count) => count > 800 && count < 1200), counts.join(' '))
})

t.test('a slot is one of the partition, on a lane that the id keeps',
  (t) => holds(t, fc.property(anyId, fc.integer({ min: 1, max: 64 }), fc.integer({ min: 1, max: 8 }), (id, partitions, stripes) => {
    const bucket = bucketOf(id, partitions, stripes)
    return bucket % partitions === partitionOf(id, partitions) && bucket >= 0 && bucket < partitions * stripes &&
    bucket === bucketOf(Buffer.from(id), partitions, stripes)
  })))
