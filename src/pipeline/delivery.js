/**
 * Closes, sends and acknowledges batches.
 *
 *     begin ──▶ open ── close ──▶ in flight ── acknowledged ──▶ reused
 *               └──────────── live ─────────────┘
 *
 * - A batch closes when it is full (count or bytes; intake.js checks that), or by the rule of open-batches.js.
 * - Each bucket (a stripe of a partition) is a window over a connection of its own. An id always uses the same bucket, so its
 *   versions are written in order, whatever happens to connections, and a partition that moves to another primary delays no other.
 * - `held` counts bytes from append to acknowledgement; intake.js bounds it.
 */
import { countRefused } from './account.js'
import { createOpenBatches } from './open-batches.js'
import { createStripeWindows } from './window.js'

/** of the in-flight bound: `ready` resolves below it, so that back-pressure does not toggle with every batch */
export const RESUME_AT = 0.75

/** @typedef {import('./open-batches.js').OpenBatch} OpenBatch */
/** @typedef {ReturnType<typeof createDelivery>} Delivery */

/**
 * @param {import('./pipeline.js').PipelineOptions & { account: import('./account.js').Account,
 *   waiters: import('./waiters.js').Waiters }} parts
 */
export function createDelivery (parts) {
  const { ack, partitions, inFlightBytes, clock, account, waiters, onBegin = () => {}, onFlush = () => {} } = parts
  /** @type {Set<OpenBatch>} open or in flight, in the order in which they were begun */
  const live = new Set()
  let inFlight = 0
  // read for every item
  const held = { bytes: 0, isFull: false }
  let lastAcknowledgedMs = 0

  const buckets = ack.stripes * partitions
  const windows = createStripeWindows({ ...parts, buckets, onAcknowledged, onFull, onRefused: waiters.fail })
  const batches = createOpenBatches({
    ...parts,
    buckets,
    maxSpareBytes: inFlightBytes,
    isBusy: (bucket) => !windows[bucket].canSend || windows[bucket].busy,
    onClosed (one) {
      inFlight++
      windows[one.bucket].push(one)
    }
  })

  const updateFull = () => { held.isFull = windows.some((window) => window.full) }

  function onFull () {
    account.full++
    updateFull()
  }

  /** @param {OpenBatch} one @param {import('./acks.js').Answer} answer */
  function onAcknowledged (one, answer) {
    const { sentMs } = one
    inFlight--
    live.delete(one)
    countAcknowledged(account, one, answer)
    lastAcknowledgedMs = clock()
    held.bytes -= one.heldBytes
    batches.recycle(one)
    updateFull()
    closeIfStuck()
    batches.arm()
    waiters.check()
    onFlush((lastAcknowledgedMs - sentMs) / 1000)
  }

  /** Many open batches can reach the bound while none is in flight: close them all, since nothing else will. */
  function closeIfStuck () {
    if (inFlight === 0 && held.bytes >= inFlightBytes * RESUME_AT) batches.closeAll()
  }

  return {
    /** The intake adds to `bytes`. `isFull`: the server accepts no batch now. */
    held,
    /** By bucket; null = none is open. */
    open: batches.open,
    close: batches.close,
    closeAll: batches.closeAll,
    closeIfStuck,

    /** Opens a batch. @param {number} bucket @param {number} dueMs when its first item was due */
    begin (bucket, dueMs) {
      const begun = batches.begin(bucket, dueMs)
      live.add(begun)
      held.bytes += begun.heldBytes
      onBegin()
      return begun
    },

    get isIdle () { return live.size === 0 },
    get lastAcknowledgedMs () { return lastAcknowledgedMs },

    /** Resolves when all batches that are live now are acknowledged. @param {{ deadlineMs?: number }} [within] @returns {Promise<void>} */
    acknowledged ({ deadlineMs } = {}) {
      const last = batches.lastSerial
      const isDone = () => live.size === 0 || /** @type {OpenBatch} */ (live.values().next().value).serial > last
      return waiters.until(isDone, deadlineMs, 'appended items were not acknowledged')
    },

    /** @param {number} bucket @param {import('../store/index.js').Connection} connection */
    attach (bucket, connection) {
      windows[bucket].attach(connection)
      batches.arm()
    },
    /** @param {number} bucket */
    detach: (bucket) => windows[bucket].detach(),
    get lostInRow () { return Math.max(...windows.map((window) => window.lostInRow)) },
    setRetention: batches.setRetention,

    /** Stops sending and counts all live items as failed. */
    end () {
      batches.stop()
      for (const window of windows) window.close()
      for (const { batch } of live) account.failed += batch.count
      live.clear()
      waiters.close()
    }
  }
}

/** @param {import('./account.js').Account} account @param {OpenBatch} one @param {import('./acks.js').Answer} answer */
function countAcknowledged (account, { batch, valueBytes }, { late, lateBytes = 0, form }) {
  account.batches++
  if (form === 'watched') account.watched++
  else if (form === 'script') account.scripts++
  account.items += batch.count - late
  account.bytes += valueBytes - lateBytes
  if (late) countRefused(account, 'late', late)
}
