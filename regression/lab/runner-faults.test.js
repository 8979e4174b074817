/**
 * Runs in which something goes wrong: a load that lies, a server that dies, a file that cannot grow. The rest of the
 * run is as it should be.
 */
import { cp, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readResult } from '../../lab/run/result.js'
import { nightTest } from '../../test/scope.js'
import { eventually } from '../../test/servers.js'
import {
  ONCE, descendantsOf, labCheckout, lookWithLab, pathsIn, ranOnce, readJson, runLab, startLab, tinyPlan
} from '../../test/lab/lab-checkout.js'

const MUTANTS = fileURLToPath(new URL('../../test/lab/mutants', import.meta.url))
const CONTENT = fileURLToPath(new URL('../../test/lab/content.js', import.meta.url))

nightTest('L5, L15: an arm whose load lies is INVALID, enters no figure, and the run ends with 1', async (t) => {
  const liars = {
    'pipelined-commands': 'drops', msetex: 'answers early', 'script-per-batch': 'counts twice', 'script-per-item': 'healthy'
  }
  const root = await labCheckout(t, {
    '901-tiny': tinyPlan({
      arms: { ids: {}, ...Object.fromEntries(Object.entries(liars).map(([load, mutant]) => [mutant, { load }])), blob: { load: 'blob' } },
      levels: { slow: { settings: { rate: 8000 } } },
      fixed: { ids: 3000, valueBytes: 64, batchItems: 100 }
    })
  })
  // a lab whose loads are broken
  await mkdir(join(root, 'test', 'lab'), { recursive: true })
  await cp(MUTANTS, join(root, 'test', 'lab', 'mutants'), { recursive: true })
  await cp(CONTENT, join(root, 'test', 'lab', 'content.js'))
  await writeFile(join(root, 'lab', 'loads', 'load-process.js'), `
import { MUTANTS } from '../../test/lab/mutants/loads.js'
import { LOADS } from './index.js'
import { serveLoad } from './protocol.js'
const liars = ${JSON.stringify(liars)}
serveLoad({ ...LOADS, ...Object.fromEntries(Object.entries(liars).map(([load, mutant]) => [load, MUTANTS[mutant]])) }, import.meta.url)
`)
  const { code, stdout, stderr } = await runLab(t, root, ['901', '--rounds', '1', '--seconds', '1'])
  t.equal(code, 1)
  for (const [mutant, why] of /** @type {[string, RegExp][]} */ ([
    ['drops', /items acknowledged are present: no \(\d+ acknowledged, \d+ present, [1-9]\d* missing\)/],
    ['answers early', /items acknowledged are present: no/],
    ['counts twice', /offered items add up: no/]
  ])) {
    t.match(stderr.split('\n').filter((line) => line.includes(`, ${mutant}, round 1: INVALID`)).join(), why, `${mutant}: reported at once`)
    t.match(stdout, new RegExp(`\\n${mutant} +- +- .*\\n[^]*?INVALID`), `${mutant}: no figure`)
  }
  t.match(stdout, /measurements: 4 of 7 valid/)
  t.match(stdout, /\nhealthy +[\d.]+ +[\d.]+ x /)
  const [file] = await pathsIn(join(root, '.freshet', 'lab', 'results'), /\.json$/)
  const { samples } = await readJson(file)
  t.same(samples.map((/** @type {any} */ { arm, valid, error }) => [arm, valid, error]), [['ids', true, null], ['drops', false, null],
    ['answers early', false, null], ['counts twice', false, null], ['healthy', true, null], ['blob', true, null],
    ['ids (A/A)', true, null]])
  t.match(await lookWithLab(root, ['check', file]), { code: 0, stdout: /7 samples, 3 INVALID; no contradiction/ },
    'the file does not hide it')
})

nightTest('L14: a server that dies in the middle of an arm ends that arm, and the next has servers of its own', async (t) => {
  const root = await labCheckout(t)
  const lab = startLab(t, root, ['901', ...ONCE])
  const servers = async () => (await descendantsOf(lab.pid)).filter(({ args }) => /^\S*(valkey|redis)/.test(args))
  const first = await eventually(async () => {
    const started = await descendantsOf(lab.pid)
    return started.some(({ args }) => /freshet\.js writer/.test(args)) && servers()
  })
  process.kill(first[0].pid, 'SIGKILL')
  const { code, stdout, stderr } = await lab.ended()
  t.equal(code, 1)
  t.match(stderr,
    /slow, ids, round 1: ended by SERVER_LOST: a server ended during the measurement: the (primary|replica) redis:\/\/127\.0\.0\.1:\d+ ended by SIGKILL/)
  t.match(stderr, /3 of 3: slow, ids \(A\/A\)/)
  t.match(stdout, /measurements: 2 of 3 valid/)
  t.match(stdout, /SERVER_LOST/, 'the report names it')
  const [file, report] = await pathsIn(join(root, '.freshet', 'lab', 'results'), /\.(json|md)$/)
  t.match(await readJson(file), {
    samples: [{ arm: 'ids', valid: false, error: { code: 'SERVER_LOST' } }, { arm: 'blob', valid: true }, { arm: 'ids (A/A)', valid: true }]
  })
  t.ok(report)
})

nightTest('a file that cannot grow ends the run, what was measured is whole, and the next run goes on', async (t) => {
  const whole = await ranOnce()
  t.equal(whole.code, 0, whole.stderr)
  const root = await labCheckout(t)
  const unfinished = join(root, '.freshet', 'lab', 'unfinished')
  // room for two measurements, not for three
  const fileKiB = Math.floor((await stat(whole.file)).size * 0.9 / 1024)

  const { code, stderr } = await runLab(t, root, ['901', ...ONCE], { fileKiB })
  t.equal(code, 1)
  t.match(stderr,
    /freshet experiment: cannot write the result to .*901-tiny\.json \(EFBIG\); the previous file is complete\. Free disk space and run it again: it resumes there\n$/)
  t.same(await readdir(unfinished), ['901-tiny.json'])
  const { samples } = await readResult(join(unfinished, '901-tiny.json'))
  t.ok(samples.length > 0 && samples.length < 3)

  const again = await runLab(t, root, ['901', ...ONCE])
  t.equal(again.code, 0, again.stderr)
  t.match(again.stderr, new RegExp(`resuming the run of .*: ${samples.length} of 3 measurements are complete`))
  t.same(await readdir(unfinished), [])
})
