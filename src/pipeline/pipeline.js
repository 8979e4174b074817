/**
 * The write path: items -> partition and stripe -> batch -> window -> server, with an account of every item.
 *
 *     append ──▶ createIntake ──▶ open batch ──▶ delivery.js ──▶ window.js ──▶ server
 *                checks, counts                  closes, sends, acknowledges
 *
 * Every item offered ends in exactly one of: items (acknowledged), refused, dropped, failed.
 */
import { FreshetError } from '../errors.js'
import { bucketOf, createSequence, MAX_SEQ, MAX_TS, MAX_VALUE_BYTES } from '../item/index.js'
import { countRefused, createDelivery, newAccount, RESUME_AT } from './delivery.js'

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
    fitsBudget: intake.fitsBudget,
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

/** above the bound: a caller that ignores back-pressure gets an error from there on; one body of the gateway fits in */
const MAX_OVERRUN_BYTES = 16 * 1024 * 1024

/**
 * Takes items in: checks and counts each, and encodes it into the open batch of its bucket.
 *
 * `put` awaits nothing and creates no object. `inFlightBytes` bounds the bytes held from append to acknowledgement, because the
 * client has no bound of its own.
 * @param {PipelineOptions & { account: import('./delivery.js').Account,
 *   waiters: Waiters, delivery: import('./delivery.js').Delivery }} parts
 */
function createIntake ({
  ack, partitions, retention, maxFutureMs, flushAt, inFlightBytes, whenFull, clock, account, waiters, delivery, onRefused = () => {}
}) {
  const sequence = createSequence()
  const wallMs = createCoarseClock()
  const { held, open, begin, close, closeIfStuck } = delivery
  const { stripes } = ack
  const maxHeldBytes = 2 * inFlightBytes + MAX_OVERRUN_BYTES
  let closing = false

  const room = () => held.bytes < inFlightBytes && !held.isFull

  /** @param {string} code @param {Buffer} id @param {number} ts */
  function refuse (code, id, ts) {
    countRefused(account, code)
    onRefused(code, id, ts)
    return room()
  }

  /** @param {number} ts @param {number} valueBytes @returns {string | null} code of the refusal */
  function refusalOf (ts, valueBytes) {
    if (!Number.isInteger(ts) || ts < 0 || ts > MAX_TS) return 'ITEM_TS_INVALID'
    const nowMs = wallMs()
    // the cached clock may lag behind the item: ask the real one before refusing
    if (ts > nowMs + maxFutureMs && ts > Date.now() + maxFutureMs) return 'ITEM_FROM_FUTURE'
    if (retention.windowMs > 0 && ts < nowMs - retention.windowMs) return 'ITEM_TOO_OLD'
    return valueRefusal(valueBytes)
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

  /** @returns {Error | null} why nothing can be appended */
  function obstacle () {
    if (waiters.failure) return waiters.failure
    if (closing) return new FreshetError('PIPELINE_CLOSED', 'append after close; open the feed again')
    if (held.bytes < maxHeldBytes) return null
    return new FreshetError('PIPELINE_FULL', `${held.bytes} bytes are not acknowledged, far above the bound of ${inFlightBytes} ` +
      '(inFlightBytes); when append returns false, await ready() before the next append')
  }

  /**
   * @param {Buffer} id @param {number} ts @param {Buffer | null} value null = a deletion @param {number} [dueMs]
   * @param {boolean} [isLastOfItsTime] newer than every version of that ts
   */
  function put (id, ts, value, dueMs, isLastOfItsTime = false) {
    // --- per item from here: no await, no log, no allocation
    const error = obstacle()
    if (error !== null) throw error
    account.offered++
    if (whenFull !== 'block' && !room()) return atBound(id, ts)
    const valueBytes = value === null ? 0 : value.length
    const refusal = refusalOf(ts, valueBytes)
    if (refusal !== null) return refuse(refusal, id, ts)
    const bucket = bucketOf(id, partitions, stripes)
    const current = open[bucket] ?? begin(bucket, dueMs ?? clock())
    const { batch } = current
    const before = batch.bytes
    if (value === null) batch.remove(id, ts, isLastOfItsTime ? MAX_SEQ : sequence(ts))
    else batch.add(id, ts, sequence(ts), value)
    const added = batch.bytes - before
    held.bytes += added
    current.heldBytes += added
    current.valueBytes += valueBytes
    if (batch.count >= current.maxItems || batch.bytes >= flushAt.bytes) {
      close(current, dueMs ?? clock())
    }
    if (held.bytes >= inFlightBytes) closeIfStuck()
    return room()
    // --- to here
  }

  return {
    put,
    refusalOf,
    valueRefusal,
    /** Whether so many more bytes may be appended now; any number while nothing is held. @param {number} bytes */
    fitsBudget: (bytes) => !held.isFull && (delivery.isIdle || held.bytes + bytes <= inFlightBytes),
    /** Resolves when there is room again. @param {{ deadlineMs?: number }} [within] */
    ready: ({ deadlineMs } = {}) =>
      waiters.until(() => held.bytes < inFlightBytes * RESUME_AT && !held.isFull, deadlineMs, 'no room became free'),
    /** @param {import('../layouts/index.js').Retention} changed */
    setRetention (changed) { retention = changed },
    get isClosed () { return closing },
    /** Refuses everything from now on. */
    close () { closing = true }
  }
}

/** @param {number} bytes @returns {string | null} code of the refusal */
const valueRefusal = (bytes) => bytes > MAX_VALUE_BYTES ? 'ITEM_VALUE_TOO_LARGE' : null

/** limit of setTimeout */
const MAX_TIMER_MS = 2 ** 31 - 1

/** @typedef {ReturnType<typeof createWaiters>} Waiters */

/**
 * Promises of callers that wait for room or for acknowledgements. Each ends with its condition, its deadline, the failure
 * of the pipeline, or its closing.
 */
function createWaiters () {
  /** @type {Error | null} */
  let failure = null
  let closed = false
  /** @type {Set<() => void>} */
  const checks = new Set()

  const check = () => { for (const evaluate of checks) evaluate() }

  return {
    /** Evaluates every condition again. */
    check,
    get failure () { return failure },

    /** Rejects all waiters, now and later. @param {Error} error */
    fail (error) {
      failure ??= error
      check()
    },

    close () {
      closed = true
      check()
    },

    /**
     * @param {() => boolean} condition
     * @param {number} [deadlineMs] none = until the pipeline is closed
     * @param {string} [otherwise] message when the deadline passes
     * @returns {Promise<void>}
     * @throws {FreshetError} DEADLINE_PASSED, PIPELINE_CLOSED, or the failure
     */
    until (condition, deadlineMs, otherwise = 'not done') {
      return new Promise((resolve, reject) => {
        /** @type {NodeJS.Timeout | undefined} */
        let timer
        /** @param {() => void} settle */
        const end = (settle) => {
          clearTimeout(timer)
          checks.delete(evaluate)
          settle()
        }
        const evaluate = () => {
          if (failure) end(() => reject(failure))
          else if (closed) end(() => reject(new FreshetError('PIPELINE_CLOSED', 'the feed was closed during the wait; open it again')))
          else if (condition()) end(resolve)
        }
        const expire = () => end(() => reject(new FreshetError('DEADLINE_PASSED',
          `${otherwise} within ${deadlineMs} ms; unacknowledged items are kept and sent again`)))
        checks.add(evaluate)
        if (deadlineMs !== undefined && deadlineMs < MAX_TIMER_MS) timer = setTimeout(expire, deadlineMs)
        evaluate()
      })
    }
  }
}

const ITEMS_PER_READ = 64

/**
 * A cached clock for per-item code, because reading the clock costs a quarter of an append. It is read again after each
 * turn of the event loop and after `ITEMS_PER_READ` calls within one turn.
 * @param {() => number} [read] @returns {() => number}
 */
export function createCoarseClock (read = () => Date.now()) {
  let nowMs = 0
  let left = 0
  let isTurnWatched = false

  function onTurn () {
    left = 0
    isTurnWatched = false
  }

  return () => {
    if (left > 0) {
      left--
      return nowMs
    }
    left = ITEMS_PER_READ - 1
    if (!isTurnWatched) {
      isTurnWatched = true
      setImmediate(onTurn)
    }
    nowMs = read()
    return nowMs
  }
}
