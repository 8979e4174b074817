/**
 * What the process files of writer, reader and gateway begin and end with: help, settings, log, stop signals, servers.
 */
import { listenForStop } from './lifecycle.js'
import { createLog } from './log.js'
import { withTarget } from './store/target.js'

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @param {object} command
 * @param {Pick<typeof import('../settings.js'), 'help' | 'printable' | 'resolve'>} command.table settings are read by
 *   process files only, so they hand it over
 * @param {{ command: string, layouts: string[], acks: string[] }} command.known
 * @param {string} command.usage first lines of the help
 * @param {string} command.stopping what is logged when it is told to stop
 * @param {(settings: any, target: import('./store/target.js').Target, log: import('pino').Logger, signal: AbortSignal) => Promise<number>} run
 * @returns {Promise<number>} exit status
 */
export async function runProcess ({ argv, env }, { table, known, usage, stopping: words }, run) {
  if (argv.includes('--help')) {
    process.stdout.write(await table.help(known, usage) + '\n')
    return 0
  }
  /** @type {any} */
  const settings = table.resolve(argv, env, known)
  const log = createLog({ level: settings.logLevel, role: known.command })
  log.info({ settings: table.printable(settings) }, 'settings')
  const stopping = listenForStop({ onStop: (reason) => log.info({ reason }, words) })
  try {
    return await withTarget(settings, { env, report: (line) => log.info(line), stopping }, (target) =>
      run(settings, target, log, stopping.signal))
  } finally {
    stopping.done()
  }
}
