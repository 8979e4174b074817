/** `npm start orders -- rebuild`: makes the views of orders again from their events. A process file. */
import { settingsOf, SettingsInvalid } from '../settings.js'
import { createLog, listenForStop, visibleJson } from '../src/runtime/index.js'
import { migrate } from '../src/sql/index.js'
import orders, { rebuildViews } from '../src/systems/orders/index.js'
import { useDatabase } from '../writers/database.js'

const ACTION = 'rebuild'
/** A statement of a rebuild touches many rows. */
const DEADLINE_MS = 600_000
const SAY_EVERY_MS = 1000
const USAGE = `Usage: npm start orders -- rebuild

Makes the views of orders, stock and customers again from the events in the database, while events come in, and says how many rows were
not as their events say.`

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} exit status
 */
export async function main (from) {
  const settings = await settingsOf(from, { command: 'orders', positionals: 1 }, USAGE)
  if (settings === null) return 0
  const [action] = settings.positionals
  if (action !== ACTION) {
    throw new SettingsInvalid([`${action === undefined ? 'the action is missing' : `unknown action ${action}`}; expected ${ACTION}`])
  }
  const log = createLog({ level: settings.logLevel, role: 'orders' })
  const stopping = listenForStop()
  const { database, close } = await useDatabase(settings, {
    name: `freshet-orders-${process.pid}`, max: 2, deadlineMs: DEADLINE_MS, log, signal: stopping.signal, fail () {}
  })
  let reportedMs = performance.now()
  try {
    await migrate(database, [orders.migrations ?? []].flat())
    const done = await rebuildViews(database, {
      onProgress (partition, aggregates, isDone) {
        if (!isDone && performance.now() - reportedMs < SAY_EVERY_MS) return
        reportedMs = performance.now()
        log.info({ partition, aggregates }, isDone ? 'partition rebuilt' : 'rebuilding')
      }
    })
    process.stdout.write(visibleJson({ event: 'rebuilt', ...done }) + '\n')
    return 0
  } finally {
    await close()
    stopping.done()
  }
}
