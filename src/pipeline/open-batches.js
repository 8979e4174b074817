/**
 * The batches that are being filled, at most one a slot (a partition on a lane), and when they go.
 *
 * One rule: a slot sends a batch when it is full, or when the one before it was sent `batchMs` ago or longer.
 *
 *     appended   x               x xx x xx x xx x x               x
 *     sent       |               |    |    |    |    |            |
 *                at once         at once, then every batchMs      at once
 *
 * So after a pause an item goes out at once, with all that is appended before the event loop turns, and of a slot at most
 * 1000 / batchMs batches a second are not full. While a few batches are unanswered already, or none can be sent, only full
 * ones go: others would only wait, and go on filling.
 *
 * Two times are kept of each slot. `nextMs` is when the next may go. It keeps to a grid, so that timers that fire late do
 * not add up; from one that was late by a whole period it begins anew. `intendedMs` is when the next is to go: how late a
 * flush is (`behindMs`) counts from there, or from when its first item was due, if that was later. After a flush that was
 * late by a whole period it does not begin anew: what waited for the server is late until all of it is caught up.
 *
 * Batches that were acknowledged are used again, so that a steady feed allocates none.
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
 * @property {number} readyMs when it may go though it is not full
 * @property {number} flushDueMs when its flush was due
 * @property {number} sentMs
 * @property {number} spareBytes about as many as it keeps while it is spare
 */

/** a timer may fire so much early */
const EARLY_MS = 0.5

/**
 * @param {{ slots: number, partitions: number, createBatch: (partition: number, retention: Retention) => Batch,
 *   retention: Retention, flushAt: { items: number, ms: number }, mostSpareBytes: number, clock: () => number,
 *   isBusy: (slot: number) => boolean, onClosed: (batch: OpenBatch) => void }} parts
 *   `mostSpareBytes`: kept for use again, of all slots; `isBusy`: a batch closed now would only wait
 */
export function createOpenBatches ({ slots, partitions, createBatch, retention, flushAt, mostSpareBytes, clock, isBusy, onClosed }) {
  /** @type {(OpenBatch | null)[]} */
  const open = new Array(slots).fill(null)
  /** @type {OpenBatch[][]} */
  const spare = Array.from({ length: slots }, () => [])
  const nextMs = new Float64Array(slots)
  const intendedMs = new Float64Array(slots)
  let spareBytes = 0
  let serial = 0
  /** when batches are looked at again; Infinity = nobody waits for that */
  let armedMs = Infinity
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  /** @type {NodeJS.Immediate | undefined} */
  let turn
  let stopped = false

  /** @param {number} slot @returns {OpenBatch} */
  function create (slot) {
    const batch = createBatch(slot % partitions, retention)
    const maxItems = Math.min(flushAt.items, batch.maxItems)
    return { batch, slot, serial: 0, retention, maxItems, heldBytes: batch.bytes, valueBytes: 0, firstDueMs: 0, readyMs: 0, flushDueMs: 0, sentMs: 0, spareBytes: 0 }
  }

  /** @param {OpenBatch} one @param {number} [dueMs] at the latest */
  function close (one, dueMs = Infinity) {
    const { slot, readyMs } = one
    const nowMs = clock()
    const lateMs = nowMs - readyMs
    open[slot] = null
    one.flushDueMs = Math.min(dueMs, Math.max(one.firstDueMs, intendedMs[slot]))
    nextMs[slot] = (lateMs >= 0 && lateMs < flushAt.ms ? readyMs : nowMs) + flushAt.ms
    intendedMs[slot] = nowMs - one.flushDueMs < flushAt.ms ? nextMs[slot] : one.flushDueMs + flushAt.ms
    onClosed(one)
  }

  function disarm () {
    armedMs = Infinity
    clearTimeout(timer)
    clearImmediate(turn)
  }

  /** @param {number} readyMs */
  function armAt (readyMs) {
    if (stopped || readyMs >= armedMs) return
    disarm()
    armedMs = readyMs
    const waitMs = readyMs - clock()
    if (waitMs > EARLY_MS) timer = setTimeout(closeReady, waitMs)
    else turn = setImmediate(closeReady)
  }

  /** Those of busy slots are looked at again when they are not busy any more: whoever knows that calls `arm`. */
  function arm () {
    let leastMs = Infinity
    for (const one of open) if (one !== null && one.readyMs < leastMs && !isBusy(one.slot)) leastMs = one.readyMs
    armAt(leastMs)
  }

  function closeReady () {
    disarm()
    const nowMs = clock()
    for (const one of open) if (one !== null && one.readyMs <= nowMs + EARLY_MS && !isBusy(one.slot)) close(one)
    arm()
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
      begun.readyMs = Math.max(clock(), nextMs[slot])
      open[slot] = begun
      if (begun.readyMs < armedMs && !isBusy(slot)) armAt(begun.readyMs)
      return begun
    },

    /** It is full. @param {OpenBatch} one @param {number} dueMs when its last item was due */
    close,

    /** Full or not, busy or not. */
    closeAll () {
      const nowMs = clock()
      for (const one of open) if (one !== null) close(one, nowMs)
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

    /** A slot may not be busy any more. */
    arm,

    /** @param {Retention} changed holds for batches begun from now on */
    setRetention (changed) {
      retention = changed
      for (const pool of spare) pool.length = 0
      spareBytes = 0
    },

    stop () {
      stopped = true
      disarm()
      open.fill(null)
    }
  }
}
