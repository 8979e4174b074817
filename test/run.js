/**
 * Runs test files, each in a Node.js process of its own, and merges their TAP: `node test/run.js [FILE or folder...]`. Without
 * arguments: all of test/, or, with FRESHET_TEST_SCOPE=whole, all of regression/, and the files of test/ that have a longer form. Where the
 * longer form is only that it runs on each engine, it runs on those that `npm test` leaves out.
 *
 * `tap run` starts each file and each command that a test starts with a coverage loader. Without it `npm test` takes three quarters
 * of the time.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { NODE } from './node.js'
import { testEngines } from './servers.js'

/** Most files wait for most of their time: with fewer, two cores are idle. Long ones would miss their deadlines beside many others. */
const JOBS = process.env.FRESHET_TEST_SCOPE === 'whole' ? 3 : 6
const TIMEOUT_MS = 300_000
const HAS_LONGER_FORM = /from '.*\/(scope|properties|partition)\.js'/
const IS_LONGER_ON_AN_ENGINE = /\b(scoped\(|isWhole|wholeTest\(|regression\/)|\/(properties|partition)\.js'/
const IS_FOR_EACH_ENGINE = /for \(.* engines?\b/

/** @param {string} path @returns {string[]} */
const testFiles = (path) => statSync(path).isFile()
  ? [path]
  : readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.js')).map((name) => join(path, name))

/** @typedef {{ file: string, scope?: string }} Chosen */

/** @returns {Promise<Chosen[]>} */
async function all () {
  const files = testFiles('test').map((file) => ({ file }))
  if (process.env.FRESHET_TEST_SCOPE !== 'whole') return files
  const hasOthers = (await testEngines()).length > 1
  const longer = files.flatMap(({ file }) => {
    const text = readFileSync(file, 'utf8')
    if (!HAS_LONGER_FORM.test(text)) return []
    if (IS_LONGER_ON_AN_ENGINE.test(text)) return [{ file }]
    return hasOthers && IS_FOR_EACH_ENGINE.test(text) ? [{ file, scope: 'others' }] : []
  })
  return [...testFiles('regression').map((file) => ({ file })), ...longer]
}

t.jobs = JOBS
t.setTimeout(0) // the whole takes as long as its files
const named = process.argv.slice(2)
/** @type {Chosen[]} */
const chosen = named.length > 0 ? named.flatMap(testFiles).map((file) => ({ file })) : await all()
for (const { file, scope = process.env.FRESHET_TEST_SCOPE } of chosen) {
  // t.spawn puts the coverage loader into NODE_OPTIONS
  const env = { ...process.env, FRESHET_TEST_SCOPE: scope, TAP_TIMEOUT: String(TIMEOUT_MS / 1000) }
  t.spawn('env', ['-u', 'NODE_OPTIONS', ...NODE, file], { name: file, timeout: TIMEOUT_MS, env, buffered: true })
}
