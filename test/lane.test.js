import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { LANE } from './node.js'

const FAULTY = `import t from 'tap'
t.test('throws', async () => {
  setTimeout(() => { throw new Error('late') })
  await new Promise((resolve) => setTimeout(resolve, 1000))
})
t.test('rejects', async () => {
  Promise.reject(new Error('lost'))
  await new Promise((resolve) => setTimeout(resolve, 1000))
})
t.test('passes', async (t) => t.pass())
`

const WAITING = `import t from 'tap'
t.test('waits', () => new Promise((resolve) => setTimeout(resolve, 2000)))
`

/** Runs a lane over one file. @param {import('tap').Test} t @param {string} text of the file @param {number} timeoutMs */
async function laneOf (t, text, timeoutMs) {
  const folder = mkdtempSync(join(tmpdir(), 'freshet-lane-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'one.test.js')
  writeFileSync(file, text)
  writeFileSync(join(folder, 'files.json'), JSON.stringify([file]))
  const [program, ...options] = LANE
  const { stdout } = await promisify(execFile)(program, [...options, 'test/lane.js', folder, String(timeoutMs)]).catch((error) => error)
  return { stdout, isOk: JSON.parse(readFileSync(join(folder, '0'), 'utf8')).isOk }
}

t.test('exceptions and rejections that no code caught fail the test that runs, and the lane ends', async (t) => {
  const { stdout, isOk } = await laneOf(t, FAULTY, 300_000)
  const results = stdout.match(/(not )?ok \d - \w+/g)
  t.same(results.slice(0, 5), ['not ok 1 - late', 'not ok 1 - throws', 'not ok 1 - lost', 'not ok 2 - rejects', 'ok 3 - passes'])
  t.equal(isOk, false)
})

t.test('a file that does not end within its limit fails, and the lane ends', async (t) => {
  const { stdout, isOk } = await laneOf(t, WAITING, 500)
  t.match(stdout, /timeout!/)
  t.equal(isOk, false)
})
