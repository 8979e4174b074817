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

t.test('exceptions and rejections that no code caught fail the test that runs, and the lane ends', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'freshet-lane-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'faulty.test.js')
  writeFileSync(file, FAULTY)
  writeFileSync(join(folder, 'files.json'), JSON.stringify([file]))
  const [program, ...options] = LANE
  const { stdout } = await promisify(execFile)(program, [...options, 'test/lane.js', folder]).catch((error) => error)
  const results = stdout.match(/(not )?ok \d - \w+/g)
  t.same(results.slice(0, 5), ['not ok 1 - late', 'not ok 1 - throws', 'not ok 1 - lost', 'not ok 2 - rejects', 'ok 3 - passes'])
  t.equal(JSON.parse(readFileSync(join(folder, '0'), 'utf8')).isOk, false)
})
