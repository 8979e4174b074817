/**
 * Runs test files, each in a Node.js process of its own, and merges their TAP: `node test/run.js [FILE or folder...]`. Without
 * arguments: all of test/, or, with FRESHET_TEST_SCOPE=whole, all of regression/ and every file of test/ that has a longer form.
 *
 * `tap run` starts each file and each command that a test starts with a coverage loader. Without it `npm test` takes 10 instead
 * of 13 minutes.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

/** Long tests compare durations, and are started with less beside them. */
const JOBS = process.env.FRESHET_TEST_SCOPE === 'whole' ? 3 : 4
const TIMEOUT_MS = 300_000
const HAS_LONGER_FORM = /from '.*\/(scope|properties|partition)\.js'/

/** @param {string} path @returns {string[]} */
const testFiles = (path) => statSync(path).isFile()
  ? [path]
  : readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.js')).map((name) => join(path, name))

const all = () => process.env.FRESHET_TEST_SCOPE === 'whole'
  ? [...testFiles('regression'), ...testFiles('test').filter((file) => HAS_LONGER_FORM.test(readFileSync(file, 'utf8')))]
  : testFiles('test')

t.jobs = JOBS
t.setTimeout(0) // the whole takes as long as its files
const named = process.argv.slice(2)
for (const file of named.length > 0 ? named.flatMap(testFiles) : all()) {
  // t.spawn puts the coverage loader into NODE_OPTIONS
  t.spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, file], {
    name: file, timeout: TIMEOUT_MS, env: { ...process.env, TAP_TIMEOUT: String(TIMEOUT_MS / 1000) }, buffered: true
  })
}
