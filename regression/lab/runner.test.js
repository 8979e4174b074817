/** A run as a command: interrupted and resumed, killed, and where its results go. */
import t from 'tap'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { until } from '../../test/embedded/checkout.js'
import { eventually } from '../../test/servers.js'
import {
  ONCE, descendantsOf, filesIn, labCheckout, lookWithLab, pathsIn, ranOnce, readJson, runLab, startLab, stillThere, tinyPlan
} from '../../test/lab/lab-checkout.js'
import { nightTest } from '../../test/scope.js'

const SERVERS = /^\S*(valkey|redis)/
const LOADS = /load-process|writer/
const unfinishedOf = (/** @type {string} */ root) => join(root, '.freshet', 'lab', 'unfinished', '901-tiny.json')
/**
 * What a run has started, as soon as that is so many.
 * @param {import('../../test/lab/lab-checkout.js').Running} lab
 * @param {{ servers: number, loads: number }} numbers
 */
const underWay = (lab, { servers, loads }) => eventually(async () => {
  const started = (await descendantsOf(lab.pid)).filter(({ args }) => SERVERS.test(args) || LOADS.test(args))
  const count = (/** @type {RegExp} */ pattern) => started.filter(({ args }) => pattern.test(args)).length
  return count(SERVERS) === servers && count(LOADS) === loads && started
})
const halfFiles = (/** @type {string} */ root) => pathsIn(root, /^(\.freshet|experiments|charts).*\.part$/)
const serversLeft = (/** @type {string} */ root) => readdir(join(root, '.freshet', 'lab', 'servers'))

t.test('L2: a run is one file: stopped, it resumes, and the whole is put where results are', async (t) => {
  const root = await labCheckout(t)
  const first = startLab(t, root, ['901'])
  await first.until(/2 of 15/)
  const started = await underWay(first, { servers: 3, loads: 1 })

  await t.test('a second run in this checkout is refused', async (t) => {
    const { code, stderr } = await lookWithLab(root, ['tiny', ...ONCE])
    t.equal(code, 1)
    t.match(stderr, /^freshet experiment: another experiment is running in this checkout/)
  })

  await t.test('Ctrl-C leaves no process and no half file', async (t) => {
    const fromMs = performance.now()
    const { code, stdout, stderr } = await first.stop()
    t.comment(`stopped within ${((performance.now() - fromMs) / 1000).toFixed(1)} s`)
    t.equal(code, 1)
    t.equal(stdout, '', 'no figures of half a run')
    t.match(stderr,
      // a measurement whose window was over is kept, and says so
      /stopping servers and load; completed measurements are kept\n(?:.*\n)*freshet experiment: stopped; completed measurements are kept, and the next run resumes there\n$/)
    t.same(await stillThere(started), [])
    t.same(await serversLeft(root), [])
    t.same(await halfFiles(root), [])
    t.same(await filesIn(join(root, 'experiments')),
      await filesIn(join(root, 'experiments')).then((files) => files.filter((file) => /plan\.js/.test(file))), 'nothing among the results')
  })

  const before = await readJson(unfinishedOf(root))
  t.ok(before.samples.length >= 1 && before.samples.length < 15)
  t.equal(before.finishedAt, null)

  await t.test('the next run goes on, repeats nothing, and is the whole', async (t) => {
    // all measurements but the last, as if the run had been stopped later
    const all = [1, 2, 3, 4, 5].flatMap((round) =>
      (round % 2 ? ['ids', 'blob', 'ids (A/A)'] : ['ids (A/A)', 'blob', 'ids']).map((arm) => ({ ...before.samples[0], arm, round })))
    await writeFile(unfinishedOf(root), JSON.stringify({ ...before, samples: all.slice(0, -1) }))
    const { code, stdout, stderr } = await runLab(t, root, ['tiny'])
    t.equal(code, 0, stderr)
    t.match(stderr, new RegExp(`resuming the run of ${before.startedAt}: 14 of 15 measurements are complete`))
    t.same(stderr.match(/\d+ of 15: .*(?=;)/g), ['15 of 15: slow, ids (A/A), round 5'])
    t.notMatch(stdout, /not a result/)
    const [file] = await pathsIn(join(root, 'experiments', '901-tiny', 'results'))
    t.match(stdout, /raw samples {2}experiments\/901-tiny\/results\/.*\nchart {8}charts\/901-tiny\.svg\nreport {7}charts\/901-tiny\.md/)
    const result = await readJson(file)
    t.same(result.samples.slice(0, -1), all.slice(0, -1))
    t.match(result, { startedAt: before.startedAt, settings: { rounds: 5, seconds: 1, measurements: 15 } })
    t.ok(result.finishedAt)
    t.same(await pathsIn(join(root, '.freshet', 'lab', 'unfinished')), [], 'nothing is left to go on with')
    t.match(await readFile(join(root, 'charts', '901-tiny.md'), 'utf8'), /901-tiny\/results\//)
    t.match(await lookWithLab(root, ['list']), { stdout: /901-tiny: ids \| blob\n.*last run \d{4}-.*charts\/901-tiny\.md/ })
  })
})

nightTest('a run of fewer rounds is not the whole, and goes nowhere else', async (t) => {
  const { root, code, stdout, stderr } = await ranOnce()
  t.equal(code, 0, stderr)
  t.match(stdout, /raw samples {2}\.freshet\/lab\/results\/901-tiny\//)
  t.same(await pathsIn(join(root, 'experiments'), /\.json$/), [])
  t.same(await pathsIn(join(root, 'charts'), /901/), [])
  t.same(await pathsIn(join(root, '.freshet', 'lab', 'unfinished')), [])
})

nightTest('what an earlier run left is kept aside when conditions are others, or it cannot be read', async (t) => {
  const { result } = await ranOnce()
  const root = await labCheckout(t)
  const keptAside = () => pathsIn(join(root, '.freshet', 'lab', 'unfinished'), /-left-/)
  // as if a run of two rounds had been stopped
  const before = { ...result, finishedAt: null, settings: { ...result.settings, rounds: 2 }, samples: result.samples.slice(0, 2) }
  await mkdir(dirname(unfinishedOf(root)), { recursive: true })
  await writeFile(unfinishedOf(root), JSON.stringify(before))
  const other = startLab(t, root, ['901', ...ONCE])
  await other.until(/an earlier run with other conditions is unfinished; its 2 measurements are kept in .*901-tiny-left-\d+\.json/)
  await other.stop()
  const [aside, ...others] = await keptAside()
  t.same(others, [])
  t.same(await readJson(aside), before)

  await writeFile(unfinishedOf(root), JSON.stringify({ ...before, format: 0 }))
  const again = startLab(t, root, ['901', ...ONCE])
  await again.until(/cannot resume an earlier run: .* has format 0.*; it is kept in .*901-tiny-left-/)
  await again.until(/1 of 3/)
  await again.stop()
})

nightTest('a lab that is killed leaves nothing that runs, and the next run goes on', async (t) => {
  const root = await labCheckout(t, { '901-tiny': tinyPlan({ fixed: { ids: 400, valueBytes: 64, batchItems: 100, writers: 2 } }) })
  const lab = startLab(t, root, ['901', ...ONCE])
  await lab.until(/2 of 3/)
  const started = await underWay(lab, { servers: 3, loads: 3 })
  const ended = lab.kill('SIGKILL')
  await until(async () => (await stillThere(started)).length === 0)
  await ended

  const { code, stderr } = await runLab(t, root, ['901', ...ONCE])
  t.equal(code, 0, stderr)
  t.match(stderr, /resuming the run of .*: [12] of 3 measurements are complete/)
  t.same(await serversLeft(root), [], 'what the killed one left is gone')
  t.same(await halfFiles(root), [])
})
