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

/** WAIT without a write of its own before it: it is compared with the last command of the connection that changed something. @type {Ack} */
const bareWait = {
  ...ackOf('replica'),
  async send (connection, batches, { append, waitMs, onUnconfirmed }) {
    const answers = await Promise.all(batches.map((batch) => append(connection, batch)))
    while (await connection.send('WAIT', 1, waitMs) < 1) onUnconfirmed()
    return answers
  }
}

/** @type {Record<string, Ack>} */
export const BROKEN_ACKS = { early, bareWait }
