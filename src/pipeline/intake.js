/**
 * Taking items in: an item is judged, counted, and spelt into the open batch of its slot.
 *
 * `append` does no await and makes no object. What is held, from append to acknowledgement, is bounded by
 * `inFlightBytes`; the client below has no bound.
 */
import { FreshetError } from '../errors.js'
import { MAX_SEQ, MAX_TS, createSequence } from '../item/order.js'
import { slotOf } from '../item/partition.js'
import { MAX_VALUE_BYTES } from '../item/record.js'
import { countRefused } from './account.js'
import { createCoarseClock } from './coarse-clock.js'
import { RESUME_AT } from './delivery.js'

/** so far above the bound whoever appends without waiting for room is stopped; a body of the gateway fits in */
const FAR_ABOVE_BYTES = 16 * 1024 * 1024

/**
 * @param {import('./pipeline.js').PipelineOptions & { account: import('./account.js').Account,
 *   waiting: ReturnType<typeof import('./waiting.js').createWaiting>, delivery: import('./delivery.js').Delivery }} parts
 */
export function createIntake ({
  ack, partitions, retention, maxFutureMs, flushAt, inFlightBytes, whenFull, clock, account, waiting, delivery, onRefused = () => {}
}) {
  const sequence = createSequence()
  const wallMs = createCoarseClock()
  const { held, open, begin, close, closeIfStuck } = delivery
  const { lanes } = ack
  const farAboveBytes = 2 * inFlightBytes + FAR_ABOVE_BYTES
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
    // an item of this very moment is ahead of what the clock said before
    if (ts > nowMs + maxFutureMs && ts > Date.now() + maxFutureMs) return 'ITEM_FROM_FUTURE'
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
    if (held.bytes < farAboveBytes) return null
    return new FreshetError('PIPELINE_FULL', `${held.bytes} bytes are not acknowledged, far above the bound of ${inFlightBytes} (inFlightBytes); when append answers false, await ready() before the next`)
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
    const slot = slotOf(id, partitions, lanes)
    const current = open[slot] ?? begin(slot, dueMs ?? clock())
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
    /** Whether so many more bytes may be appended now; when nothing is held, any number. @param {number} bytes */
    roomFor: (bytes) => !held.isFull && (delivery.isIdle || held.bytes + bytes <= inFlightBytes),
    /** Resolves when there is room again. @param {{ deadlineMs?: number }} [within] */
    ready: ({ deadlineMs } = {}) => waiting.until(() => held.bytes < inFlightBytes * RESUME_AT && !held.isFull, deadlineMs, 'there is no room'),
    /** @param {import('../layouts/index.js').Retention} changed */
    setRetention (changed) { retention = changed },
    get isClosed () { return closing },
    /** Nothing more is taken. */
    close () { closing = true }
  }
}
