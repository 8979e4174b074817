/**
 * The file of a run: written whole or not at all, and read only when it is one.
 */
import t from 'tap'
import { execFile } from 'node:child_process'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { claimLab } from '../../lab/run/claim.js'
import { newestResult, readResult, resultName, writeResult } from '../../lab/run/result.js'

const result = (samples = [{ arm: 'a' }]) => /** @type {any} */ ({
  format: 1,
  experiment: '001-load',
  commit: 'abc',
  engine: 'valkey 9.1.2',
  node: 'v20',
  machine: {},
  startedAt: '2026-11-21T10:00:00.123Z',
  settings: {},
  plan: {},
  samples
})

t.test('what is written is read, a sample a line', async (t) => {
  const file = join(t.testdir(), 'results', 'one.json')
  await writeResult(file, result([{ arm: 'a' }, { arm: 'b' }]))
  t.same(await readResult(file), result([{ arm: 'a' }, { arm: 'b' }]))
  t.equal((await readFile(file, 'utf8')).split('\n').filter((line) => line.startsWith('    {"arm"')).length, 2)
  await writeResult(file, result([]))
  t.same((await readResult(file)).samples, [])
  t.same(await readdir(join(file, '..')), ['one.json'], 'nothing beside it')
})

t.test('what is no result is refused, with what to do', async (t) => {
  const folder = t.testdir({
    'text.json': 'no',
    'list.json': '[]',
    'old.json': JSON.stringify({ ...result(), format: 0, commit: 'c0ffee' }),
    'lacking.json': JSON.stringify({ format: 1, samples: [] })
  })
  const refused = (/** @type {string} */ name, /** @type {RegExp} */ message) =>
    t.rejects(readResult(join(folder, name)), { code: 'RESULT_INVALID', message })
  await refused('absent.json', /cannot be read \(ENOENT\)/)
  await refused('text.json', /is not JSON/)
  await refused('list.json', /has no format/)
  await refused('old.json',
    /has format 0; this version reads 1\. Use the version that wrote it \(commit c0ffee\), or run the experiment again/)
  await refused('lacking.json', /lacks experiment, engine/)
})

t.test('a file that cannot grow, as on a full disk, leaves the last whole one', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'one.json')
  await writeResult(file, result())
  const write = `
    import { writeResult } from ${JSON.stringify(new URL('../../lab/run/result.js', import.meta.url).href)}
    const samples = Array.from({ length: 2000 }, (_, i) => ({ arm: 'arm ' + i, text: 'x'.repeat(100) }))
    await writeResult(process.argv[1], { samples }).catch(({ code, message }) => console.log(code, message))`
  const { stdout } = await promisify(execFile)('bash', ['-c', 'unset NODE_OPTIONS; ulimit -f 64 && exec "$0" "$@"', process.execPath,
    '--input-type=module', '-e', write, file], { env: { PATH: process.env.PATH } })
  t.match(stdout, /^RESULT_UNWRITABLE cannot write the result to .*one\.json \(EFBIG\); the previous file is complete/)
  t.same(await readResult(file), result())
  t.same(await readdir(folder), ['one.json'])
})

t.test('the newest of results is found by name', async (t) => {
  const folder = t.testdir({ results: { '2026-11-21T10-00-00Z.json': '', '2026-11-22T09-00-00Z.json': '', 'notes.txt': '' }, empty: {} })
  t.equal(resultName('2026-11-21T10:00:00.123Z'), '2026-11-21T10-00-00Z.json')
  t.equal(await newestResult(folder), join(folder, 'results', '2026-11-22T09-00-00Z.json'))
  t.equal(await newestResult(join(folder, 'empty')), null)
})

t.test('one run at a time in a checkout', async (t) => {
  const folder = t.testdir()
  const release = await claimLab(folder)
  await t.rejects(claimLab(folder), { code: 'LAB_BUSY', message: /another experiment is running in this checkout/ })
  await release()
  const again = await claimLab(folder)
  await again()
  await writeFile(join(folder, 'file'), '')
  await t.rejects(claimLab(join(folder, 'file')), { code: 'RESULT_UNWRITABLE' })
})
