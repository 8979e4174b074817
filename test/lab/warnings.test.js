/** What a reader is warned of before believing a figure. */
import t from 'tap'
import { analyse } from '../../lab/analysis/index.js'
import { lossy, planOf, resultOf } from './results.js'

/** @typedef {import('../../lab/run/sample.js').Sample} Sample */

const COSTS = { ids: 4.3, values: 2.6, reference: 6, blob: 0.2 }

t.test('warnings', async (t) => {
  const warned = (/** @type {Partial<Parameters<typeof resultOf>[0]>} */ options, top = {}) =>
    analyse({ ...resultOf({ costs: COSTS, ...options }), ...top }).warnings
  const ofArm = (/** @type {string} */ arm, /** @type {(sample: Sample) => object} */ change) =>
    ({ change: (/** @type {Sample} */ sample) => sample.arm === arm ? change(sample) : {} })

  await t.test('a run that went well has none', async (t) => t.same(warned({}), []))

  await t.test('a quick run is no result', async (t) => {
    t.same(warned({ quick: true, rounds: 1 }), ['a quick run only shows that everything works; its figures are not a result'])
  })

  await t.test('L7: generator-bound samples', async (t) => {
    t.same(warned(ofArm('blob', ({ round }) => ({ marks: round > 2 ? ['generator-bound'] : [] }))),
      ['the load was the limit, not the server, in samples of `blob` at 50 k items/s (3 of 5): their items per second and lateness are ' +
        'those of the load'])
  })

  await t.test('noisy samples', async (t) => {
    t.match(warned(ofArm('ids', () => ({ marks: ['noisy'] }))),
      [/^other programs used the processors in samples of `ids` at 50 k items\/s \(5 of 5\)$/])
    t.match(warned(ofArm('ids', () => ({ marks: ['stolen'] }))), [/^CPU time was stolen in samples of `ids` at 50 k items\/s \(5 of 5\)$/])
  })

  await t.test('what holds of every arm is reported once, and long lists end', async (t) => {
    t.same(warned({ change: () => ({ marks: ['noisy'] }) }),
      ['other programs used the processors in samples of every arm at every level (5 of 5)'])
    const levels = Object.fromEntries([1, 2, 3].map((x) => [`${x} k`, { settings: { rate: x * 1000 }, without: [] }]))
    const [many] = warned({ plan: planOf({ levels, published: null }), change: ({ arm }) => ({ marks: arm === 'blob' ? [] : ['noisy'] }) })
    t.match(many, /`ids` at 1 k \(5 of 5\), .*`values` at 2 k \(5 of 5\) and 6 more$/)
  })

  await t.test('a rate that was not reached', async (t) => {
    t.same(warned(ofArm('reference', ({ items }) => ({ items: items * 0.9 }))),
      ['the planned rate was not reached: `reference` at 50 k items/s (90 %)'])
  })

  await t.test('engines that differ among the samples of an arm', async (t) => {
    t.same(warned(ofArm('ids',
      ({ nodes, round }) => ({ nodes: nodes.map((node) => ({ ...node, engine: round === 1 ? 'redis 7.0.15' : node.engine })) }))),
    ['the samples of `ids` at 50 k items/s (redis 7.0.15, valkey 9.1.2) mix engines'])
  })

  await t.test('too few samples, and a run that has not ended', async (t) => {
    t.same(warned(ofArm('values', (sample) => sample.round < 3 ? lossy(sample) : {})),
      ['fewer than 5 valid samples: `values` at 50 k items/s (3); their intervals are wide or missing'])
    t.same(warned({}, { finishedAt: null, settings: { measurements: 40 } }), ['the run is unfinished: 25 of 40 measurements'])
  })

  await t.test('no A/A pair', async (t) => {
    const result = resultOf({ costs: COSTS })
    const { warnings, noise, comparisons } = analyse({ ...result, samples: result.samples.filter(({ arm }) => arm !== 'ids (A/A)') })
    t.match(warnings, [/^the A\/A pair is missing at a level/])
    t.same(noise, [])
    t.same(comparisons.map(({ withinNoise }) => withinNoise), [null, null, null])
  })
})
