/**
 * `npm run experiment -- ...`: measures arms against each other, on servers of its own or on given ones (--target), and
 * reports the verdict. A process file; the actions are in lab/command.
 */
import { checkSettings, flagsOf, settingsOf, settingsOfFlags, settledSettings } from '../settings.js'
import { FreshetError } from '../src/errors.js'
import { listenForStop } from '../src/runtime/index.js'
import { layoutNames } from '../src/layouts/index.js'
import { ackNames } from '../src/pipeline/index.js'

const USAGE = `Usage: npm run experiment -- list
       npm run experiment -- 007 [008 ...]           by number or name; all = every experiment
       npm run experiment -- ad-hoc --a "--layout ids" --b "--layout values" --rate 50000
       npm run experiment -- 024 --count             instructions of the servers, exact on a busy machine (needs valgrind)
       npm run experiment -- check RESULT ...        verify result files
       npm run experiment -- draw [007 ...]          redraw charts from stored results (npm run charts)

Each measurement starts clean servers, three processes on this machine; do not use the machine for
anything else in that time.`

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} exit status: 0, or 1 when something is INVALID or a check fails
 * @throws {import('../settings.js').SettingsInvalid | import('../src/errors.js').FreshetError}
 */
export async function main (from) {
  const context = { command: 'experiment', layouts: layoutNames(), acks: ackNames(), positionals: 64 }
  const settings = await settingsOf(from, context, USAGE)
  if (settings === null) return 0
  const [action = 'list', ...rest] = settings.positionals
  const table = {
    checkSettings: (/** @type {Record<string, unknown>} */ of, /** @type {'writer' | 'reader'} */ command = 'writer') =>
      checkSettings(of, context, command),
    settingsOfFlags: (/** @type {string} */ text, /** @type {string} */ origin) => settingsOfFlags(text, context, origin),
    settledSettings: (/** @type {Record<string, unknown>} */ of) => settledSettings(of, context),
    flagsOf
  }
  const stopping = listenForStop({ onStop: () => process.stderr.write('\nstopping servers and load; completed measurements are kept\n') })
  try {
    const { check, draw, list, runAdHoc, runAll, runNamed } =
      { ...await import('../lab/command/look.js'), ...await import('../lab/command/run.js') }
    const parts = { settings, table, env: from.env, signal: stopping.signal }
    if (action === 'list') return await list(parts)
    if (action === 'check') return await check(parts, rest)
    if (action === 'draw') return await draw(parts, rest)
    if (action === 'ad-hoc') return await runAdHoc(parts, rest)
    if (action === 'all') return await runAll(parts, rest)
    return await runNamed(parts, settings.positionals)
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new FreshetError('LAB_MISSING', 'the lab is a part of the repository of Freshet, not of the installed package: ' +
      'in a checkout, run npm install, then npm run experiment', { cause: error })
  } finally {
    stopping.done()
  }
}
