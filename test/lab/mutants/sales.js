/** Sales in memory, right or wrong, each in one way, so that the checker can be checked. */
import { setImmediate as turn } from 'node:timers/promises'

/** what each does wrong: lab/systems/sales/history.js must find it */
export const MUTANTS = Object.freeze(['read-then-write', 'completed-always', 'non-atomic-issue', 'no-compensation', 'position-by-clock'])

/** @param {string} technique @returns {import('../../../lab/systems/sales/techniques.js').Technique} */
export function openMutant (technique) {
  /** @type {Map<string, { left: number, sold: number, seq: number, clock: number, rows: { user: string, seq: number }[] }>} */
  const sales = new Map()

  return {
    async create (sale, stock) { sales.set(sale, { left: stock, sold: 0, seq: 0, clock: 1e6, rows: [] }) },

    async claim (id, user) {
      const sale = /** @type {any} */ (sales.get(id))
      const known = sale.rows.find((/** @type {any} */ row) => row.user === user)
      if (known && technique !== 'non-atomic-issue') return { status: 409, body: { code: 'SALE_ALREADY_CLAIMED' } }
      const left = sale.left
      if (technique === 'read-then-write' || technique === 'non-atomic-issue') await turn()
      if (left <= 0) {
        if (technique === 'completed-always' && user.endsWith('7')) return { status: 201, body: { status: 'sold', seq: 0 } }
        return { status: 409, body: { code: 'SALE_SOLD_OUT' } }
      }
      // the unit is taken before the user is looked at, and not returned
      if (technique === 'no-compensation' && user.endsWith('3')) {
        sale.left--
        return { status: 409, body: { code: 'SALE_SOLD_OUT' } }
      }
      sale.left = technique === 'read-then-write' ? left - 1 : sale.left - 1
      sale.sold++
      const seq = technique === 'position-by-clock' ? sale.clock-- : ++sale.seq
      sale.rows.push({ user, seq })
      return { status: 201, body: { status: 'sold', seq } }
    },

    look: async (id) => ({ available: sales.get(id)?.left ?? null }),

    async stored (id) {
      const { sold, rows } = /** @type {any} */ (sales.get(id))
      return { sold, rows }
    },

    async close () {}
  }
}
