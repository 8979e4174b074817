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
import { countCoreSeconds, treeOf } from './core-seconds.js'
import { shareDatabase } from './database.js'
import { LANE } from './node.js'
import { isNight, isWhole } from './scope.js'
import { shareEngines } from './servers.js'
import { shareDeployments } from './shared.js'

/** Most files wait for most of their time: with fewer lanes, two cores are idle. Long files would miss their deadlines beside many. */
const LANES = isWhole ? 5 : 6
const SLOWEST = 10
/** of a file, after which its lane ends it; at night rounds of kills take half an hour and more */
const TIMEOUT_MS = isNight ? 7_200_000 : 300_000
/** A lane that does not end it, because its event loop is blocked or a process holds its output, is ended. */
const OVERDUE_MS = TIMEOUT_MS + 100_000
const WATCH_EVERY_MS = 10_000
/** of a file of regression/, which runs as well */
const IS_SMOKE = /^import '.*\/regression\//m
const HAS_NIGHT_FORM = /\b(nightTest|nightly|nightEngines|holds)\(|\bisNight\b/

/** @typedef {{ file: string, isOk: boolean, seconds: number, coreSeconds: number, lane?: number }} Result `lane`: process that runs it */

/** @param {string} path @returns {string[]} */
const testFiles = (path) => statSync(path).isFile()
  ? [path]
  : readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.js')).sort()
    .map((name) => join(path, name))

/** Long files first: what starts last would run on alone. @returns {string[]} */
function chosenFiles () {
  const named = process.argv.slice(2)
  if (named.length > 0) return named.flatMap(testFiles)
  const files = testFiles('test')
  if (!isWhole) return files
  const all = [...testFiles('regression'), ...files.filter((file) => !IS_SMOKE.test(readFileSync(file, 'utf8')))]
  return isNight ? all.filter((file) => HAS_NIGHT_FORM.test(readFileSync(file, 'utf8'))) : all
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

/** @returns {Result[]} a file whose lane ended under it, or that no lane took, has failed */
const results = () => files.map((file, index) => {
  const none = { file, isOk: false, seconds: 0, coreSeconds: 0 }
  try {
    return { ...none, ...JSON.parse(readFileSync(join(queue, String(index)), 'utf8')) }
  } catch {
    return none
  }
})

/** Ends lanes whose file is overdue, with all their processes. */
function endOverdue () {
  for (const [index, { file, lane }] of results().entries()) {
    if (!lane || Date.now() - statSync(join(queue, String(index))).mtimeMs < OVERDUE_MS) continue
    writeFileSync(join(queue, String(index)), '{}')
    process.stderr.write(`NOT OK ${file} did not end, nor did its time limit end it: its lane is ended\n`)
    for (const pid of treeOf(lane)) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {} // it has ended
    }
  }
}

/** @param {Result[]} results @param {{ coreSeconds: number, processes: number }} spent @param {number} work seconds */
function report (results, { coreSeconds, processes }, work) {
  const slowest = results.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST)
  const lines = [
    ...results.filter(({ isOk }) => !isOk).map(({ file }) => `failed: ${file}`),
    ...slowest.map(({ file, seconds, coreSeconds }) => `slowest: ${seconds.toFixed(1)} s, ${coreSeconds.toFixed(1)} core-seconds: ${file}`),
    `${results.length} files, ${processes} processes, ${performance.now() / 1000 | 0} s, ${coreSeconds.toFixed(0)} core-seconds, ` +
      `${(coreSeconds / work).toFixed(0)} times a fixed piece of work of ${work.toFixed(2)} core-seconds`
  ]
  process.stdout.write(lines.map((line) => `# ${line}\n`).join(''))
}

const files = chosenFiles()
const queue = mkdtempSync(join(tmpdir(), 'freshet-test-run-'))
writeFileSync(join(queue, 'files.json'), JSON.stringify(files))
const counter = countCoreSeconds()
setInterval(endOverdue, WATCH_EVERY_MS).unref()
const work = [timeWork()]
t.jobs = LANES
t.setTimeout(0) // the whole takes as long as its files

// a file that runs alone starts its own
const shared = { ...await shareEngines(), ...files.length > 1 && { ...await shareDeployments(t), ...await shareDatabase(t, files) } }
const env = { ...process.env, ...shared }
// t.spawn puts the coverage loader into NODE_OPTIONS
await Promise.all(Array.from({ length: Math.min(LANES, files.length) }, (_, lane) => t.spawn('env',
  ['-u', 'NODE_OPTIONS', ...LANE, 'test/lane.js', queue, String(TIMEOUT_MS)],
  { name: `lane ${lane + 1}`, timeout: 0, env, buffered: true })))
for (const { file, seconds } of results()) if (seconds === 0) t.fail(`${file} ended without a result`)
t.teardown(() => {
  work.push(timeWork())
  report(results(), counter.end(), (work[0] + work[1]) / 2)
  rmSync(queue, { recursive: true, force: true })
})
