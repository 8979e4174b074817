/**
 * Commands in the process of a test: their `main`, with what bin/freshet.js makes of its errors. For commands that print and end; what
 * the process itself does with signals, pipes and errors is tested with runCommand (../commands.js).
 */
import { join } from 'node:path'
import { npmAdvice } from '../../bin/npm-flags.js'
import { visibleLines } from '../../src/runtime/index.js'
import { ROOT } from '../architecture/source.js'
import { CACHE_DIR } from '../commands.js'

/** commands in demo/; the others are in bin/ */
const OF_DEMO = Object.freeze(['exchanges', 'payments'])

/** @typedef {{ code: number, stdout: string, stderr: string }} Ended */

/** One at a time, because they share standard output and the working directory. */
let last = /** @type {Promise<unknown>} */ (Promise.resolve())

/**
 * @param {string[]} args command and flags
 * @param {{ env?: Record<string, string | undefined>, cwd?: string, more?: object }} [options] `env` beside PATH and the cache of
 *   engines; `cwd` is a checkout, ours if not given; `more` of what `main` takes in tests
 * @returns {Promise<Ended>}
 */
export function endOfMain (args, options = {}) {
  const ended = last.then(() => run(args, options))
  last = ended.catch(() => {})
  return ended
}

/** @param {string[]} args @param {Parameters<typeof endOfMain>[1]} options @returns {Promise<Ended>} */
async function run ([command, ...argv], { env = {}, cwd = ROOT, more } = {}) {
  const { main } = await import(join(cwd, OF_DEMO.includes(command) ? 'demo' : 'bin', `${command}.js`))
  const text = { stdout: '', stderr: '' }
  const restore = capture(text)
  const { connected, send } = process
  const before = process.cwd()
  process.chdir(cwd)
  // a command tells its parent what it does, and the parent of this process is the test runner
  Object.assign(process, { connected: false, send: undefined })
  try {
    const code = await main({ argv, env: { PATH: process.env.PATH, FRESHET_CACHE_DIR: CACHE_DIR, ...env }, ...more })
    return { code, ...text }
  } catch (error) {
    if (error.exitStatus === undefined) throw error
    text.stderr += visibleLines(`freshet ${command}: ${error.message}${npmAdvice(error.lost, argv)}\n`)
    return { code: error.exitStatus, ...text }
  } finally {
    Object.assign(process, { connected, send })
    process.chdir(before)
    restore()
  }
}

/** @param {{ stdout: string, stderr: string }} text is added to @returns {() => void} ends it */
function capture (text) {
  const restores = (/** @type {const} */ (['stdout', 'stderr'])).map((name) => {
    const stream = process[name]
    const { write } = stream
    stream.write = (/** @type {any} */ chunk, /** @type {any} */ encoding, /** @type {any} */ callback = encoding) => {
      text[name] += chunk
      if (typeof callback === 'function') callback()
      return true
    }
    return () => { stream.write = write }
  })
  return () => { for (const restore of restores) restore() }
}
