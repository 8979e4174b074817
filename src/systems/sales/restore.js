/**
 * Sales after the servers were replaced: by an empty one, by an older copy, or by a replica that lagged. A recorded sale then sells nothing
 * until its claims are those of the database (rule `bounded`, `restore` and `adopt`), so no unit is sold twice.
 *
 * @import { Client, Command, Decision } from 'freshet-feed/systems'
 */
import { randomUUID } from 'node:crypto'

const RULE = 'bounded'
/** Most rows in one command. */
const MAX_ROWS = 100

/**
 * @param {{ database: Client, submit: (command: Command) => Promise<Decision>,
 *   log: any }} parts
 */
export function createRestorer ({ database, submit, log }) {
  /** @param {string} sale @param {string[]} args */
  const command = (sale, ...args) => submit({ rule: RULE, key: sale, scope: '', requestId: randomUUID(), args })

  /** @param {string} sale that the server does not have @returns {Promise<boolean>} false: the database has none that is open */
  async function createAgain (sale) {
    const { rows: [row] } = await database.query('SELECT terms, stock, status FROM sales WHERE id = $1', [sale])
    if (row === undefined || row.status === 'closed') return false
    const { perUser, openAt, closeAt, holdMs, mode, slots } = row.terms
    await command(sale, 'create', String(row.stock), perUser, openAt, closeAt, holdMs, mode, slots, '1')
    if (row.status === 'paused') await command(sale, 'pause')
    return true
  }

  /**
   * Compares a sale with the database, if it was not compared in this lineage. @param {string} sale
   */
  async function restore (sale) {
    // also begins the lineage, if this is the first command on a new primary
    const { code } = await command(sale, 'restore')
    if (code === 'unknown' && !await createAgain(sale)) return
    if (code === 'accepted' || code === 'unknown') {
      const { rows } = await database.query('SELECT claim, user_id, quantity, status FROM orders WHERE sale = $1 ORDER BY seq', [sale])
      for (let i = 0; i < rows.length; i += MAX_ROWS) {
        const some = rows.slice(i, i + MAX_ROWS).flatMap((row) => [row.claim, row.user_id, String(row.quantity), row.status])
        await command(sale, 'restore', ...some)
      }
      log.warn({ sale, orders: rows.length }, 'the sale was compared with the database')
    }
    const { details } = await command(sale, 'adopt')
    if (Number(details.available) < 0) log.error({ sale, available: details.available }, 'more units are sold than the sale has')
  }

  return {
    restore,

    /** All that are not closed. @param {(sale: string) => boolean} isMine */
    async restoreAll (isMine) {
      const { rows } = await database.query("SELECT id FROM sales WHERE status <> 'closed'")
      for (const { id } of rows) if (isMine(id)) await restore(id)
    }
  }
}
