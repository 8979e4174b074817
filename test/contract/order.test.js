/**
 * Every layout answers as the naive model does, whatever is appended in whatever order.
 */
import t from 'tap'
import fc from 'fast-check'
import { anySeq, holds } from '../properties.js'
import { createModel, expectSame, shown } from './model.js'
import { UNLIMITED, item, overAllArms } from './partition.js'

const IDS = ['a', 'b', 'ab', 'é', 'bus/7', '{x}', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']
const NOW = 1_750_000_000_000

const anyVersion = fc.record({
  id: fc.constantFrom(...IDS).map((id) => Buffer.from(id)),
  ts: fc.oneof(fc.constantFrom(NOW, NOW - 1, NOW - 100), fc.integer({ min: NOW - 300, max: NOW })),
  seq: fc.oneof(fc.constant(0), anySeq),
  value: fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
  deleted: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) })
})

const anyHistory = fc.record({
  late: fc.constantFrom(/** @type {const} */ ('overwrite'), /** @type {const} */ ('newest')),
  ttlMs: fc.constantFrom(0, 60_000),
  retention: fc.record({ windowMs: fc.constantFrom(0, 50, 200, 1000), maxItems: fc.constantFrom(0, 1, 5, 12, 100) }),
  steps: fc.array(fc.record({
    batch: fc.array(anyVersion, { minLength: 1, maxLength: 30 }),
    passMs: fc.constantFrom(0, 0, 20, 150),
    trims: fc.boolean(),
    limit: fc.integer({ min: 1, max: 20 }),
    sinceMs: fc.option(fc.integer({ min: NOW - 300, max: NOW + 1 }))
  }), { minLength: 1, maxLength: 5 })
})

await overAllArms(t, async (t, { guarantees, open, runs }) => {
  await t.test('answers what the model answers, through batches, passing time and trimming', (t) =>
    holds(t, fc.asyncProperty(anyHistory, async ({ late, ttlMs, retention, steps }) => {
      const partition = open({ late, ttlMs })
      const model = createModel(late, guarantees)
      let nowMs = NOW
      for (const { batch, passMs, trims, limit, sinceMs } of steps) {
        const answer = await partition.append(batch)
        expectSame('late', answer.late, model.append(batch))
        nowMs += passMs
        const now = { retention, nowMs }
        if (trims) {
          const pieces = await partition.trimAll(now)
          const removed = model.trim(now)
          if (removed !== null) expectSame('trimmed', pieces.reduce((sum, piece) => sum + piece, 0), removed)
        }
        await compareAnswers(partition, model, { ...now, limit, sinceMs })
      }
    }), { runs: runs(60) }))

  await t.test('an empty feed has no items and no next page', async (t) => {
    const partition = open()
    for (const rest of [{}, { after: item('a', 1), sinceMs: 5 }]) {
      const { items, next } = await partition.latest({ ...UNLIMITED, limit: 10, ...rest })
      t.same({ items, next }, { items: [], next: null })
    }
    t.same(await partition.get([Buffer.from('a')], UNLIMITED), [null])
    t.same(await partition.get([], UNLIMITED), [])
    t.same(await partition.count(UNLIMITED), { count: 0, exact: guarantees.withoutView.count === 'exact' })
    t.same(await partition.trim(UNLIMITED), { removed: 0, more: false })
    await partition.extend(1000)
  })

  await t.test('since is inclusive, and holds over pages', async (t) => {
    const partition = open()
    await partition.append([item('a', 10), item('b', 11), item('c', 11, 1), item('d', 12)])
    const ids = async (/** @type {number} */ sinceMs, limit = 100) =>
      (await partition.scan({ ...UNLIMITED, sinceMs, limit })).map(({ id }) => String(id)).join('')
    t.equal(await ids(11), 'dcb')
    t.equal(await ids(11, 1), 'dcb')
    t.equal(await ids(12), 'd')
    t.equal(await ids(13), '')
    t.equal(await ids(0, 3), 'dcba')
  })

  await t.test('ids are answered in the order of the question, absent and repeated ones too', async (t) => {
    const partition = open()
    await partition.append([item('a', 1), item('b', 2)])
    const found = await partition.get(['b', 'nobody', 'a', 'b'].map((id) => Buffer.from(id)), UNLIMITED)
    t.same(found.map((one) => one && shown(one)), [shown(item('b', 2)), null, shown(item('a', 1)), shown(item('b', 2))])
  })
})

/** @param {import('./partition.js').Partition} partition @param {ReturnType<typeof createModel>} model @param {any} question */
async function compareAnswers (partition, model, { limit, sinceMs, ...now }) {
  const ids = IDS.map((id) => Buffer.from(id))
  expectSame('page', (await partition.latest({ ...now, limit, sinceMs })).items.map(shown),
    model.latest({ ...now, limit, sinceMs }).map(shown))
  expectSame('all pages', (await partition.scan({ ...now, limit, sinceMs })).map(shown),
    model.latest({ ...now, limit: Infinity, sinceMs }).map(shown))
  expectSame('by id', (await partition.get(ids, now)).map((one) => one && shown(one)), model.get(ids, now).map((one) => one && shown(one)))
  expectSame('count', await partition.count(now), model.count(now))
}
