/**
 * The write path: items -> partition and lane -> batch -> window -> server, and an account of every item.
 *
 *     append ──▶ intake.js ──▶ open batch ──▶ delivery.js ──▶ window.js ──▶ server
 *                judges, counts              closes, sends, acknowledges
 *
 * Every item offered ends in exactly one of: items (acknowledged), refused, dropped, failed.
 */
import { MAX_VALUE_BYTES } from '../item/record.js'
import { countRefused, newAccount } from './account.js'
import { createDelivery } from './delivery.js'
import { createIntake } from './intake.js'
import { createWaiting } from './waiting.js'

/** @typedef {import('../layouts/index.js').Batch} Batch */
/** @typedef {import('../layouts/index.js').Retention} Retention */
/** @typedef {ReturnType<typeof createPipeline>} Pipeline */

/**
 * @typedef {object} PipelineOptions
 * @property {(lane: number, connection: import('../store/connection.js').Connection, batches: Batch[]) => Promise<{ late: number }[]>} send
 * @property {{ lanes: number, grouped: boolean }} ack
 * @property {number} partitions
 * @property {(partition: number, retention: Retention) => Batch} createBatch
 * @property {Retention} retention
 * @property {number} maxFutureMs
 * @property {{ items: number, bytes: number, ms: number }} flushAt
 * @property {number} inFlightBytes
 * @property {'block' | 'refuse' | 'drop'} whenFull
 * @property {() => number} clock wall clock in ms, with fractions
 * @property {(seconds: number) => void} [onFlush] how long a batch took from first sending to acknowledgement
 * @property {(behindMs: number) => void} [onBehind] how late a flush started
 * @property {(code: string, id: Buffer, ts: number) => void} [onRefused] an item was refused
 */

/** @param {PipelineOptions} options */
export function createPipeline (options) {
  const account = newAccount()
  const waiting = createWaiting()
  const delivery = createDelivery({ ...options, account, waiting })
  const intake = createIntake({ ...options, account, waiting, delivery })
  /** @type {Promise<void>} */
  let drained = Promise.resolve()

  /** Sends what is open and resolves when everything appended so far is acknowledged. @param {{ deadlineMs?: number }} [within] */
  function flush (within) {
    delivery.closeAll()
    return delivery.acknowledged(within)
  }

  return {
    account,
    get heldBytes () { return delivery.held.bytes },
    /** The server takes no batch now. */
    get isFull () { return delivery.held.isFull },
    /** What `heldBytes` is bounded by. */
    inFlightBytes: options.inFlightBytes,
    get failure () { return waiting.failure },
    /** On `clock`; 0 = nothing yet. */
    get lastAcknowledgedMs () { return delivery.lastAcknowledgedMs },
    fail: waiting.fail,
    refusalOf: intake.refusalOf,
    roomFor: intake.roomFor,
    ready: intake.ready,
    acknowledged: delivery.acknowledged,
    flush,
    /** A new epoch of a lane. */
    attach: delivery.attach,
    detach: delivery.detach,
    /** @param {number} bytes @returns {string | null} code of the refusal */
    valueRefusal: (bytes) => bytes > MAX_VALUE_BYTES ? 'ITEM_VALUE_TOO_LARGE' : null,

    /** @param {Retention} changed holds for batches opened from now on */
    setRetention (changed) {
      intake.setRetention(changed)
      delivery.setRetention(changed)
    },

    /**
     * Takes an item; id and value are copied.
     * @type {(id: Buffer, ts: number, value: Buffer, dueMs?: number) => boolean} `id` checked already (item/id.js),
     *   `dueMs`: when it was to be appended, on `clock`; now, if it has no such time. False = back-pressure: `await
     *   ready()` before the next. Throws PIPELINE_CLOSED, PIPELINE_FULL, or what the server refused for good
     */
    append: intake.put,

    /**
     * Takes a deletion, a version without a value; as `append`.
     * @param {Buffer} id @param {number} ts
     * @param {{ ofAllAtThatTime?: boolean }} [options] newer than every version of that ts, whoever wrote it
     */
    remove: (id, ts, { ofAllAtThatTime } = {}) => intake.put(id, ts, null, undefined, ofAllAtThatTime),

    /** Counts an item that its source could not even offer. @param {string} code of the error */
    refuse (code) {
      account.offered++
      countRefused(account, code)
    },

    /** Counts intended items that were never made. @param {number} n */
    skip (n) {
      account.offered += n
      account.dropped += n
    },

    /**
     * Flushes for at most `drainMs`; what is not acknowledged then counts as failed.
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
