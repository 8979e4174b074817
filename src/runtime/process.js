/**
 * Start and end of the process files of writer, reader and gateway: help, settings, log, stop signals, servers.
 */
import { withTarget } from '../embedded/index.js'
import { listenForStop } from './lifecycle.js'
import { createLog } from './logging.js'

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @param {object} command
 * @param {Pick<typeof import('../../settings.js'), 'printable' | 'settingsOf'>} command.table passed in, because only
 *   process files read settings
 * @param {Parameters<typeof import('../../settings.js').settingsOf>[1]} command.context
 * @param {string} command.usage first lines of the help
 * @param {string} command.stopping log message of a stop request
 * @param {(settings: any) => Promise<void>} [command.check] rejects settings that cannot work, before servers are started
 * @param {(settings: any, target: import('../embedded/index.js').Target, log: import('pino').Logger,
 *   signal: AbortSignal) => Promise<number>} run
 * @returns {Promise<number>} exit status, 0 also when it was stopped before its servers were ready
 */
export async function runProcess (from, { table, context, usage, stopping: words, check = async () => {} }, run) {
  const settings = await table.settingsOf(from, context, usage)
  if (settings === null) return 0
  await check(settings)
  const log = createLog({ level: settings.logLevel, role: context.command })
  log.info({ settings: shownSettings(table.printable(settings), settings.origins) }, 'settings')
  const stopping = listenForStop({ onStop: (reason) => log.info({ reason }, words) })
  try {
    return await withTarget(settings, { env: from.env, report: (line) => log.info(line), stopping }, (target) =>
      run(settings, target, log, stopping.signal))
  } catch (error) {
    // an embedded database that was not ready yet
    if (error.isStopped && stopping.signal.aborted) return 0
    throw error
  } finally {
    stopping.done()
  }
}

/**
 * In log files all settings, at a terminal those that were given.
 * @param {Record<string, any>} printable @param {Record<string, string>} origins
 */
const shownSettings = (printable, origins) => process.stderr.isTTY
  ? Object.fromEntries(Object.entries(printable).filter(([name]) => origins[name] !== 'default'))
  : printable
