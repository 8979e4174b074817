/**
 * `npm run experiment -- ...`: measures one thing against another on servers of its own, or on somebody's (--target),
 * and says what came out. A process file: what is done stands in experiment/ beside it.
 */
import { checkSettings, flagsOf, help, resolve, settingsOfFlags, settledSettings } from '../settings.js'
import { listenForStop } from '../src/lifecycle.js'
import { layoutNames } from '../src/layouts/index.js'
import { ackNames } from '../src/pipeline/acks.js'
import { check, compare, draw, list } from './experiment/look.js'
import { runAdHoc, runAll, runNamed } from './experiment/run.js'

const USAGE = `Usage: npm run experiment -- list
       npm run experiment -- 007 [008 ...]           by number or name; all = every one
       npm run experiment -- ad-hoc --a "--layout ids" --b "--layout values" --rate 50000
       npm run experiment -- check RESULT ...        whether result files can be believed
       npm run experiment -- compare RESULT RESULT   the second against the first
       npm run experiment -- draw [007 ...]          charts anew from stored results (npm run charts)

Each measurement has clean servers of its own, three processes on this machine; leave the machine alone meanwhile.`

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} exit status: 0, or 1 when something is INVALID or a check fails
 * @throws {import('../settings.js').SettingsInvalid | import('../src/errors.js').FreshetError}
 */
export async function main ({ argv, env }) {
  const known = { command: 'experiment', layouts: layoutNames(), acks: ackNames(), positionals: 64 }
  if (argv.includes('--help')) {
    process.stdout.write(await help(known, USAGE) + '\n')
    return 0
  }
  /** @type {any} */
  const settings = resolve(argv, env, known)
  const [action = 'list', ...rest] = settings.positionals
  const table = {
    checkSettings: (/** @type {Record<string, unknown>} */ of, /** @type {'writer' | 'reader'} */ command = 'writer') => checkSettings(of, known, command),
    settingsOfFlags: (/** @type {string} */ text, /** @type {string} */ origin) => settingsOfFlags(text, known, origin),
    settledSettings: (/** @type {Record<string, unknown>} */ of) => settledSettings(of, known),
    flagsOf
  }
  const stopping = listenForStop({ onStop: () => process.stderr.write('\nstopping: servers and load are ended, what was measured is kept\n') })
  try {
    const parts = { settings, table, env, signal: stopping.signal }
    if (action === 'list') return await list(parts)
    if (action === 'check') return await check(parts, rest)
    if (action === 'compare') return await compare(parts, rest)
    if (action === 'draw') return await draw(parts, rest)
    if (action === 'ad-hoc') return await runAdHoc(parts, rest)
    if (action === 'all') return await runAll(parts, rest)
    return await runNamed(parts, settings.positionals)
  } finally {
    stopping.done()
  }
}
