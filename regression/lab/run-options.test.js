/**
 * A run with other conditions than its plan: some arms, fewer rounds, shorter times, a delay, another engine. Each is
 * said, and is no result of the experiment.
 */
import { join } from 'node:path'
import { newest } from '../../src/embedded/engine.js'
import { engineName } from '../../test/servers.js'
import { filesIn, labCheckout, lookWithLab, pathsIn, readJson, runLab, tinyPlan } from '../../test/lab/lab-checkout.js'
import { nightTest, scopedEngines } from '../../test/scope.js'

const engines = await scopedEngines()
/** not the one that is taken without a word, if there is another */
const named = engines.find((engine) => engine !== newest(engines)) ?? engines[0]
const resultsIn = async (/** @type {string} */ root) =>
  Promise.all((await pathsIn(join(root, '.freshet', 'lab', 'results'), /\.json$/)).map(readJson))
const kept = async (/** @type {string} */ root) => [...await filesIn(join(root, 'experiments')), ...await filesIn(join(root, 'charts'))]

nightTest('some arms, one round, half the time, a delay on the line (L16), and an engine by name', async (t) => {
  const root = await labCheckout(t, {
    '901-tiny': tinyPlan({
      arms: {
        ids: { settings: { layout: 'ids' } },
        values: { settings: { layout: 'values' } },
        library: { load: 'library' },
        blob: { load: 'blob' }
      }
    })
  })
  const before = await kept(root)
  const { code, stdout, stderr } = await runLab(t, root,
    ['901', '--arms', 'values', '--rounds', '1', '--seconds', '0.5', '--rtt-ms', '1', '--engine', `${named.name} ${named.version}`])
  t.equal(code, 0, stderr)
  t.match(stderr, /arms left out: library/)
  t.match(stderr, /1 of 5 rounds: intervals are wider/)
  t.match(stdout, /1\s+ms\s+between\s+client\s+and\s+server/)
  const [{ engine, settings, samples }] = await resultsIn(root)
  t.same([engine, settings.engines], [engineName(named), [engineName(named)]])
  for (const { nodes } of samples) t.same(nodes.map((/** @type {any} */ { engine }) => engine), Array(3).fill(engineName(named)))
  t.match(settings, { seconds: 0.5, rounds: 1, rttMs: 1, measurements: 4 })
  t.same(settings.arms, ['ids', 'values', 'blob', 'ids (A/A)'], 'the baseline and the ceiling stay (L11)')
  t.same(samples.map((/** @type {any} */ { arm, valid, error }) => [arm, valid, error]),
    settings.arms.map((/** @type {string} */ arm) => [arm, true, null]))
  t.same(await kept(root), before)
})

/** @param {import('tap').Test} t */
const enginesCheckout = (t) => {
  const [{ name }] = engines
  return labCheckout(t, {
    '901-engines': tinyPlan({
      baseline: 'here', arms: { here: { engine: name }, absent: { engine: 'redis 0.1' }, blob: { load: 'blob', engine: name } }
    }),
    '902-tiny': tinyPlan()
  })
}

nightTest('an engine that is not here goes from a plan that compares engines, and that is reported', async (t) => {
  const root = await enginesCheckout(t)
  const before = await kept(root)
  const { code, stdout, stderr } = await runLab(t, root, ['901', '--rounds', '1', '--seconds', '0.5'])
  t.equal(code, 0, stderr)
  t.match(stderr, /left out, no such engine here: redis 0\.1; name its program with --engine/)
  t.match(stdout, /measurements: 3 of 3 valid/)
  t.same(await kept(root), before, 'without it there is no whole result')
})

nightTest('an engine that is not here is an error where it was asked for', async (t) => {
  const root = await enginesCheckout(t)
  t.match(await lookWithLab(root, ['902', '--engine', 'redis 0.1']),
    { code: 1, stderr: /freshet experiment: no redis 0\.1 here; found .*\. Install it, or use --engine with a program/ })
  t.match(await lookWithLab(root, ['902', '--engine', 'no-such-server']),
    { code: 1, stderr: /freshet experiment: the server program no-such-server is not on PATH; use --engine with a program/ })
})
