/**
 * The pace and the limits of all loads, so that they differ only in what they send (L12).
 *
 *     due     open-loop, by createPacer of src/pipeline; with rate 0 always
 *     batch   batchItems, as soon as the last of them is due; if a tenth of a second brings fewer, those, unless wholeBatches is
 *             set; the rest of a burst, and of the run
 *     sent    while fewer than 4 batches are in flight, or one if the load is counted; due items wait, and only their number is kept
 *     behind  from when the last item of a batch was due until its sending begins
 *
 * At the end a load has `drainMs` to send what was due; the rest counts as dropped. Nothing is sent twice: a server error ends
 * the load.
 */
import { FreshetError } from '../errors.js'
import { createPacer, newAccount } from '../../src/pipeline/index.js'
import { createSource } from './source.js'

export const BATCHES_IN_FLIGHT = 4
/** Maximum time to fill a batch, in seconds of items. */
const BATCH_SECONDS = 0.1
/** A server without a reply for this long is lost; a busy machine needs far less. */
export const LOST_AFTER_MS = 10_000
const CHECK_MS = 500

/** @typedef {import('./source.js').Item} Item */

/**
 * @param {{ settings: import('./index.js').Settings, index: number, clock: () => number, onBehind: (behindMs: number) => void,
 *   onFlush: (seconds: number) => void }} parts
 * @param {object} load
 * @param {import('./source.js').Source} [load.source] of the items
 * @param {(count: number, next: () => Item) => Promise<number>} load.send sends that many items as one batch, calling
 *   `next` once for each before it returns; resolves with the number of acknowledged items
 * @param {() => number} [load.room] maximum items of the next batch
 * @param {() => Promise<void> | void} load.close
 * @returns {import('./index.js').Opened}
 */
export function driveBatches ({ settings, index, clock, onBehind, onFlush },
  { source = createSource(settings, index), send, room = () => Infinity, close }) {
  const { rate, batchItems, pace, periodMs, chunks, catchUp, wholeBatches } = settings
  const account = newAccount()
  const wholeBatch = rate === 0 || wholeBatches ? batchItems : Math.min(batchItems, Math.max(1, Math.ceil(rate * BATCH_SECONDS)))
  const { valueBytes, batchesInFlight: most = BATCHES_IN_FLIGHT } = settings
  const inFlight = createInFlight({ most, account, valueBytes, onFlush })

  /** @param {number} count intended items that are not sent */
  function drop (count) {
    account.offered += count
    account.dropped += count
  }

  /** @type {import('./index.js').Opened['run']} */
  async function run ({ startMs, openMs, endMs, giveUpMs, items, signal, look }) {
    const pacer = createPacer({ ratePerSecond: rate, pace, periodMs, chunks, startMs })
    let left = items
    let nowMs = startMs
    let dueMs = startMs
    const next = () => {
      dueMs = pacer.take(nowMs)
      return source.next(dueMs)
    }
    const wholeNow = () => Math.min(wholeBatch, left, room())

    /** @returns {number} items of the batch to send now; 0 = none is due */
    function dueNow () {
      if (rate === 0) return nowMs < endMs ? wholeNow() : 0
      const due = Math.min(left, pacer.due(Math.min(nowMs, endMs)))
      if (due >= wholeNow()) return wholeNow()
      return pace === 'burst' || nowMs >= endMs ? Math.max(0, due) : 0
    }

    /** @param {number} count */
    function begin (count) {
      account.offered += count
      left -= count
      inFlight.add(count, () => send(count, next))
      onBehind(Math.max(0, nowMs - dueMs))
    }

    /** Until the next batch is due. */
    const waitMs = () => {
      const untilOpenMs = openMs > nowMs ? openMs - nowMs : Infinity
      const missing = pace === 'burst' ? 1 : Math.max(1, wholeNow() - Math.max(0, pacer.due(nowMs)))
      return Math.max(1, Math.min(pacer.waitMs(nowMs) + (missing - 1) * 1000 / rate, endMs - nowMs, untilOpenMs, CHECK_MS))
    }

    while (!signal.aborted && left > 0) {
      nowMs = clock()
      look(nowMs)
      if (nowMs >= giveUpMs) break
      const count = dueNow()
      if (count === 0 && nowMs >= endMs) break
      if (count > 0 && !inFlight.isFull()) begin(count)
      else {
        const wasFull = count > 0
        await inFlight.pause(wasFull ? CHECK_MS : waitMs(), signal)
        if (wasFull && catchUp === 'no') drop(pacer.skip(Math.min(clock(), endMs)))
      }
    }
    if (left > 0 && clock() >= endMs) drop(Math.min(left, Math.floor(pacer.skip(endMs))))
    await inFlight.settled(signal)
  }

  return { account, betweenMs: rate > 0 ? wholeBatch * 1000 / rate : 0, run, close: async () => close() }
}

/**
 * Batches without a reply.
 * @param {{ most: number, account: import('../../src/pipeline/index.js').Account, valueBytes: number,
 *   onFlush: (seconds: number) => void }} parts
 */
function createInFlight ({ most, account, valueBytes, onFlush }) {
  let count = 0
  let repliedMs = 0
  /** @type {Error | null} */
  let failure = null
  let wake = () => {}

  /** @param {Promise<number>} reply @param {number} items @param {number} beganMs of sending them */
  async function settle (reply, items, beganMs) {
    try {
      const acknowledged = await reply
      onFlush((performance.now() - beganMs) / 1000)
      account.items += acknowledged
      account.bytes += acknowledged * valueBytes
      account.batches++
    } catch (error) {
      account.failed += items
      failure ??= error
    }
    count--
    repliedMs = performance.now()
    wake()
  }

  /** Until a batch is settled, or for that long. @param {number} ms @param {AbortSignal} signal */
  async function pause (ms, signal) {
    await /** @type {Promise<void>} */ (new Promise((resolve) => {
      const timer = setTimeout(() => wake(), ms)
      wake = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      signal.addEventListener('abort', wake)
    }))
    if (failure) throw failure
    if (count > 0 && performance.now() - repliedMs > LOST_AFTER_MS) {
      throw new FreshetError('SERVER_LOST', `the server has not replied for ${LOST_AFTER_MS / 1000} s`, { outcome: 'over' })
    }
  }

  return {
    isFull: () => count >= most,
    pause,

    /** @param {number} items @param {() => Promise<number>} send */
    add (items, send) {
      const beganMs = performance.now()
      if (count++ === 0) repliedMs = beganMs
      settle(send(), items, beganMs)
    },

    /** @param {AbortSignal} signal */
    async settled (signal) {
      const isPending = () => count > 0
      while (isPending()) await pause(CHECK_MS, signal)
      if (failure) throw failure
    }
  }
}
