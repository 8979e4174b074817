/**
 * Acknowledgement levels: which servers must have a batch before it counts as acknowledged. A new level is one row.
 *
 *     primary   batch batch batch ...                     one connection, many batches in flight
 *     replica   batch batch | SET marker n | WAIT 1 ms    one group at a time, on each of several connections
 *     2, 3 ..   the same with WAIT 2, WAIT 3 ..
 *
 * WAIT compares replicas with the last command of its connection that changed something. A batch that is sent again may
 * change nothing, and a bare WAIT would then return at once. So each group ends with a write that always changes
 * something, in the same pipeline. WAIT blocks its connection: batches that arrive in the meantime form the next group,
 * and several connections keep the server busy. An id always uses the same connection, so its versions stay in order.
 *
 * When too few replicas confirm in time, a new marker and WAIT are sent, but not the batches: this connection has executed
 * them already. GET of the marker returns its last value, so a server that lost writes in between (it followed another
 * primary for a moment) is detected and everything is sent again.
 *
 * @typedef {import('../store/index.js').Connection} Connection
 * @typedef {import('../layouts/index.js').Batch} Batch
 * @typedef {import('../layouts/index.js').Stored} Answer
 *
 * @typedef {object} AckContext of one stripe, kept over its sessions
 * @property {(connection: Connection, batch: Batch) => Promise<Answer>} append
 * @property {{ key: string, value: number }} marker `value`: the last one written
 * @property {number} waitMs timeout of one WAIT
 * @property {() => void} onUnconfirmed too few replicas confirmed within `waitMs`
 *
 * @typedef {object} Ack
 * @property {number} stripes least number of connections over which ids are spread
 * @property {boolean} grouped whether batches are sent in groups, one group at a time
 * @property {number} replicas that must have a batch
 * @property {(connection: Connection, batches: Batch[], context: AckContext) => Promise<Answer[]>} send resolves when the
 *   batches are acknowledged
 */
import { FreshetError } from '../errors.js'
import { replicasOf } from '../store/index.js'

const REPLICA_STRIPES = 4
/** removes the marker of a writer that is gone; a running writer renews it far more often */
const MARKER_TTL_MS = 60_000
const MARKER_TTL_WAITS = 4

/** @type {Ack} */
const PRIMARY = Object.freeze({
  stripes: 1,
  grouped: false,
  replicas: 0,
  send: (connection, batches, { append }) => Promise.all(batches.map((batch) => append(connection, batch)))
})

/** Besides them, a number of replicas is a level. @returns {string[]} */
export const ackNames = () => ['primary', 'replica']

/** Stripes of each partition. @param {Ack} ack @param {number} partitions */
export const stripesOf = (ack, partitions) => Math.ceil(ack.stripes / partitions)

/** @param {string | Ack} ack a checked level, or an ack @returns {Ack} */
export function ackOf (ack) {
  if (typeof ack !== 'string') return ack
  const replicas = replicasOf(ack)
  if (replicas === 0) return PRIMARY
  return { stripes: REPLICA_STRIPES, grouped: true, replicas, send: (...args) => sendConfirmed(replicas, ...args) }
}

/** @param {number} needed @param {Parameters<Ack['send']>} args @returns {Promise<Answer[]>} */
async function sendConfirmed (needed, ...[connection, batches, { append, marker, waitMs, onUnconfirmed }]) {
  const confirm = (/** @type {number | null} */ expected) => confirmed(connection, { marker, needed, waitMs, expected })
  const appended = Promise.all(batches.map((batch) => append(connection, batch)))
  const [answers, first] = await Promise.all([appended, confirm(null)])
  for (let replicas = first; replicas < needed;) {
    onUnconfirmed()
    replicas = await confirm(marker.value)
  }
  return answers
}

/**
 * @param {Connection} connection
 * @param {{ marker: AckContext['marker'], needed: number, waitMs: number, expected: number | null }} how `expected`: value of the marker;
 *   null = any
 * @returns {Promise<number>} replicas that have everything sent on this connection so far
 */
async function confirmed (connection, { marker, needed, waitMs, expected }) {
  const value = ++marker.value
  const [held, replicas] = await connection.sendAll([
    ['SET', marker.key, value, 'PX', Math.max(MARKER_TTL_MS, MARKER_TTL_WAITS * waitMs), 'GET'], ['WAIT', needed, waitMs]
  ])
  if (expected !== null && String(held) !== String(expected)) {
    throw new FreshetError('SERVER_LOST', `the server at ${connection.address} lost writes: a marker holds ${held}, expected ${expected}`,
      { outcome: 'over' })
  }
  return replicas
}
