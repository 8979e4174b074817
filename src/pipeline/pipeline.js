/**
 * The write path: items -> partition -> batch -> window -> server, and an account of every item.
 *
 * - `append` does no await and makes no object: it spells the item into the open batch of its partition.
 * - A batch is flushed when it is full (count or bytes) or when its first item is `batchMs` old. While a few batches
 *   are unanswered already, or none can be sent, age does not flush: a batch that would only wait goes on filling.
 * - What is held, from append to acknowledgement, is bounded by `inFlightBytes`; the client below has no bound.
 * - Every item offered ends in exactly one of: items (acknowledged), refused, dropped, failed.
 */
import { FreshetError } from '../errors.js'
import { createSequence, MAX_TS } from '../item/order.js'
import { partitionOf } from '../item/partition.js'
import { MAX_VALUE_BYTES } from '../item/record.js'
import { countRefused, newAccount } from './account.js'
import { createWindow } from './window.js'

const LONE_FLUSHES = 4
/** above the bound `ready` waits until a quarter is free, so that it does not open and shut per batch */
const RESUME_AT = 0.75
const MOST_SPARE = 64

/** @typedef {import('../layouts/index.js').Batch} Batch */
/** @typedef {import('../layouts/index.js').Retention} Retention */
/** @typedef {ReturnType<typeof createPipeline>} Pipeline */

/**
 * @typedef {object} PipelineOptions
 * @property {import('../layouts/index.js').Layout} layout
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
export function createPipeline ({
  layout, partitions, createBatch, retention, maxFutureMs, flushAt, inFlightBytes, whenFull, clock,
  onFlush = () => {}, onBehind = () => {}, onRefused = () => {}
}) {
  const account = newAccount()
  const sequence = createSequence()
  /** @type {(OpenBatch | null)[]} */
  const open = new Array(partitions).fill(null)
  /** @type {OpenBatch[][]} batches that were acknowledged and are used again */
  const spare = Array.from({ length: partitions }, () => [])
  /** @type {Map<Batch, OpenBatch>} */
  const flying = new Map()
  let heldBytes = 0
  let pushed = 0
  let lastAcknowledgedMs = 0
  /** @type {Error | null} */
  let failure = null
  let closed = false
  /** @type {NodeJS.Timeout | null} */
  let ageTimer = null
  /** @type {(() => void)[]} who waits for room, or for everything to be acknowledged */
  let waiting = []

  const room = () => heldBytes < inFlightBytes && !window.full

  const window = createWindow({
    append: layout.append,
    onSent (batch, again) {
      const flown = /** @type {OpenBatch} */ (flying.get(batch))
      const nowMs = clock()
      if (again) account.retried += batch.count
      else {
        flown.sentMs = nowMs
        onBehind(Math.max(0, nowMs - flown.flushDueMs))
      }
    },
    onAcknowledged (batch, { late }) {
      const flown = /** @type {OpenBatch} */ (flying.get(batch))
      flying.delete(batch)
      account.batches++
      account.items += batch.count - late
      account.bytes += flown.valueBytes
      if (late) countRefused(account, 'late', late)
      lastAcknowledgedMs = clock()
      onFlush((lastAcknowledgedMs - flown.sentMs) / 1000)
      recycle(flown)
      if (ageTimer === null) armAge()
      wake()
    },
    onFull () { account.full++ },
    onRefused (error) { fail(error) }
  })

  /** @param {OpenBatch} used */
  function recycle (used) {
    heldBytes -= used.heldBytes
    used.batch.reset()
    used.heldBytes = used.batch.bytes
    used.valueBytes = 0
    if (used.retention === retention && spare[used.partition].length < MOST_SPARE) spare[used.partition].push(used)
  }

  /** @param {number} partition @param {number} dueMs @returns {OpenBatch} */
  function openBatch (partition, dueMs) {
    const opened = spare[partition].pop() ?? newBatch(partition)
    heldBytes += opened.heldBytes
    opened.firstDueMs = dueMs
    open[partition] = opened
    if (ageTimer === null) armAge(dueMs)
    return opened
  }

  /** @param {number} partition @returns {OpenBatch} */
  function newBatch (partition) {
    const batch = createBatch(partition, retention)
    const maxItems = Math.min(flushAt.items, batch.maxItems)
    return { batch, partition, retention, maxItems, heldBytes: batch.bytes, valueBytes: 0, firstDueMs: 0, flushDueMs: 0, sentMs: 0 }
  }

  /** @param {OpenBatch} batch @param {number} flushDueMs */
  function push (batch, flushDueMs) {
    open[batch.partition] = null
    batch.flushDueMs = flushDueMs
    pushed++
    flying.set(batch.batch, batch)
    window.push(batch.batch)
  }

  /** @param {number} [dueMs] */
  function armAge (dueMs) {
    dueMs ??= open.reduce((least, one) => one ? Math.min(least, one.firstDueMs) : least, Infinity)
    if (dueMs === Infinity) return
    ageTimer = setTimeout(flushAged, Math.max(0, dueMs + flushAt.ms - clock()))
  }

  function flushAged () {
    ageTimer = null
    // with enough on the way, the next acknowledgement arms the timer again
    if (!window.canSend || window.unanswered >= LONE_FLUSHES) return
    const nowMs = clock()
    for (const one of open) {
      if (one && one.firstDueMs + flushAt.ms <= nowMs + 0.5) push(one, one.firstDueMs + flushAt.ms)
    }
    armAge()
  }

  function flushOpen () {
    for (const one of open) if (one) push(one, Math.min(clock(), one.firstDueMs + flushAt.ms))
  }

  /** @param {string} code @param {Buffer} id @param {number} ts */
  function refuse (code, id, ts) {
    countRefused(account, code)
    onRefused(code, id, ts)
    return room()
  }

  /** @param {number} ts @returns {string | null} code of the refusal */
  function judge (ts) {
    if (!Number.isInteger(ts) || ts < 0 || ts > MAX_TS) return 'ITEM_TS_INVALID'
    const nowMs = Date.now()
    if (ts > nowMs + maxFutureMs) return 'ITEM_FROM_FUTURE'
    return retention.windowMs > 0 && ts < nowMs - retention.windowMs ? 'ITEM_TOO_OLD' : null
  }

  /** @param {Buffer} id @param {number} ts */
  function atBound (id, ts) {
    if (whenFull === 'drop') {
      account.dropped++
      return false
    }
    return refuse('full', id, ts)
  }

  /** @param {Error} error */
  function fail (error) {
    failure = error
    wake()
  }

  function wake () {
    const woken = waiting
    waiting = []
    for (const look of woken) look()
  }

  /** @param {() => boolean} condition @returns {Promise<void>} */
  function until (condition) {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (failure) reject(failure)
        else if (closed) reject(new FreshetError('PIPELINE_CLOSED', 'the pipeline was closed while waiting for it'))
        else if (condition()) resolve()
        else waiting.push(look)
      }
      look()
    })
  }

  return {
    account,
    get heldBytes () { return heldBytes },
    get failure () { return failure },
    /** On `clock`; 0 = nothing yet. */
    get lastAcknowledgedMs () { return lastAcknowledgedMs },
    fail,
    detach: window.detach,
    /** A new epoch. @param {import('../store/connection.js').Connection} connection */
    attach (connection) {
      window.attach(connection)
      if (ageTimer === null) armAge()
    },
    /** @param {Retention} changed holds for batches opened from now on */
    setRetention (changed) {
      retention = changed
      for (const pool of spare) pool.length = 0
    },

    /**
     * Takes an item; id and value are copied.
     * @param {Buffer} id checked already (item/id.js)
     * @param {number} ts
     * @param {Buffer} value
     * @param {number} [dueMs] when it was to be appended, on `clock`; now, if it has no such time
     * @returns {boolean} false = back-pressure: `await ready()` before the next
     * @throws {FreshetError} PIPELINE_CLOSED, or what the server refused for good
     */
    append (id, ts, value, dueMs) {
      // --- per item from here: no await, no log, no allocation
      if (failure) throw failure
      if (closed) throw new FreshetError('PIPELINE_CLOSED', 'append after close; open the feed again')
      account.offered++
      if (whenFull !== 'block' && !room()) return atBound(id, ts)
      const refusal = judge(ts) ?? (value.length > MAX_VALUE_BYTES ? 'ITEM_VALUE_TOO_LARGE' : null)
      if (refusal !== null) return refuse(refusal, id, ts)
      const partition = partitionOf(id, partitions)
      const current = open[partition] ?? openBatch(partition, dueMs ?? clock())
      const { batch } = current
      const before = batch.bytes
      batch.add(id, ts, sequence(ts), value)
      const added = batch.bytes - before
      heldBytes += added
      current.heldBytes += added
      current.valueBytes += value.length
      if (batch.count >= current.maxItems || batch.bytes >= flushAt.bytes) {
        push(current, Math.min(dueMs ?? clock(), current.firstDueMs + flushAt.ms))
      }
      return room()
      // --- to here
    },

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

    /** Resolves when there is room again. */
    ready: () => until(() => heldBytes < inFlightBytes * RESUME_AT && !window.full),

    /** Resolves when everything appended so far is acknowledged. */
    async flush () {
      flushOpen()
      const last = pushed
      await until(() => account.batches >= last)
    },

    /**
     * Flushes for at most `drainMs`; what is not acknowledged then counts as failed.
     * @param {{ drainMs: number }} options
     */
    async close ({ drainMs }) {
      /** @type {NodeJS.Timeout | undefined} */
      let timer
      const drained = this.flush().catch(() => {})
      await Promise.race([drained, new Promise((resolve) => { timer = setTimeout(resolve, drainMs) })])
      clearTimeout(timer)
      if (ageTimer) clearTimeout(ageTimer)
      closed = true
      window.close()
      for (const batch of flying.keys()) account.failed += batch.count
      flying.clear()
      open.fill(null)
      wake()
    }
  }
}

/**
 * @typedef {object} OpenBatch
 * @property {Batch} batch
 * @property {number} partition
 * @property {number} maxItems
 * @property {Retention} retention that it was made for
 * @property {number} heldBytes
 * @property {number} valueBytes
 * @property {number} firstDueMs when its first item was due
 * @property {number} flushDueMs when its flush was due
 * @property {number} sentMs
 */
