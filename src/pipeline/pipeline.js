/**
 * The write path: items -> partition and stripe -> batch -> window -> server, with an account of every item.
 *
 *     append ──▶ intake.js ──▶ open batch ──▶ delivery.js ──▶ window.js ──▶ server
 *                checks, counts              closes, sends, acknowledges
 *
 * Every item offered ends in exactly one of: items (acknowledged), refused, dropped, failed.
 */
import { countRefused, newAccount } from './account.js'
import { createDelivery } from './delivery.js'
import { createIntake } from './intake.js'
import { createWaiters } from './waiters.js'

/** @typedef {import('../layouts/index.js').Batch} Batch */
/** @typedef {import('../layouts/index.js').Retention} Retention */
/** @typedef {ReturnType<typeof createPipeline>} Pipeline */

/**
 * @typedef {object} PipelineOptions
 * @property {(bucket: number, connection: import('../store/index.js').Connection, batches: Batch[]) =>
 *   Promise<import('./acks.js').Answer[]>} send
 * @property {(connection: import('../store/index.js').Connection) => boolean} [isAlone] whether the next batch waits until all earlier
 *   ones of the connection are answered
 * @property {{ stripes: number, grouped: boolean }} ack `stripes`: of each partition
 * @property {number} partitions
 * @property {(partition: number, retention: Retention) => Batch} createBatch
 * @property {Retention} retention
 * @property {number} maxFutureMs
 * @property {{ items: number, bytes: number, ms: number }} flushAt
 * @property {number} inFlightBytes
 * @property {'block' | 'refuse' | 'drop'} whenFull
 * @property {() => number} clock wall clock in ms, with fractions
 * @property {() => void} [onBegin] a batch gets its first item
 * @property {(seconds: number) => void} [onFlush] time of a batch from its first sending to its acknowledgement
 * @property {(behindMs: number) => void} [onBehind] how late a flush started
 * @property {(code: string, id: Buffer, ts: number) => void} [onRefused] an item was refused
 */

/** @param {PipelineOptions} options */
export function createPipeline (options) {
  const account = newAccount()
  const waiters = createWaiters()
  const delivery = createDelivery({ ...options, account, waiters })
  const intake = createIntake({ ...options, account, waiters, delivery })
  /** @type {Promise<void>} */
  let drained = Promise.resolve()

  /** Sends open batches and resolves when everything appended so far is acknowledged. @param {{ deadlineMs?: number }} [within] */
  function flush (within) {
    delivery.closeAll()
    return delivery.acknowledged(within)
  }

  return {
    account,
    /** Nothing waits to be sent or acknowledged. */
    get isIdle () { return delivery.isIdle },
    get heldBytes () { return delivery.held.bytes },
    /** The server accepts no batch now. */
    get isFull () { return delivery.held.isFull },
    /** The bound of `heldBytes`. */
    inFlightBytes: options.inFlightBytes,
    get failure () { return waiters.failure },
    /** On `clock`; 0 = nothing yet. */
    get lastAcknowledgedMs () { return delivery.lastAcknowledgedMs },
    fail: waiters.fail,
    refusalOf: intake.refusalOf,
    roomFor: intake.roomFor,
    ready: intake.ready,
    acknowledged: delivery.acknowledged,
    flush,
    /** A new session of a bucket. */
    attach: delivery.attach,
    detach: delivery.detach,
    /** Connections that the same batch ended in a row. */
    get lostInRow () { return delivery.lostInRow },
    valueRefusal: intake.valueRefusal,

    /** @param {Retention} changed in force for batches opened from now on */
    setRetention (changed) {
      intake.setRetention(changed)
      delivery.setRetention(changed)
    },

    /**
     * Appends an item; id and value are copied.
     * @type {(id: Buffer, ts: number, value: Buffer, dueMs?: number) => boolean} `id`: checked (item/id.js); `dueMs`: its
     *   intended time on `clock`, default now. Returns false for back-pressure: `await ready()` before the next append.
     *   Throws PIPELINE_CLOSED, PIPELINE_FULL, or the failure of the pipeline
     */
    append: intake.put,

    /**
     * Appends a deletion, a version without a value; as `append`.
     * @param {Buffer} id @param {number} ts
     * @param {{ ofAllAtThatTime?: boolean }} [options] newer than every version of that ts, of all writers
     */
    remove: (id, ts, { ofAllAtThatTime } = {}) => intake.put(id, ts, null, undefined, ofAllAtThatTime),

    /** Counts an item that could not be appended. @param {string} code of the error */
    refuse (code) {
      account.offered++
      countRefused(account, code)
    },

    /** Counts intended items that were never created. @param {number} n */
    skip (n) {
      account.offered += n
      account.dropped += n
    },

    /**
     * Flushes for at most `drainMs`; items not acknowledged by then count as failed.
     * @param {{ drainMs: number }} options
     */
    async close ({ drainMs }) {
      if (intake.isClosed) return drained
      intake.close()
      drained = flush({ deadlineMs: drainMs }).catch(() => {}).then(delivery.end)
      await drained
    }
  }
}
