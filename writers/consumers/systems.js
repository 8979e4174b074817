/** The systems that consumers can serve: what each does with the entries of a partition that this process owns. */
import { fieldsOf } from '../../src/admission/index.js'
import * as auctions from '../../src/systems/auctions/index.js'
import * as sales from '../../src/systems/sales/index.js'

/**
 * @typedef {object} Parts
 * @property {import('../../src/admission/index.js').Admission} admission
 * @property {(partition: number) => import('../../src/store/index.js').Connection} connectionOf the primary
 * @property {import('../../src/sql/index.js').Database} database
 * @property {import('pino').Logger} log
 * @typedef {{ effect: import('../../src/consumers/index.js').SqlEffect, onPrimary?: (partition: number) => Promise<void> }} Duties
 *   `onPrimary`: when the partition is taken, and when its primary is another one
 */

/** @type {Readonly<Record<string, (parts: Parts) => Duties>>} what each system does if there is a database */
export const DUTIES = Object.freeze({
  [auctions.SYSTEM]: () => ({ effect: auctions.createBidWriter() }),

  [sales.SYSTEM] ({ admission, connectionOf, database, log }) {
    const { submit, partitionOf, keyOf } = admission
    const { restore, restoreAll } = sales.createRestorer({ database, submit, log })
    /** @param {string} sale */
    async function stateOf (sale) {
      const partition = partitionOf(sale)
      return fieldsOf((await connectionOf(partition).send('HGETALL', keyOf(partition)(`state:${sale}`))).map(String))
    }
    return {
      effect: sales.createOrderWriter({ stateOf, restore, database, submit }),
      onPrimary: (partition) => restoreAll((sale) => partitionOf(sale) === partition)
    }
  }
})

export const SYSTEMS = Object.freeze(Object.keys(DUTIES))
