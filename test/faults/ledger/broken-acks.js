/**
 * Acks that lie, each in a way that is easily written. The ledger has to find them out; nothing else may use them.
 */
import { ackOf } from '../../../src/pipeline/acks.js'

/** @typedef {import('../../../src/pipeline/acks.js').Ack} Ack */

/** Says yes when the primary has it, and lets WAIT end whenever it likes. @type {Ack} */
const early = {
  ...ackOf('replica'),
  async send (connection, batches, { append, waitMs }) {
    const appended = Promise.all(batches.map((batch) => append(connection, batch)))
    connection.send('WAIT', 1, waitMs).catch(() => {})
    return appended
  }
}

/** @type {Record<string, Ack>} */
export const BROKEN_ACKS = { early }
