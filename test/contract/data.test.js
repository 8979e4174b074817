/**
 * Ids and values are plain data; times are exact; batches may be full; sorted sets have the encoding of the layout.
 */
import t from 'tap'
import fc from 'fast-check'
import { scoreOf } from '../../src/item/order.js'
import { anyId, anySeq, anyTs, holds } from '../properties.js'
import { nightly } from '../scope.js'
import { shown } from './model.js'
import { UNLIMITED, gone, item, overAllArms } from './partition.js'

const NOW = 1_750_000_000_000
const IDS = [
  ' ', '.', '..', '/', 'a/b', 'a//b/', '%2F', '%00', '{', '}', '{}', '{a}', '}:ids', 'ids', ':', '*', '?', '[a-z]', '\\', '"', '\'', '-0',
  '0', '00', '1e3', 'NaN', '-inf', '+inf', '(1',
  '__proto__', 'constructor', 'toString', 'null', 'undefined', '$5', '*3', 'é', 'e\u0301', 'поезд', '東京', 'قطار', 'ट्रेन', '🚆', '\u2028',
  '\uFFFF', '\uFEFF',
  'x'.repeat(127), 'x'.repeat(128), 'é'.repeat(64), '🚆'.repeat(32)
]

await overAllArms(t, async (t, { layout, guarantees, connection, open, fullTest, runs }) => {
  for (const late of /** @type {const} */ (['overwrite', 'newest'])) {
    await t.test(`ids are plain data, late: ${late}`, async (t) => {
      const partition = open({ late })
      const items = IDS.map((id, i) => item(id, NOW + i, i, `value of ${i}`))
      await partition.append(items)
      t.same((await partition.scan({ ...UNLIMITED, limit: 3 })).map(shown), items.toReversed().map(shown))
      const found = await partition.get(items.map(({ id }) => id), UNLIMITED)
      t.same(found.map((one) => one && shown(one)), items.map(shown))
      t.same(await partition.count(UNLIMITED), { count: IDS.length, exact: guarantees.withoutView.count === 'exact' })
      const three = { retention: { windowMs: 0, maxItems: 3 }, nowMs: NOW }
      const pieces = await partition.trimAll(three)
      t.equal((await partition.scan({ ...three, limit: 100 })).length, 3)
      if (guarantees.trims === 'entries') return
      t.same(pieces, [IDS.length - 3])
      t.equal((await partition.scan({ ...UNLIMITED, limit: 100 })).length, 3)
    })

    await t.test(`values of every size come back whole, late: ${late}`, async (t) => {
      const partition = open({ late })
      const sizes = [0, 1, 31, 32, 33, 1000, 65_536, 1024 * 1024]
      const items = sizes.map((size, i) => item(`id-${size}`, NOW - i, 0, Buffer.alloc(size, Buffer.from([0, 13, 10, 255, i]))))
      await partition.append(items)
      const found = await partition.scan({ ...UNLIMITED, limit: 100 })
      t.same(found.map(({ value }) => value.length), sizes)
      t.ok(found.every(({ value }, i) => value.equals(items[i].value)))
    })

    await fullTest(`a full batch of ${guarantees.maxBatchItems} items is one command, late: ${late}`, async (t) => {
      const partition = open({ late })
      const items = Array.from({ length: guarantees.maxBatchItems }, (_, i) => item(`id-${i}`, NOW + i, 0, String(i)))
      t.match(await partition.append(items), { late: 0 })
      const found = await partition.scan({ ...UNLIMITED, limit: 1000 })
      t.equal(found.length, guarantees.maxBatchItems)
      t.ok(found.every((one, i) => shown(one) === shown(items[items.length - 1 - i])))
      t.match(await partition.append(items.map(({ id, ts }) => gone(String(id), ts, 1))), { late: 0 }, 'and as many deletions')
      t.same(await partition.scan({ ...UNLIMITED, limit: 1000 }), [])
      t.match(await partition.append(items), late === 'newest' && guarantees.versions === 'one'
        ? { late: items.length, lateBytes: items.reduce((sum, { value }) => sum + value.length, 0) }
        : { late: 0 })
    })

    await t.test(`ts and seq are exact from 1970 to 2^41, late: ${late}`, async (t) => {
      const corners = [0, 1, 2, 2 ** 32, 2 ** 39 - 1, 2 ** 40 - 1, 2 ** 40, 2 ** 40 + 1, NOW, 2 ** 41 - 1]
        .flatMap((ts) => [0, 1, 2, 1365, 2047, 2048, 4094, 4095].map((seq) => item(`${ts}-${seq}`, ts, seq)))
      const partition = open({ late })
      await partition.append(corners)
      t.same((await partition.scan({ ...UNLIMITED, limit: 1 })).map(shown), corners.toReversed().map(shown))
    })
  }

  await t.test('any id at any time comes back as it was', (t) =>
    holds(t, fc.asyncProperty(fc.uniqueArray(fc.record({ id: anyId, ts: anyTs, seq: anySeq }),
      { selector: ({ id }) => id.toString('hex'), minLength: 1, maxLength: 60 }), async (places) => {
      const partition = open()
      const items = places.map((place, i) => ({ ...place, value: Buffer.from(String(i)) }))
      await partition.append(items)
      const found = await partition.get(items.map(({ id }) => id), UNLIMITED)
      const walked = await partition.scan({ ...UNLIMITED, limit: 7 })
      const wanted = items.map(shown)
      if (String(found.map((one) => one && shown(one))) !== String(wanted)) throw new Error('by id')
      if (String(walked.map(shown).sort()) !== String(wanted.sort())) throw new Error('pages')
    }), { runs: runs(40) }))

  await t.test('the server keeps keys in the encodings that the layout relies on', async (t) => {
    const partition = open()
    await partition.append(Array.from({ length: 1000 }, (_, i) => item(`id-${i}`, NOW + i)))
    for (const [part, encoding] of Object.entries(guarantees.encodings)) {
      t.equal(String(await connection.send('OBJECT', 'ENCODING', partition.key(part))), encoding, part)
    }
  })

  if (layout.log) return
  await t.test('a score on the server is ts + seq / 4096 to the last bit', async (t) => {
    // the last seq is one of them
    const step = nightly(1, 5)
    const items = [0, 1, 2 ** 40 - 1, 2 ** 40, NOW, 2 ** 41 - 1].flatMap((ts) =>
      Array.from({ length: 4095 / step + 1 }, (_, n) => item(`${ts}-${n * step}`, ts, n * step, '')))
    const partition = open()
    await partition.append(items)
    const flat = await connection.send('ZRANGE', partition.key(layout.name), 0, -1, 'WITHSCORES')
    t.equal(flat.length, items.length * 2)
    t.ok(items.every(({ id, ts, seq }, i) => id.equals(flat[2 * i].subarray(0, id.length)) && Number(flat[2 * i + 1]) === scoreOf(ts, seq)))
  })
})
