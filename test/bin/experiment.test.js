/** `npm run experiment` as a person uses it: what it lists, what it refuses, and a quick run. Others: regression/lab, regression/bin. */
import t from 'tap'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { resolve } from '../../settings.js'
import { layoutNames } from '../../src/layouts/index.js'
import { ackNames } from '../../src/pipeline/acks.js'
import { exampleOf } from '../docs/examples.js'
import { filesIn, labCheckout, lookWithLab, pathsIn, readJson, runLab, tinyPlan } from '../lab/lab-checkout.js'
import { nightTest, wholeTest } from '../scope.js'
import { endOfMain } from './in-process.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Nothing of it is run but the first plan, quick. */
const root = await labCheckout(t, {
  '901-tiny': tinyPlan({ levels: { slow: { settings: { rate: 1000 } } } }),
  '902-engines': tinyPlan({ arms: { ids: { engine: 'valkey' }, redis: { engine: 'redis 0.1' }, blob: { load: 'blob' } } }),
  '903-typo': tinyPlan({ arms: { ids: { settings: { layot: 'ids' } }, blob: { load: 'blob' } } })
})
/** The comparison that docs/measuring.md begins with: its words behind `npm run experiment --`. */
const [shown] = await exampleOf('docs/measuring.md', 'ad-hoc')
const COMPARISON = (shown.split(' -- ')[1].match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''))
/** What a run may not touch unless it is a plan's whole. */
const kept = async () => [...await filesIn(join(root, 'experiments')), ...await filesIn(join(root, 'charts'))]

t.test('list has number, question, arms and minutes of every experiment', async (t) => {
  const { code, stdout } = await endOfMain(['experiment', 'list'])
  t.equal(code, 0)
  const plans = await pathsIn(join(ROOT, 'experiments'), /plan\.js$/)
  t.ok(plans.length > 0)
  for (const file of plans) {
    const { default: plan } = await import(file)
    const [, number] = /(\d{3})-[^/]*\/plan\.js$/.exec(file) ?? []
    const from = stdout.indexOf(`${number}  ${plan.question}\n`)
    t.ok(from >= 0, `${number}: number and question`)
    const [, arms, minutes] = stdout.slice(from).split('\n')
    t.equal(arms.split(': ').slice(1).join(': '), Object.keys(plan.arms).join(' | '))
    t.match(minutes, /^ +about \d+ min; (not run yet|last run \d{4}-\d\d-\d\dT[\d-]+Z, charts\/)/)
  }
})

t.test('flags that do not go together are refused, before anything is looked at', async (t) => {
  const known = { command: 'experiment', layouts: layoutNames(), acks: ackNames(), positionals: 64 }
  for (const [args, words] of /** @type {[string[], RegExp][]} */ ([
    [['901', '--rounds', '0'], /rounds: 0 \(--rounds\); expected an integer from 1 to 100/],
    [['901', '--layout', 'ids'], /--layout is unknown/],
    [['901', '--a', '--layout ids'], /a: --layout ids \(--a\); expected only with ad-hoc/],
    [['901', '--engine', 'valkey', '--target', 'redis://127.0.0.1:1'], /engine: valkey \(--engine\); expected without --target/],
    [['901', '--replica-url', 'redis://127.0.0.1:1'], /replicaUrl: \(--replica-url\); expected only with --target/],
    [[...COMPARISON, 'values'], /unexpected argument "values"/],
    [['list', '901'], /unexpected argument "901"/],
    [['all', '901'], /unexpected argument "901"/]
  ])) t.throws(() => resolve(args, {}, known), { exitStatus: 2, message: words }, args.join(' '))
  t.doesNotThrow(() => resolve(['901'], { FRESHET_REPLICA_URL: 'redis://127.0.0.1:1' }, known),
    'what the environment says of other commands does no harm')
})

t.test('what cannot be run has one clear error, and exit status 2', async (t) => {
  for (const [args, words] of /** @type {[string[], RegExp][]} */ ([
    [['tinny'], /there is no experiment "tinny"; expected one of: 901-tiny/],
    [['901', '903'], /plan 903-typo: arms\.ids\.settings: layot is unknown; did you mean layout\?/],
    [['901', '--arms', 'ids,blbo'], /--arms: "blbo" is no arm of 901-tiny; did you mean blob\?/],
    [['902', '--target', 'redis://127.0.0.1:1'], /902-engines compares engines and needs its own servers; remove --target/],
    [['ad-hoc', '--a', '--layout ids'], /ad-hoc compares two settings; expected --a "--layout ids" --b "--layout values"/],
    [['ad-hoc', '--a', '--layot ids', '--b', '--layout values'], /--a: --layot is unknown; did you mean --layout\?/],
    [['ad-hoc', '--a', '--layout ids', '--b', '--layout ids'], /arms\.B: the same as arms\.A/]
  ])) {
    const { code, stdout, stderr } = await lookWithLab(root, args)
    t.equal(code, 2, args.join(' '))
    t.match(stderr, words)
    t.match(stderr.split('\n')[0], /^freshet experiment: /)
    t.equal(stdout, '')
  }
  t.same(await pathsIn(join(root, '.freshet'), /results|unfinished|servers/), [], 'nothing was begun')
})

wholeTest('a quick run says that it is no result, and leaves experiments and charts alone', async (t) => {
  const before = await kept()
  const { code, stdout, stderr } = await runLab(t, root, ['901', '--quick'])
  t.equal(code, 0, stderr)
  t.match(stdout, /^not a result: a quick run/)
  t.match(stdout, /measurements: 3 of 3 valid/)
  t.match(stderr, /quick, not a result: one round with 2 s for each measurement/)
  t.match(stderr, /901-tiny {2}1 of 3: slow, ids, round 1; \d+ s left/, 'a line shows the progress')
  t.same(await kept(), before)
  const [file, ...others] = await pathsIn(join(root, '.freshet', 'lab', 'results'), /\.\w+$/)
  t.same(others, [], 'no chart is drawn')
  t.match(await readJson(file), { experiment: '901-tiny', settings: { quick: true, seconds: 2, rounds: 1 } })
})

nightTest('the comparison of docs/measuring.md, in one short round', async (t) => {
  const { code, stdout, stderr } = await runLab(t, root, [...COMPARISON, '--quick'])
  t.equal(code, 0, stderr)
  t.match(stdout, /A: --layout ids \/ B: --layout values/)
})
