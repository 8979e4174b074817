/**
 * The batches that are being filled, at most one per bucket (a partition on a stripe), and when they are sent.
 *
 * One rule: a bucket sends a batch when it is full, or when its previous batch was sent `batchMs` ago or longer.
 *
 *     appended   x               x xx x xx x xx x x               x
 *     sent       |               |    |    |    |    |            |
 *                at once         at once, then every batchMs      at once
 *
 * So after a pause an item is sent at once, with everything appended in the same turn of the event loop, and a bucket
 * sends at most 1000 / batchMs partial batches a second. While a bucket is busy (several batches unanswered, or none can
 * be sent), only full batches close: a partial one would only wait, so it goes on filling.
 *
 * Each bucket keeps two times:
 * - `nextMs`: when the next batch may be sent. It follows a grid, so that delays of timers do not add up; a delay of a
 *   whole period restarts the grid.
 * - `intendedMs`: when the next flush is due. `behindMs` counts from there, or from the due time of its first item if that
 *   is later. A delay of a whole period does not restart it: batches stay late until the backlog is caught up.
 *
 * @typedef {import('../layouts/index.js').Batch} Batch
 * @typedef {import('../layouts/index.js').Retention} Retention
 *
 * @typedef {object} OpenBatch
 * @property {Batch} batch
 * @property {number} bucket
 * @property {number} serial rises with every opening
 * @property {number} maxItems
 * @property {Retention} retention in force when it was created
 * @property {number} heldBytes
 * @property {number} valueBytes
 * @property {number} firstDueMs when its first item was due
 * @property {number} readyMs when it may be sent though not full
 * @property {number} flushDueMs when its flush was due
 * @property {number} sentMs
 * @property {number} spareBytes memory it keeps while it is spare
 */

/** a timer may fire this much early */
const EARLY_MS = 0.5

/**
 * @param {{ buckets: number, partitions: number, createBatch: (partition: number, retention: Retention) => Batch,
 *   retention: Retention, flushAt: { items: number, ms: number }, maxSpareBytes: number, clock: () => number,
 *   isBusy: (bucket: number) => boolean, onClosed: (batch: OpenBatch) => void }} parts
 *   `maxSpareBytes`: kept for reuse, all buckets together; `isBusy`: a batch closed now would only wait
 */
export function createOpenBatches ({ buckets, partitions, createBatch, retention, flushAt, maxSpareBytes, clock, isBusy, onClosed }) {
  /** @type {(OpenBatch | null)[]} */
  const open = new Array(buckets).fill(null)
  const spare = createSpareBatches(buckets, maxSpareBytes)
  const nextMs = new Float64Array(buckets)
  const intendedMs = new Float64Array(buckets)
  let serial = 0
  const alarm = createAlarm(clock, closeReady)

  /** @param {number} bucket */
  const create = (bucket) => openBatchOf(createBatch(bucket % partitions, retention), bucket, retention, flushAt.items)

  /** @param {OpenBatch} batch @param {number} [dueMs] latest due time of its flush */
  function close (batch, dueMs = Infinity) {
    const { bucket, readyMs } = batch
    const nowMs = clock()
    const lateMs = nowMs - readyMs
    open[bucket] = null
    batch.flushDueMs = Math.min(dueMs, Math.max(batch.firstDueMs, intendedMs[bucket]))
    nextMs[bucket] = (lateMs >= 0 && lateMs < flushAt.ms ? readyMs : nowMs) + flushAt.ms
    intendedMs[bucket] = nowMs - batch.flushDueMs < flushAt.ms ? nextMs[bucket] : batch.flushDueMs + flushAt.ms
    onClosed(batch)
  }

  /** Sets the alarm for the next batch. The caller calls it again when a bucket stops being busy. */
  function arm () {
    let leastMs = Infinity
    for (const batch of open) if (batch !== null && batch.readyMs < leastMs && !isBusy(batch.bucket)) leastMs = batch.readyMs
    alarm.set(leastMs)
  }

  function closeReady () {
    alarm.clear()
    const nowMs = clock()
    for (const batch of open) if (batch !== null && batch.readyMs <= nowMs + EARLY_MS && !isBusy(batch.bucket)) close(batch)
    arm()
  }

  return {
    /** By bucket. */
    open,
    get lastSerial () { return serial },

    /** @param {number} bucket @param {number} dueMs when its first item was due @returns {OpenBatch} */
    begin (bucket, dueMs) {
      const begun = spare.take(bucket) ?? create(bucket)
      begun.serial = ++serial
      begun.firstDueMs = dueMs
      begun.readyMs = Math.max(clock(), nextMs[bucket])
      open[bucket] = begun
      if (begun.readyMs < alarm.atMs && !isBusy(bucket)) alarm.set(begun.readyMs)
      return begun
    },

    close,

    /** Closes all batches, also of busy buckets. */
    closeAll () {
      const nowMs = clock()
      for (const batch of open) if (batch !== null) close(batch, nowMs)
    },

    /** @param {OpenBatch} used */
    recycle (used) {
      const bytes = used.batch.bytes
      used.batch.reset()
      used.heldBytes = used.batch.bytes
      used.valueBytes = 0
      if (used.retention === retention) spare.put(used, bytes)
    },

    arm,

    /** @param {Retention} changed in force for batches begun from now on */
    setRetention (changed) {
      retention = changed
      spare.clear()
    },

    stop () {
      alarm.stop()
      open.fill(null)
    }
  }
}

/** @param {Batch} batch @param {number} bucket @param {Retention} retention @param {number} maxItems @returns {OpenBatch} */
const openBatchOf = (batch, bucket, retention, maxItems) => ({
  batch,
  bucket,
  serial: 0,
  retention,
  maxItems: Math.min(maxItems, batch.maxItems),
  heldBytes: batch.bytes,
  valueBytes: 0,
  firstDueMs: 0,
  readyMs: 0,
  flushDueMs: 0,
  sentMs: 0,
  spareBytes: 0
})

/** One timer for the earliest of the times it is set to. @param {() => number} clock @param {() => void} onDue must clear it */
function createAlarm (clock, onDue) {
  /** Infinity = not set */
  let atMs = Infinity
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  /** @type {NodeJS.Immediate | undefined} */
  let immediate
  let stopped = false

  function clear () {
    atMs = Infinity
    clearTimeout(timer)
    clearImmediate(immediate)
  }

  return {
    get atMs () { return atMs },
    clear,
    /** @param {number} ms on `clock`; a later time than the one set has no effect */
    set (ms) {
      if (stopped || ms >= atMs) return
      clear()
      atMs = ms
      const waitMs = ms - clock()
      if (waitMs > EARLY_MS) timer = setTimeout(onDue, waitMs)
      else immediate = setImmediate(onDue)
    },
    stop () {
      stopped = true
      clear()
    }
  }
}

// Acknowledged batches that are used again, by bucket, so that a steady feed allocates none.

/** @param {number} buckets @param {number} maxBytes kept in all buckets together */
function createSpareBatches (buckets, maxBytes) {
  /** @type {OpenBatch[][]} */
  const spare = Array.from({ length: buckets }, () => [])
  let bytes = 0

  return {
    /** @param {number} bucket @returns {OpenBatch | undefined} */
    take (bucket) {
      const batch = spare[bucket].pop()
      if (batch === undefined) return undefined
      bytes -= batch.spareBytes
      batch.spareBytes = 0
      return batch
    },

    /** Keeps a batch, if there is room. @param {OpenBatch} batch @param {number} size about as many bytes as it keeps */
    put (batch, size) {
      if (bytes + size > maxBytes) return
      batch.spareBytes = size
      bytes += size
      spare[batch.bucket].push(batch)
    },

    clear () {
      for (const pool of spare) pool.length = 0
      bytes = 0
    }
  }
}
