/**
 * What a run changes in a plan.
 */
import t from 'tap'
import { enginesOf, programsOf, withoutEngines } from '../../lab/plan/plan-changes.js'
import { planOf } from './results.js'

const byArm = planOf({
  baseline: 'valkey',
  arms: /** @type {any} */ ({
    valkey: { engine: 'valkey 9.1' }, redis: { engine: 'redis 6.2' }, blob: { load: 'blob', engine: 'valkey 9.1' }
  }),
  levels: /** @type {any} */ ({ ids: {}, values: { without: ['redis'] } }),
  expected: [{ arm: 'redis', against: 'valkey', direction: 'more' }],
  published: {
    source: 's',
    conditions: 'c',
    unit: 'u',
    figures: [{ label: 'elsewhere', value: 1 }, { label: 'there', arm: 'redis', value: 2 }],
    ratios: [{ arm: 'redis', against: 'valkey', value: 2, label: 'r' }]
  }
})

t.test('a plan says which engines it asks for', async (t) => {
  t.same(enginesOf(byArm), ['valkey 9.1', 'redis 6.2'])
  t.same(enginesOf(planOf()), [])
  t.equal(withoutEngines(byArm, []), byArm)
})

t.test('arms of an absent engine go, with what is reported of them', async (t) => {
  const left = withoutEngines(byArm, ['redis 6.2'])
  t.same(Object.keys(left.arms), ['valkey', 'blob'])
  t.same(left.levels.values.without, [])
  t.same(left.expected, [])
  t.same(left.published?.figures, [{ label: 'elsewhere', value: 1 }])
  t.same(left.published?.ratios, [])
})

t.test('arms of an absent program go', async (t) => {
  const arms = { reader: { serving: { by: 'reader' } }, bare: { serving: { by: 'bare' } }, peer: { serving: { by: 'centrifugo' } } }
  const plan = planOf({ baseline: 'reader', ceiling: 'bare', arms: /** @type {any} */ (arms) })
  t.same(Object.keys(withoutEngines(plan, ['centrifugo']).arms), ['reader', 'bare'])
  const techniques = ['db-lock', 'mariadb-lock', 'redis-row', 'queue-timer-kafka', 'noop']
  const sales = Object.fromEntries(techniques.map((technique) => [technique, { contention: { technique } }]))
  const selling = planOf({ baseline: 'db-lock', ceiling: 'noop', arms: /** @type {any} */ (sales) })
  t.same([programsOf(plan), programsOf(selling)], [['centrifugo'], ['mariadbd', 'java']])
  t.same(Object.keys(withoutEngines(selling, ['mariadbd', 'java']).arms), ['db-lock', 'noop'])
})

t.test('levels of an absent engine go', async (t) => {
  const plan = planOf({ levels: /** @type {any} */ ({ a: { engine: 'valkey' }, b: { engine: 'redis' } }) })
  t.same(Object.keys(withoutEngines(plan, ['redis']).levels), ['a'])
  t.throws(() => withoutEngines(plan, ['redis', 'valkey']), { code: 'ENGINE_MISSING' })
})

t.test('without the engine of its baseline or ceiling nothing can be compared', async (t) => {
  t.throws(() => withoutEngines(byArm, ['valkey 9.1']),
    { code: 'ENGINE_MISSING', message: /cannot be measured without valkey 9\.1; install it, or name its program with --engine/ })
})
