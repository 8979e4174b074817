/**
 * Takes items in: checks and counts each, and encodes it into the open batch of its bucket.
 *
 * `append` awaits nothing and creates no object. `inFlightBytes` bounds the bytes held from append to acknowledgement,
 * because the client has no bound of its own.
 */
import { FreshetError } from '../errors.js'
import { createSequence, MAX_SEQ, MAX_TS, MAX_VALUE_BYTES, bucketOf } from '../item/index.js'
import { countRefused } from './account.js'
import { createCoarseClock } from './coarse-clock.js'
import { RESUME_AT } from './delivery.js'

/** above the bound: a caller that ignores back-pressure gets an error from there on; one body of the gateway fits in */
const MAX_OVERRUN_BYTES = 16 * 1024 * 1024

/**
 * @param {import('./pipeline.js').PipelineOptions & { account: import('./account.js').Account,
 *   waiters: import('./waiters.js').Waiters, delivery: import('./delivery.js').Delivery }} parts
 */
export function createIntake ({
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
    roomFor: (bytes) => !held.isFull && (delivery.isIdle || held.bytes + bytes <= inFlightBytes),
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
