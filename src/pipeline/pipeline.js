/**
 * The write path: items -> partition and lane -> batch -> window -> server, and an account of every item.
 *
 * - `append` does no await and makes no object: it spells the item into the open batch of its slot.
 * - A batch is flushed when it is full (count or bytes) or when its first item is `batchMs` old. While a few batches
 *   are unanswered already, or none can be sent, age does not flush: a batch that would only wait goes on filling.
 * - What is held, from append to acknowledgement, is bounded by `inFlightBytes`; the client below has no bound.
 * - A lane is a window over a connection of its own (acks.js says how many). An id has its lane, so its versions are
 *   written in order whatever becomes of connections.
 * - Every item offered ends in exactly one of: items (acknowledged), refused, dropped, failed.
 */
import { FreshetError } from '../errors.js'
import { MAX_SEQ, MAX_TS, createSequence } from '../item/order.js'
import { slotOf } from '../item/partition.js'
import { MAX_VALUE_BYTES } from '../item/record.js'
import { countRefused, newAccount } from './account.js'
import { createOpenBatches } from './open-batches.js'
import { createWaiting } from './waiting.js'
import { createWindow } from './window.js'

/** above the bound `ready` waits until a quarter is free, so that it does not open and shut per batch */
const RESUME_AT = 0.75
/** so far above the bound whoever appends without waiting for room is stopped; a body of the gateway fits in */
const FAR_ABOVE_BYTES = 16 * 1024 * 1024

/** @typedef {import('../layouts/index.js').Batch} Batch */
/** @typedef {import('../layouts/index.js').Retention} Retention */
/** @typedef {import('./open-batches.js').OpenBatch} OpenBatch */
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
export function createPipeline ({
  send, ack, partitions, createBatch, retention, maxFutureMs, flushAt, inFlightBytes, whenFull, clock,
  onFlush = () => {}, onBehind = () => {}, onRefused = () => {}
}) {
  const account = newAccount()
  const sequence = createSequence()
  /** @type {Map<Batch, OpenBatch>} on their way */
  const flying = new Map()
  /** @type {Set<OpenBatch>} open or on their way, in the order in which they were begun */
  const live = new Set()
  let heldBytes = 0
  let lastAcknowledgedMs = 0
  let closing = false
  const farAboveBytes = 2 * inFlightBytes + FAR_ABOVE_BYTES

  const waiting = createWaiting()
  const windows = Array.from({ length: ack.lanes }, (_, lane) => createWindow({
    send: (connection, batches) => send(lane, connection, batches),
    grouped: ack.grouped,
    onSent,
    onAcknowledged,
    onFull () {
      account.full++
      lookAtFull()
    },
    onRefused: (error) => fail(error)
  }))
  const laneOf = (/** @type {number} */ slot) => windows[Math.floor(slot / partitions)]
  const batches = createOpenBatches({
    slots: ack.lanes * partitions,
    partitions,
    createBatch,
    retention,
    flushAt,
    mostSpareBytes: inFlightBytes,
    clock,
    isBusy: (slot) => !laneOf(slot).canSend || laneOf(slot).busy,
    close: push
  })
  const { open } = batches

  // looked at for every item, so it is kept
  let isFull = false
  const lookAtFull = () => { isFull = windows.some((window) => window.full) }
  const room = () => heldBytes < inFlightBytes && !isFull

  /** @param {Batch} batch @param {boolean} again */
  function onSent (batch, again) {
    const flown = /** @type {OpenBatch} */ (flying.get(batch))
    const nowMs = clock()
    if (again) account.retried += batch.count
    else {
      flown.sentMs = nowMs
      onBehind(Math.max(0, nowMs - flown.flushDueMs))
    }
  }

  /** @param {Batch} batch @param {{ late: number }} answer */
  function onAcknowledged (batch, { late }) {
    const flown = /** @type {OpenBatch} */ (flying.get(batch))
    flying.delete(batch)
    live.delete(flown)
    account.batches++
    account.items += batch.count - late
    account.bytes += flown.valueBytes
    if (late) countRefused(account, 'late', late)
    lastAcknowledgedMs = clock()
    onFlush((lastAcknowledgedMs - flown.sentMs) / 1000)
    heldBytes -= flown.heldBytes
    batches.recycle(flown)
    lookAtFull()
    sendIfStuck()
    batches.arm()
    waiting.look()
  }

  /** @param {OpenBatch} one @param {number} flushDueMs */
  function push (one, flushDueMs) {
    open[one.slot] = null
    one.flushDueMs = flushDueMs
    flying.set(one.batch, one)
    laneOf(one.slot).push(one.batch)
  }

  function sendOpen () {
    for (const one of open) if (one) push(one, Math.min(clock(), one.firstDueMs + flushAt.ms))
  }

  /** Open batches alone can fill the bound, when there are many: then none of them need wait for more. */
  function sendIfStuck () {
    if (flying.size === 0 && heldBytes >= inFlightBytes * RESUME_AT) sendOpen()
  }

  /** @param {number} slot @param {number} dueMs */
  function begin (slot, dueMs) {
    const begun = batches.begin(slot, dueMs)
    live.add(begun)
    heldBytes += begun.heldBytes
    return begun
  }

  /** @param {string} code @param {Buffer} id @param {number} ts */
  function refuse (code, id, ts) {
    countRefused(account, code)
    onRefused(code, id, ts)
    return room()
  }

  /** @param {number} ts @param {number} valueBytes @returns {string | null} code of the refusal */
  function refusalOf (ts, valueBytes) {
    if (!Number.isInteger(ts) || ts < 0 || ts > MAX_TS) return 'ITEM_TS_INVALID'
    const nowMs = Date.now()
    if (ts > nowMs + maxFutureMs) return 'ITEM_FROM_FUTURE'
    if (retention.windowMs > 0 && ts < nowMs - retention.windowMs) return 'ITEM_TOO_OLD'
    return valueBytes > MAX_VALUE_BYTES ? 'ITEM_VALUE_TOO_LARGE' : null
  }

  /** @param {Buffer} id @param {number} ts */
  function atBound (id, ts) {
    if (whenFull === 'drop') {
      account.dropped++
      return false
    }
    countRefused(account, 'full')
    onRefused('PIPELINE_FULL', id, ts)
    return false
  }

  /** Why nothing can be appended. @returns {Error | null} */
  function obstacle () {
    if (waiting.failure) return waiting.failure
    if (closing) return new FreshetError('PIPELINE_CLOSED', 'append after close; open the feed again')
    if (heldBytes < farAboveBytes) return null
    return new FreshetError('PIPELINE_FULL', `${heldBytes} bytes are not acknowledged, far above the bound of ${inFlightBytes} (inFlightBytes); when append answers false, await ready() before the next`)
  }

  /** @param {Buffer} id @param {number} ts @param {Buffer | null} value null = a deletion @param {number} [dueMs] @param {boolean} [isLastOfItsTime] */
  function put (id, ts, value, dueMs, isLastOfItsTime = false) {
    // --- per item from here: no await, no log, no allocation
    const error = obstacle()
    if (error !== null) throw error
    account.offered++
    if (whenFull !== 'block' && !room()) return atBound(id, ts)
    const valueBytes = value === null ? 0 : value.length
    const refusal = refusalOf(ts, valueBytes)
    if (refusal !== null) return refuse(refusal, id, ts)
    const slot = slotOf(id, partitions, ack.lanes)
    const current = open[slot] ?? begin(slot, dueMs ?? clock())
    const { batch } = current
    const before = batch.bytes
    if (value === null) batch.remove(id, ts, isLastOfItsTime ? MAX_SEQ : sequence(ts))
    else batch.add(id, ts, sequence(ts), value)
    const added = batch.bytes - before
    heldBytes += added
    current.heldBytes += added
    current.valueBytes += valueBytes
    if (batch.count >= current.maxItems || batch.bytes >= flushAt.bytes) {
      push(current, Math.min(dueMs ?? clock(), current.firstDueMs + flushAt.ms))
    }
    if (heldBytes >= inFlightBytes) sendIfStuck()
    return room()
    // --- to here
  }

  /** @type {Promise<void>} */
  let drained = Promise.resolve()
  function end () {
    batches.stop()
    for (const window of windows) window.close()
    for (const { batch } of live) account.failed += batch.count
    flying.clear()
    live.clear()
    waiting.close()
  }

  /** @param {Error} error */
  const fail = (error) => waiting.fail(error)

  /** @param {{ deadlineMs?: number }} [within] @returns {Promise<void>} */
  function acknowledged ({ deadlineMs } = {}) {
    const last = batches.lastSerial
    const isDone = () => live.size === 0 || /** @type {OpenBatch} */ (live.values().next().value).serial > last
    return waiting.until(isDone, deadlineMs, 'what was appended was not acknowledged')
  }

  return {
    account,
    get heldBytes () { return heldBytes },
    /** The server takes no batch now. */
    get isFull () { return isFull },
    /** What `heldBytes` is bounded by. */
    inFlightBytes,
    get failure () { return waiting.failure },
    /** On `clock`; 0 = nothing yet. */
    get lastAcknowledgedMs () { return lastAcknowledgedMs },
    fail,
    refusalOf,
    acknowledged,
    /** @param {number} bytes @returns {string | null} code of the refusal */
    valueRefusal: (bytes) => bytes > MAX_VALUE_BYTES ? 'ITEM_VALUE_TOO_LARGE' : null,

    /** A new epoch of a lane. @param {number} lane @param {import('../store/connection.js').Connection} connection */
    attach (lane, connection) {
      windows[lane].attach(connection)
      batches.arm()
    },
    /** @param {number} lane */
    detach: (lane) => windows[lane].detach(),

    /** @param {Retention} changed holds for batches opened from now on */
    setRetention (changed) {
      retention = changed
      batches.setRetention(changed)
    },

    /**
     * Takes an item; id and value are copied.
     * @type {(id: Buffer, ts: number, value: Buffer, dueMs?: number) => boolean} `id` checked already (item/id.js),
     *   `dueMs`: when it was to be appended, on `clock`; now, if it has no such time. False = back-pressure: `await
     *   ready()` before the next. Throws PIPELINE_CLOSED, PIPELINE_FULL, or what the server refused for good
     */
    append: put,

    /**
     * Takes a deletion, a version without a value; as `append`.
     * @param {Buffer} id @param {number} ts
     * @param {{ ofAllAtThatTime?: boolean }} [options] newer than every version of that ts, whoever wrote it
     */
    remove: (id, ts, { ofAllAtThatTime } = {}) => put(id, ts, null, undefined, ofAllAtThatTime),

    /** Whether so many more bytes may be appended now; when nothing is held, any number. @param {number} bytes */
    roomFor: (bytes) => !isFull && (live.size === 0 || heldBytes + bytes <= inFlightBytes),

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

    /** Resolves when there is room again. @param {{ deadlineMs?: number }} [within] */
    ready: ({ deadlineMs } = {}) => waiting.until(() => heldBytes < inFlightBytes * RESUME_AT && !isFull, deadlineMs, 'there is no room'),

    /** Sends what is open and resolves when everything appended so far is acknowledged. @param {{ deadlineMs?: number }} [within] */
    flush (within) {
      sendOpen()
      return acknowledged(within)
    },

    /**
     * Flushes for at most `drainMs`; what is not acknowledged then counts as failed.
     * @param {{ drainMs: number }} options
     */
    async close ({ drainMs }) {
      if (closing) return drained
      closing = true
      drained = this.flush({ deadlineMs: drainMs }).catch(() => {}).then(end)
      await drained
    }
  }
}
