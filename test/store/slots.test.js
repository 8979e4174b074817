import t from 'tap'
import { admissionKey } from '../../src/admission/index.js'
import { SLOTS, slotOf, spreadTag } from '../../src/store/slots.js'

const tagsOf = (/** @type {string} */ name, /** @type {number} */ partitions) =>
  Array.from({ length: partitions }, (_, partition) => spreadTag(name, partition, partitions))

t.test('slots are those of the servers', async (t) => {
  // CRC16 of the specification, and CLUSTER KEYSLOT
  t.equal(slotOf('123456789'), 0x31c3)
  t.equal(slotOf('fr:{user1000}:following'), slotOf('user1000'))
  t.equal(slotOf('user1000'), 3443)
  t.equal(slotOf('fr:{}:x'), slotOf(Buffer.from('fr:{}:x')), 'an empty tag is none')
  t.not(slotOf('fr:{}:x'), slotOf(''))
})

t.test('tags of stored feeds and systems never change', async (t) => {
  t.same(tagsOf('latest', 3), ['latest:0.0', 'latest:1.1', 'latest:2.1'])
  t.same(tagsOf('latest', 6), ['latest:0.0', 'latest:1.2', 'latest:2.3', 'latest:3.11', 'latest:4.3', 'latest:5.1'])
  t.same(tagsOf('@orders', 4), ['@orders:0.1', '@orders:1.3', '@orders:2.1', '@orders:3.3'])
})

t.test('16 partitions of a system are on all of three primaries', async (t) => {
  const keys = Array.from({ length: 16 }, (_, partition) => admissionKey('fr:', 'orders', partition, 16)('outbox'))
  t.same(keys.slice(0, 4), ['0.1', '1.2', '2.63', '3.60'].map((tag) => `fr:{@orders:${tag}}:outbox`))
  t.same([0, 1, 2].map((primary) => keys.filter((key) => Math.floor(slotOf(key) * 3 / SLOTS) === primary).length), [6, 5, 5])
})

t.test('partitions spread evenly over any number of primaries', async (t) => {
  for (const name of ['latest', 'ticks', 'a.b-c_9', 'positions']) {
    for (const partitions of [2, 3, 6, 10, 64]) {
      const tags = tagsOf(name, partitions)
      tags.forEach((tag, p) => t.equal(Math.floor(slotOf(tag) * partitions / SLOTS), p, tag))
      for (const primaries of [2, 3, 5]) {
        const counts = new Array(primaries).fill(0)
        for (const tag of tags) counts[Math.floor(slotOf(`fr:{${tag}}:ids`) * primaries / SLOTS)]++
        t.ok(Math.max(...counts) <= Math.ceil(partitions / primaries) + 1, `${name}: ${partitions} partitions over ${counts.join('/')}`)
      }
    }
  }
})
