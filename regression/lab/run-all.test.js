/** `npm run experiment -- all`: every one after the other, and on from where it was stopped. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { labCheckout, lookWithLab, pathsIn, readJson, runLab, startLab, tinyPlan } from '../../test/lab/lab-checkout.js'
import { nightTest } from '../../test/scope.js'

const ORDER = [['ids', 'blob', 'ids (A/A)'], ['ids (A/A)', 'blob', 'ids']]

/** All measurements but the last, as if a run had been stopped later. @param {string} root @param {string} name */
async function almostDone (root, name) {
  const file = join(root, '.freshet', 'lab', 'unfinished', `${name}.json`)
  const { samples: [sample], ...top } = await readJson(file)
  const samples = [1, 2, 3, 4, 5].flatMap((round) => ORDER[(round - 1) % 2].map((arm) => ({ ...sample, arm, round })))
  await writeFile(file, JSON.stringify({ ...top, samples: samples.slice(0, -1) }))
}

nightTest('all resumes stopped, with the experiment that was under way', async (t) => {
  const root = await labCheckout(t, { '901-tiny': tinyPlan(), '902-tiny-too': tinyPlan() })
  const resultsOf = (/** @type {string} */ name) => pathsIn(join(root, 'experiments', name, 'results'), /\.json$/)
  const first = startLab(t, root, ['all'])
  await first.until(/901-tiny {2}2 of 15/)
  await first.stop()
  await almostDone(root, '901-tiny')

  const second = startLab(t, root, ['all'])
  await second.until(/902-tiny-too {2}2 of 15/)
  t.match(second.stderr, /resuming the run .*: 14 of 15 measurements are complete/)
  await second.stop()
  const [done, ...others] = await resultsOf('901-tiny')
  t.ok(done)
  t.same(others, [])
  await almostDone(root, '902-tiny-too')

  const { code, stdout, stderr } = await runLab(t, root, ['all'])
  t.equal(code, 0, stderr)
  t.match(stderr,
    new RegExp(`901-tiny has a result under these conditions, ${done.slice(root.length + 1)}; measure it again by its number`))
  t.notMatch(stderr, /901-tiny {2}\d+ of/)
  t.match(stdout, /raw samples {2}experiments\/902-tiny-too\/results\//)
  t.same(await resultsOf('901-tiny'), [done])
  t.equal((await resultsOf('902-tiny-too')).length, 1)
})

nightTest('what does not go with one of them is reported before the first takes its minutes', async (t) => {
  const engines = { here: { engine: 'valkey' }, there: { engine: 'redis' }, blob: { load: 'blob' } }
  const root = await labCheckout(t, {
    '901-tiny': tinyPlan({ arms: { ids: {}, values: { settings: { layout: 'values' } }, blob: { load: 'blob' } } }),
    '902-engines': tinyPlan({ arms: engines, baseline: 'here' })
  })
  t.match(await lookWithLab(root, ['all', '--arms', 'values']),
    { code: 2, stderr: /^freshet experiment: --arms: "values" is no arm of 902-engines; expected one of: here, there, blob\n$/ })
  t.match(await lookWithLab(root, ['901', '902', '--target', 'redis://127.0.0.1:1']),
    { code: 2, stderr: /^freshet experiment: 902-engines compares engines and needs its own servers; remove --target\n$/ })
  t.match(await lookWithLab(root, ['all', '--target', 'redis://127.0.0.1:1']), {
    code: 1,
    stderr: /skipped, because they need their own servers: 902-engines\n[^]*no server answers at 127\.0\.0\.1:1/
  })
})
