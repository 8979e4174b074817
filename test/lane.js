/**
 * A lane of the runner: a process that takes the next file of the queue, imports it as one subtest named by its path, and goes on
 * until none is left: `node test/lane.js FOLDER TIMEOUT_MS`, a limit for each file. The folder holds `files.json`; a file is taken by
 * creating `INDEX` in it with the process id of the lane, and its result is written there.
 *
 * A file's `import t from 'tap'` is answered by lane-tap.js. A file that says `A process of its own:` with a reason is started
 * instead of imported. A file whose timers, sockets or processes are still open 5 s after its end has failed.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { register } from 'node:module'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { setTest } from './lane-tap.js'
import { NODE } from './node.js'
import { coreSecondsOf } from './core-seconds.js'

const OPEN_FOR_MS = 5000
const OWN_PROCESS = /A process of its own: /

register('./lane-hooks.js', import.meta.url)
const { default: t } = await import('tap')

const [folder, timeoutMs] = process.argv.slice(2)
/** @type {string[]} */
const files = JSON.parse(readFileSync(join(folder, 'files.json'), 'utf8'))

/** @param {number} index @returns {boolean} false when another lane has it */
function take (index) {
  try {
    writeFileSync(join(folder, String(index)), JSON.stringify({ lane: process.pid }), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

/** @returns {Map<string, number>} what keeps this process alive, by kind; timers of tap come and go */
const open = () => {
  const kinds = new Map()
  for (const kind of process.getActiveResourcesInfo()) kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
  return kinds
}

/** @param {Map<string, number>} before @returns {string[]} */
const opened = (before) => [...open()].filter(([kind, count]) => count > (before.get(kind) ?? 0)).map(([kind, count]) => `${count} ${kind}`)

/** @param {string} file @returns {Promise<boolean>} whether it passed */
async function run (file) {
  const options = { timeout: Number(timeoutMs), buffered: true }
  if (OWN_PROCESS.test(readFileSync(file, 'utf8'))) {
    const env = { ...process.env, TAP_TIMEOUT: String(options.timeout / 1000) }
    return isOk(await t.spawn('env', ['-u', 'NODE_OPTIONS', ...NODE, file], { ...options, env }, file))
  }
  const before = open()
  const result = await t.test(file, options, async (test) => {
    setTest(test)
    await import(pathToFileURL(resolve(file)).href)
  })
  const until = Date.now() + OPEN_FOR_MS
  while (opened(before).length > 0 && Date.now() < until) await pause(10)
  const left = opened(before)
  if (left.length > 0) t.fail(`${file} left open: ${left.join(', ')}`)
  return isOk(result) && left.length === 0
}

/** @param {any} test @returns {any} the innermost test in it that runs */
const running = (test) => test.activeSubtests.size > 0 ? running([...test.activeSubtests].at(-1)) : test

/** @param {any} result of a subtest */
const isOk = (result) => Boolean(result?.ok)

t.setTimeout(0) // a file has its own
process.on('uncaughtException', (error, origin) => running(t).hookDomain.onerror(error, origin))
// What a file left open, or an exception that it did not catch, would keep the lane for ever. Both have been reported.
t.on('complete', () => process.exit())
for (const [index, file] of files.entries()) {
  if (!take(index)) continue
  const started = { at: performance.now(), core: coreSecondsOf(process.pid) }
  const hasPassed = await run(file)
  const seconds = (performance.now() - started.at) / 1000
  const result = { isOk: hasPassed, seconds, coreSeconds: coreSecondsOf(process.pid) - started.core }
  writeFileSync(join(folder, String(index)), JSON.stringify(result))
  process.stderr.write(`${hasPassed ? 'ok' : 'NOT OK'} ${seconds.toFixed(1)} s, ${result.coreSeconds.toFixed(1)} core-seconds: ${file}\n`)
}
t.end()
