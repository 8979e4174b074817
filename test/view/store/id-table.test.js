/**
 * From ids to records: the table, and the hash that leads into it.
 */
import t from 'tap'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { idHash, IdTable } from '../../../src/view/store/id-table.js'
import { holds } from '../../properties.js'

/** Ids are the decimal text of their record number. */
const items = /** @type {any} */ ({
  isId: (/** @type {number} */ record, /** @type {Buffer} */ bytes, /** @type {number} */ at, /** @type {number} */ end) =>
    String(record) === bytes.toString('latin1', at, end)
})

/** @param {IdTable} table @param {number} hash @param {number} record */
const isFound = (table, hash, record) => {
  const id = Buffer.from(String(record))
  return table.find(hash, id, 0, id.length) === record
}

/** worst cases of a hash: only a few upper or lower bits differ, or none */
const anyHash = fc.constantFrom(
  (/** @type {number} */ record) => Math.imul(record, 0x9e3779b1),
  (/** @type {number} */ record) => record % 3,
  (/** @type {number} */ record) => record << 29,
  () => 7
)

t.test('added ids are found and removed ones are not, whatever the hash', async (t) => {
  const anyRun = fc.record({ hash: anyHash, count: fc.integer({ min: 1, max: 2000 }), step: fc.integer({ min: 1, max: 7 }) })
  await holds(t, fc.property(anyRun, ({ hash, count, step }) => {
    const table = new IdTable(items)
    const records = hash(0) === hash(3) ? Math.min(count, 300) : count
    for (let record = 0; record < records; record++) table.add(hash(record), record)
    for (let record = 0; record < records; record += step) table.remove(hash(record), record)
    for (let record = 0; record < records; record++) if (isFound(table, hash(record), record) === (record % step === 0)) return false
    return true
  }), { runs: 40 })
})

t.test('a table of 200,000 ids grows in parts and shrinks again', async (t) => {
  const table = new IdTable(items)
  const hash = (/** @type {number} */ record) => Math.imul(record + 1, 0x9e3779b1)
  const count = 200_000
  for (let record = 0; record < count; record++) table.add(hash(record), record)
  t.ok(table.bytes >= count * 12 && table.bytes <= count * 24, `${table.bytes} bytes`)
  let found = 0
  for (let record = 0; record < count; record += 7) found += isFound(table, hash(record), record) ? 1 : 0
  t.equal(found, Math.ceil(count / 7))
  for (let record = 10; record < count; record++) table.remove(hash(record), record)
  t.ok(table.bytes < 100_000, `${table.bytes} bytes`)
  for (let record = 0; record < 10; record++) t.ok(isFound(table, hash(record), record))
})

t.test('equal hashes do not make the directory grow', async (t) => {
  const table = new IdTable(items)
  const count = 6000
  for (let record = 0; record < count; record++) table.add(-1, record)
  t.ok(table.bytes < count * 32, `${table.bytes} bytes`)
  t.ok(isFound(table, -1, count - 1))
})

t.test('similar ids have very different hashes', async (t) => {
  const hashes = new Set()
  let ones = 0
  for (let i = 0; i < 100_000; i++) {
    const id = Buffer.from(`item-${i}`)
    const hash = idHash(id, 0, id.length)
    hashes.add(hash)
    for (let bit = 0; bit < 32; bit++) ones += hash >>> bit & 1
  }
  // chance lets about one pair of them meet
  t.ok(hashes.size > 99_950, `${hashes.size} hashes`)
  t.ok(Math.abs(ones / 3_200_000 - 0.5) < 0.01, `${ones} ones`)
  const id = Buffer.from('..abc..')
  t.equal(idHash(id, 2, 5), idHash(Buffer.from('abc'), 0, 3))
  t.not(idHash(id, 2, 5), idHash(Buffer.from('abc\0'), 0, 4))
})

t.test('each process hashes with its own key', async (t) => {
  const file = fileURLToPath(new URL('../../../src/view/store/id-table.js', import.meta.url))
  const program =
    `import { idHash } from ${JSON.stringify(file)}\nconsole.log(idHash(Buffer.from('item-1'), 0, 6), idHash(Buffer.from('item-2'), 0, 6))`
  const run = async () => (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])).stdout
  const [a, b] = await Promise.all([run(), run()])
  t.match(a, /^-?\d+ -?\d+\n$/)
  t.not(a, b)
})
