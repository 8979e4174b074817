/**
 * The batches that are being filled, at most one a slot (a partition on a lane), and the timer that closes those whose
 * first item is `batchMs` old. Batches that were acknowledged are used again, so that a steady feed allocates none.
 *
 * @typedef {import('../layouts/index.js').Batch} Batch
 * @typedef {import('../layouts/index.js').Retention} Retention
 *
 * @typedef {object} OpenBatch
 * @property {Batch} batch
 * @property {number} slot
 * @property {number} serial rises with every opening
 * @property {number} maxItems
 * @property {Retention} retention that it was made for
 * @property {number} heldBytes
 * @property {number} valueBytes
 * @property {number} firstDueMs when its first item was due
 * @property {number} flushDueMs when its flush was due
 * @property {number} sentMs
 * @property {number} spareBytes about as many as it keeps while it is spare
 */

/**
 * @param {{ slots: number, partitions: number, createBatch: (partition: number, retention: Retention) => Batch,
 *   retention: Retention, flushAt: { items: number, ms: number }, mostSpareBytes: number, clock: () => number,
 *   isBusy: (slot: number) => boolean, close: (batch: OpenBatch, flushDueMs: number) => void }} parts
 *   `mostSpareBytes`: kept for use again, of all slots; `isBusy`: a batch closed now would only wait; `close` is called for each batch that is old enough
 */
export function createOpenBatches ({ slots, partitions, createBatch, retention, flushAt, mostSpareBytes, clock, isBusy, close }) {
  /** @type {(OpenBatch | null)[]} */
  const open = new Array(slots).fill(null)
  /** @type {OpenBatch[][]} */
  const spare = Array.from({ length: slots }, () => [])
  let spareBytes = 0
  let serial = 0
  /** @type {NodeJS.Timeout | null} */
  let timer = null
  let timerDueMs = 0
  let stopped = false

  /** @param {number} slot @returns {OpenBatch} */
  function create (slot) {
    const batch = createBatch(slot % partitions, retention)
    const maxItems = Math.min(flushAt.items, batch.maxItems)
    return { batch, slot, serial: 0, retention, maxItems, heldBytes: batch.bytes, valueBytes: 0, firstDueMs: 0, flushDueMs: 0, sentMs: 0, spareBytes: 0 }
  }

  /** @param {number} [dueMs] */
  function arm (dueMs) {
    if (stopped) return
    dueMs ??= open.reduce((least, one) => one ? Math.min(least, one.firstDueMs) : least, Infinity)
    if (dueMs === Infinity || (timer !== null && timerDueMs <= dueMs)) return
    if (timer) clearTimeout(timer)
    timerDueMs = dueMs
    timer = setTimeout(closeAged, Math.max(0, dueMs + flushAt.ms - clock()))
  }

  function closeAged () {
    timer = null
    const nowMs = clock()
    let waits = Infinity
    for (const one of open) {
      // a busy one is looked at again when its lane is not busy any more: whoever knows that calls `arm`
      if (one === null || isBusy(one.slot)) continue
      if (one.firstDueMs + flushAt.ms <= nowMs + 0.5) close(one, one.firstDueMs + flushAt.ms)
      else waits = Math.min(waits, one.firstDueMs)
    }
    if (waits !== Infinity) arm(waits)
  }

  return {
    /** By slot. */
    open,
    get lastSerial () { return serial },

    /** @param {number} slot @param {number} dueMs when its first item was due @returns {OpenBatch} */
    begin (slot, dueMs) {
      const begun = spare[slot].pop() ?? create(slot)
      spareBytes -= begun.spareBytes
      begun.spareBytes = 0
      begun.serial = ++serial
      begun.firstDueMs = dueMs
      open[slot] = begun
      arm(dueMs)
      return begun
    },

    /** @param {OpenBatch} used */
    recycle (used) {
      const bytes = used.batch.bytes
      used.batch.reset()
      used.heldBytes = used.batch.bytes
      used.valueBytes = 0
      if (used.retention !== retention || spareBytes + bytes > mostSpareBytes) return
      used.spareBytes = bytes
      spareBytes += bytes
      spare[used.slot].push(used)
    },

    /** Sets the timer if there is something to wait for and it is not set. */
    arm: () => arm(),

    /** @param {Retention} changed holds for batches begun from now on */
    setRetention (changed) {
      retention = changed
      for (const pool of spare) pool.length = 0
      spareBytes = 0
    },

    stop () {
      stopped = true
      if (timer) clearTimeout(timer)
      open.fill(null)
    }
  }
}
