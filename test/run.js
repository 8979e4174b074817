/**
 * Runs test files: `node test/run.js [FILE or folder...]`. Without arguments: all of test/, or what FRESHET_TEST_SCOPE names
 * (scope.js). Several lanes (lane.js) take files from one queue; one deployment per engine is shared by the files that ask for it
 * (servers.js).
 *
 * At the end it prints the ten slowest files and the processor time of everything that it started, also as a multiple of a fixed
 * piece of work that is timed in the same run, because machines differ by a factor of two from day to day.
 */
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { countCoreSeconds } from './core-seconds.js'
import { shareDatabase } from './database.js'
import { LANE } from './node.js'
import { isNight, isWhole, scope } from './scope.js'
import { testEngines } from './servers.js'
import { shareDeployments } from './shared.js'

/** Most files wait for most of their time: with fewer lanes, two cores are idle. Long files would miss their deadlines beside many. */
const LANES = isWhole ? 3 : 6
const SLOWEST = 10
const HAS_LONGER_FORM = /from '.*\/(scope|properties|partition)\.js'/
const IS_LONGER_ON_AN_ENGINE = /\b(scoped\(|isWhole|wholeTest\(|regression\/)|\/(properties|partition)\.js'/
const HAS_NIGHT_FORM = /\b(nightTest|nightly)\(/
const IS_FOR_EACH_ENGINE = /for \(.* engines?\b/

/** @typedef {{ scope: string, folder: string, files: string[] }} Queue */
/** @typedef {{ file: string, isOk: boolean, seconds: number }} Result */

/** @param {string} path @returns {string[]} */
const testFiles = (path) => statSync(path).isFile()
  ? [path]
  : readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.js')).sort()
    .map((name) => join(path, name))

/** @returns {Promise<Record<string, string[]>>} files by scope */
async function wanted () {
  const named = process.argv.slice(2)
  if (named.length > 0) return { [scope]: named.flatMap(testFiles) }
  const files = testFiles('test')
  if (isNight) return { night: [...testFiles('regression'), ...files].filter((file) => HAS_NIGHT_FORM.test(readFileSync(file, 'utf8'))) }
  if (!isWhole) return { [scope]: files }
  const hasOthers = (await testEngines()).length > 1
  /** @type {string[]} */
  const others = []
  const whole = testFiles('regression')
  for (const file of files) {
    const text = readFileSync(file, 'utf8')
    if (!HAS_LONGER_FORM.test(text)) continue
    if (IS_LONGER_ON_AN_ENGINE.test(text)) whole.push(file)
    else if (hasOthers && IS_FOR_EACH_ENGINE.test(text)) others.push(file)
  }
  return { others, [scope]: whole }
}

/** Processor time of a fixed piece of work, in seconds. */
function timeWork () {
  const before = process.cpuUsage()
  const hash = createHash('sha256')
  const piece = Buffer.alloc(1024 * 1024, 7)
  for (let i = 0; i < 200; i++) hash.update(piece)
  for (let i = 0; i < 200_000; i++) JSON.parse(JSON.stringify({ id: `bus-${i}`, ts: i, value: [i, 'text'] }))
  hash.digest()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

/** @param {Queue} queue @returns {Result[]} a file whose lane ended under it, or that no lane took, has failed */
const resultsOf = ({ folder, files }) => files.map((file, index) => {
  try {
    return { file, ...JSON.parse(readFileSync(join(folder, String(index)), 'utf8')) }
  } catch {
    return { file, isOk: false, seconds: 0 }
  }
})

/** @param {Result[]} results @param {{ coreSeconds: number, processes: number }} spent @param {number} work seconds */
function report (results, { coreSeconds, processes }, work) {
  const slowest = results.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST)
  const lines = [
    ...results.filter(({ isOk }) => !isOk).map(({ file }) => `failed: ${file}`),
    ...slowest.map(({ file, seconds }) => `slowest: ${seconds.toFixed(1)} s ${file}`),
    `${results.length} files, ${processes} processes, ${performance.now() / 1000 | 0} s, ${coreSeconds.toFixed(0)} core-seconds, ` +
      `${(coreSeconds / work).toFixed(0)} times a fixed piece of work of ${work.toFixed(2)} core-seconds`
  ]
  process.stdout.write(lines.map((line) => `# ${line}\n`).join(''))
}

const root = mkdtempSync(join(tmpdir(), 'freshet-test-run-'))
const counter = countCoreSeconds()
const work = [timeWork()]
t.jobs = LANES
t.setTimeout(0) // the whole takes as long as its files

/** @type {Queue[]} */
const queues = Object.entries(await wanted()).filter(([, files]) => files.length > 0).map(([scope, files]) => {
  const folder = mkdtempSync(join(root, 'queue-'))
  writeFileSync(join(folder, 'files.json'), JSON.stringify(files))
  return { scope, folder, files }
})
// a file that runs alone starts its own
const all = queues.flatMap(({ files }) => files)
const shared = all.length > 1 ? { ...await shareDeployments(t), ...await shareDatabase(t, all) } : {}
const lanes = queues.flatMap(({ scope, folder, files }) => {
  const env = { ...process.env, ...shared, FRESHET_TEST_SCOPE: scope }
  // t.spawn puts the coverage loader into NODE_OPTIONS
  return Array.from({ length: Math.min(LANES, files.length) }, (_, lane) => t.spawn('env',
    ['-u', 'NODE_OPTIONS', ...LANE, 'test/lane.js', folder], { name: `lane ${lane + 1}, ${scope}`, timeout: 0, env, buffered: true }))
})
await Promise.all(lanes)
for (const { file, seconds } of queues.flatMap(resultsOf)) if (seconds === 0) t.fail(`${file} ended without a result`)
t.teardown(() => {
  work.push(timeWork())
  report(queues.flatMap(resultsOf), counter.end(), (work[0] + work[1]) / 2)
  rmSync(root, { recursive: true, force: true })
})
