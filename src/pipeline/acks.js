/**
 * Who must have a batch before it counts as acknowledged, and how that is found out. Adding one is one row.
 *
 *     primary   batch batch batch ...                     one connection, many batches on their way
 *     replica   batch batch | SET marker n | WAIT 1 ms    a group at a time, on each of several connections
 *
 * WAIT compares replicas with the last command of its connection that changed something, and a batch that is sent again
 * may change nothing: a bare WAIT then answers at once, whatever replicas have. So each group ends with a write that
 * always changes something, in the same pipeline. WAIT blocks its connection: batches that come meanwhile are the next
 * group, and several connections keep the server busy. An id always takes the same connection, so its versions stay in
 * order.
 *
 * When no replica answers, nothing is acknowledged and the question is put again with a new marker, not with the batches:
 * those are executed already, on this very connection. The marker tells what it held before, so a server that lost writes
 * in between (it followed another one for a moment) is found out and everything is sent again.
 *
 * @typedef {import('../store/connection.js').Connection} Connection
 * @typedef {import('../layouts/index.js').Batch} Batch
 * @typedef {{ late: number }} Answer
 *
 * @typedef {object} AckContext of one connection after the other, in turn
 * @property {(connection: Connection, batch: Batch) => Promise<Answer>} append
 * @property {{ key: string, value: number }} marker `value`: the last one written
 * @property {number} waitMs how long a replica is waited for before the question is put again
 * @property {() => void} onUnconfirmed no replica answered within `waitMs`
 *
 * @typedef {object} Ack
 * @property {number} lanes connections over which ids are spread
 * @property {boolean} grouped whether batches go out in groups, one at a time
 * @property {(connection: Connection, batches: Batch[], context: AckContext) => Promise<Answer[]>} send resolves when the
 *   batches are where they must be
 */
import { FreshetError } from '../errors.js'

const REPLICA_LANES = 4
/** of a marker whose writer is gone; of others it is written again long before */
const MARKER_TTL_MS = 60_000
const MARKER_TTL_WAITS = 4

/** @type {Readonly<Record<string, Ack>>} */
const ACKS = Object.freeze({
  primary: {
    lanes: 1,
    grouped: false,
    send: (connection, batches, { append }) => Promise.all(batches.map((batch) => append(connection, batch)))
  },
  replica: { lanes: REPLICA_LANES, grouped: true, send: sendConfirmed }
})

/** @returns {string[]} */
export const ackNames = () => Object.keys(ACKS)

/** @param {string | Ack} ack a name, checked already, or an ack itself @returns {Ack} */
export const ackOf = (ack) => typeof ack === 'string' ? ACKS[ack] : ack

/** @type {Ack['send']} */
async function sendConfirmed (connection, batches, { append, marker, waitMs, onUnconfirmed }) {
  const appended = Promise.all(batches.map((batch) => append(connection, batch)))
  const [answers, first] = await Promise.all([appended, confirm(connection, marker, waitMs, null)])
  for (let replicas = first; replicas < 1;) {
    onUnconfirmed()
    replicas = await confirm(connection, marker, waitMs, marker.value)
  }
  return answers
}

/**
 * @param {Connection} connection
 * @param {AckContext['marker']} marker
 * @param {number} waitMs
 * @param {number | null} expected what the marker must hold, null = anything
 * @returns {Promise<number>} how many replicas have everything that was sent before on this connection
 */
async function confirm (connection, marker, waitMs, expected) {
  const value = ++marker.value
  const [held, replicas] = await connection.sendAll([
    ['SET', marker.key, value, 'PX', Math.max(MARKER_TTL_MS, MARKER_TTL_WAITS * waitMs), 'GET'], ['WAIT', 1, waitMs]
  ])
  if (expected !== null && String(held) !== String(expected)) {
    throw new FreshetError('SERVER_LOST', `the server at ${connection.address} lost writes: a marker holds ${held}, not ${expected}`, { outcome: 'over' })
  }
  return replicas
}
