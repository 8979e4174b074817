/** Two settings against each other, and what can be done with the files afterwards: check, compare, draw. */
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { filesIn, labCheckout, lookWithLab, pathsIn, readJson, runLab } from '../../test/lab/lab-checkout.js'
import { nightTest } from '../../test/scope.js'

const FLAGS = ['--a', '--layout ids --ids 500', '--b', '--layout values --ids 500', '--rate', '4000']

nightTest('two settings against each other: samples, chart and report, which check and compare can read', async (t) => {
  const root = await labCheckout(t)
  const before = await filesIn(join(root, 'experiments'))
  const { code, stdout, stderr } = await runLab(t, root, ['ad-hoc', ...FLAGS, '--rounds', '1', '--seconds', '1'])
  t.equal(code, 0, stderr)
  t.match(stdout, /`B` against `A`: unknown/, 'one round has no interval')
  t.match(stdout, /`A` measured twice \(A\/A\)/)
  t.match(stdout, /ceiling: `blob`/)
  t.match(stdout, /items: planned 16,000, sent [\d,]+, acknowledged [\d,]+, missing 0, unsent 0, lost 0/)
  t.same(await filesIn(join(root, 'experiments')), before)
  const [json, md, svg, ...others] = await pathsIn(join(root, '.freshet', 'lab', 'results'), /\.\w+$/)
  t.same(others, [])
  for (const file of [json, md, svg]) t.ok(stdout.includes(file.slice(root.length + 1)), `${file.slice(root.length)} is named`)
  t.match(await readFile(svg, 'utf8'), /^<svg [^]*<\/svg>\s*$/)
  t.match(await readFile(md, 'utf8'), /`B` against `A`/)
  const result = await readJson(json)
  t.same(result.samples.map((/** @type {any} */ { arm, valid }) => [arm, valid]),
    [['A', true], ['B', true], ['blob', true], ['A (A/A)', true]])
  t.match(result.settings, { seconds: 1, rounds: 1, rttMs: 0, quick: false, target: null })

  await t.test('check: a file that is as it was written', async (t) => {
    const { code, stdout } = await lookWithLab(root, ['check', json])
    t.equal(code, 0)
    t.match(stdout, /4 samples, 0 INVALID; no contradiction/)
  })

  await t.test('check: a file that was changed, and in which sample', async (t) => {
    const [, b, blob] = result.samples
    b.itemsPresent--
    Object.assign(blob.behindMs, { p95: blob.behindMs.max + 1 })
    await writeFile(join(root, 'changed.json'), JSON.stringify(result))
    const { code, stdout } = await lookWithLab(root, ['check', 'changed.json', json])
    t.equal(code, 1)
    t.match(stdout, /changed\.json: 4 samples, 0 INVALID; 2 contradictions, do not use this file/)
    t.match(stdout, /sample 2 \(B, 4,000 items\/s, round 1\): items acknowledged are present: no \((\d+) acknowledged, \d+ present/)
    t.match(stdout, /sample 3 \(blob, 4,000 items\/s, round 1\): percentiles are in order: no/)
    t.match(stdout, /4 samples, 0 INVALID; no contradiction/, 'the other is looked at all the same')
  })

  await t.test('check: a file of an older format, and what is no result', async (t) => {
    await writeFile(join(root, 'older.json'), JSON.stringify({ ...result, format: 0, commit: 'abc1234' }))
    await writeFile(join(root, 'half.json'), (await readFile(json, 'utf8')).slice(0, 500))
    for (const [file, words] of /** @type {[string, RegExp][]} */ ([
      ['older.json',
        /^freshet experiment: older\.json has format 0; this version reads 1\. Use the version that wrote it \(commit abc1234\)/],
      ['half.json', /half\.json is not JSON/],
      ['901', /901-tiny has no result yet; run it first/]
    ])) t.match(await lookWithLab(root, ['check', file]), { code: 1, stdout: '', stderr: words }, file)
  })

  await t.test('check without a word looks at the newest of each experiment', async (t) => {
    t.match(await lookWithLab(root, ['check']), { code: 0, stdout: /no experiment has a result yet/ })
    await mkdir(join(root, 'experiments', '901-tiny', 'results'))
    await cp(json, join(root, 'experiments', '901-tiny', 'results', '2026-01-01T00-00-00Z.json'))
    t.match(await lookWithLab(root, ['check']), { code: 0, stdout: /^experiments\/901-tiny\/results\/2026-01-01T00-00-00Z\.json: 4 samples/ })
  })

  await t.test('draw: redraws the charts of experiments that have a result', async (t) => {
    t.match(await lookWithLab(root, ['draw']), { code: 0, stdout: 'charts/901-tiny.svg\ncharts/901-tiny.md\n' })
    t.match(await readFile(join(root, 'charts', '901-tiny.md'), 'utf8'), /\.\.\/experiments\/901-tiny\/results\//)
    t.match(await lookWithLab(root, ['draw', 'tiny-typo']),
      { code: 2, stderr: /there is no experiment "tiny-typo"; expected one of: 901-tiny/ })
  })
})
