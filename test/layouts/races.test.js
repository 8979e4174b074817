/**
 * Two writers append versions of the same few ids, in any interleaving of their requests: the newest of each id is stored, and each
 * score has its value. On a server in memory, then on real ones.
 */
import t from 'tap'
import fc from 'fast-check'
import { onlyKey } from '../../src/feeds/keys.js'
import { layoutOf } from '../../src/layouts/index.js'
import { readScript } from '../../src/store/scripts.js'
import { connectFor, engineName } from '../servers.js'
import { nightly, scoped, scopedEngines } from '../scope.js'
import { sharedDeployment } from '../shared.js'
import { holds } from '../properties.js'
import { fakePartition } from './fake-partition.js'
import { faultsOf, orderOf, storedIn } from './stored.js'

const ids = layoutOf('ids')
const START = 1_750_000_000_000
const IDS = 4

/** A step forward is in order; a step back is late. */
const anyItem = fc.record({
  id: fc.integer({ min: 0, max: IDS - 1 }),
  step: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 3 }) }, { weight: 1, arbitrary: fc.integer({ min: -9, max: 0 }) }),
  deleted: fc.integer({ min: 0, max: 25 }).map((n) => n === 0)
})
const anyWriter = fc.array(fc.array(anyItem, { minLength: 1, maxLength: 3 }), { minLength: 6, maxLength: 14 })
const anyWriters = fc.tuple(anyWriter, anyWriter)

/** @typedef {typeof anyWriters extends fc.Arbitrary<infer W> ? W : never} Writers */
/** @typedef {{ id: string, order: number, value: string, deleted: boolean }} Version */

/**
 * @param {Writers} writers @param {any[]} connections one each @param {Parameters<typeof ids.createBatch>[0]} how
 * @returns {Promise<{ newest: Map<string, Version>, forms: Set<string> }>}
 */
async function run (writers, connections, how) {
  /** @type {Map<string, Version>} */
  const newest = new Map()
  const forms = new Set()
  await Promise.all(writers.map(async (batches, writer) => {
    const batch = ids.createBatch(how)
    let ts = START
    // of one writer they are never equal, and of two writers neither
    let seq = writer
    for (const items of batches) {
      batch.reset()
      for (const { id, step, deleted } of items) {
        ts += step
        seq += 2
        const name = `id-${id}`
        const version = { id: name, order: ts + seq / 4096, value: `${writer} ${seq}`, deleted }
        if (deleted) batch.remove(Buffer.from(name), ts, seq)
        else batch.add(Buffer.from(name), ts, seq, Buffer.from(version.value))
        if (!(Number(newest.get(name)?.order) > version.order)) newest.set(name, version)
      }
      forms.add((await ids.append(connections[writer], batch)).form)
    }
  }))
  return { newest, forms }
}

/** @param {Map<string, Version>} newest */
const valuesOf = (newest) => Object.fromEntries(
  [...newest.values()].filter(({ deleted }) => !deleted).map(({ id, value }) => [id, value]).sort())

/** @param {unknown} found @param {unknown} wanted */
function expectSame (found, wanted) {
  const [left, right] = [found, wanted].map((one) => JSON.stringify(one))
  if (left !== right) throw new Error(`found ${left}, wanted ${right}`)
}

/** Requests wait for up to seven turns of the microtask queue. @param {number} seed */
function delays (seed) {
  let state = seed
  return async () => {
    state = Math.imul(state, 48_271) % 2_147_483_647
    for (let turns = (state >>> 8) % 8; turns > 0; turns--) await null
  }
}

t.test('in every interleaving', async (t) => {
  const forms = new Set()
  const key = onlyKey('fr:', 'races')
  const dialect = { msetex: true, mayWatch: true, sha: (/** @type {string} */ name) => name }
  await holds(t, fc.asyncProperty(fc.integer({ min: 1 }), anyWriters, async (seed, writers) => {
    const { state, connect } = fakePartition(delays(seed))
    const found = await run(writers, [connect(), connect()], { key, ttlMs: 60_000, late: 'newest', dialect })
    for (const form of found.forms) forms.add(form)
    expectSame(faultsOf(state.ids, (id) => state.records.get(id)), [])
    const values = Object.fromEntries([...state.ids.keys()].sort().map((id) => [id, state.records.get(id)?.slice(8)]))
    expectSame(values, valuesOf(found.newest))
    for (const [id, { order }] of found.newest) expectSame(orderOf(state.records.get(id) ?? ''), order)
  }), { runs: nightly(10_000, scoped(1000, 600)), timeLimitMs: 120_000 })
  t.same([...forms].sort(), ['script', 'watched'])
})

for (const engine of await scopedEngines()) {
  t.test(`on ${engineName(engine)}`, async (t) => {
    const { primary, keyPrefix } = await sharedDeployment(t, { engine })
    const connect = () => connectFor(t, primary.url)
    const [reader, ...connections] = await Promise.all([connect(), connect(), connect()])
    for (const name of ['append-newest', 'mend-scores']) await reader.send('SCRIPT', 'LOAD', readScript(name).body)
    const dialect = { msetex: engine.hasMsetex, mayWatch: true, sha: (/** @type {string} */ name) => readScript(name).sha }
    const forms = new Set()
    let feeds = 0
    await holds(t, fc.asyncProperty(anyWriters, async (writers) => {
      const key = onlyKey(keyPrefix, `race-${++feeds}`)
      const found = await run(writers, connections, { key, ttlMs: 60_000, late: 'newest', dialect })
      for (const form of found.forms) forms.add(form)
      const { values, faults } = await storedIn(reader, key)
      expectSame(faults, [])
      expectSame(Object.fromEntries(Object.entries(values).sort()), valuesOf(found.newest))
    }), { runs: nightly(300, 60), timeLimitMs: 60_000 })
    // a server that answers late, as on a busy machine, gets no watched batches
    t.comment(`forms: ${[...forms].sort().join(', ')}`)
  })
}
