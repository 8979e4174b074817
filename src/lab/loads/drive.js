/**
 * The pace and the bounds that all loads share, so that what they send is all that differs (L12).
 *
 *     due     open-loop, by src/pipeline/pace.js; with rate 0 always
 *     batch   batchItems, as soon as the last of them is due; where a tenth of a second brings fewer, those, unless batches
 *             are to be whole; of a burst, and at the end, what there is
 *     sent    while fewer than 4 batches are unanswered; what is due waits, and only its number is kept
 *     behind  from when the last item of a batch was due until the batch is begun
 *
 * After its time a load goes on, for at most `drainMs`, until everything that was due in it is sent; the rest counts as
 * dropped. Nothing is ever sent twice: an error of the server ends the load.
 */
import { FreshetError } from '../../errors.js'
import { newAccount } from '../../pipeline/account.js'
import { createPacer } from '../../pipeline/pace.js'
import { createSource } from './source.js'

export const BATCHES_IN_FLIGHT = 4
/** a batch that is not full waits for no more than so many seconds of items */
const BATCH_SECONDS = 0.1
/** a server that owes an answer for so long is lost: far more than a busy machine makes of it */
export const LOST_AFTER_MS = 10_000
const LOOK_MS = 500

/** @typedef {import('./source.js').Item} Item */

/**
 * @param {{ settings: import('./index.js').Settings, index: number, clock: () => number, onBehind: (behindMs: number) => void,
 *   onFlush: (seconds: number) => void }} parts
 * @param {object} load
 * @param {import('./source.js').Source} [load.source] what the items are taken from
 * @param {(count: number, next: () => Item) => Promise<number>} load.send sends that many items as one batch, calling
 *   `next` once for each before it returns; resolves with how many the server has acknowledged
 * @param {() => number} [load.room] how many items the next batch may have
 * @param {() => Promise<void> | void} load.close
 * @returns {import('./index.js').Opened}
 */
export function driveBatches ({ settings, index, clock, onBehind, onFlush }, { source = createSource(settings, index), send, room = () => Infinity, close }) {
  const { rate, batchItems, pace, periodMs, chunks, valueBytes, catchUp, wholeBatches } = settings
  const account = newAccount()
  const wholeBatch = rate === 0 || wholeBatches ? batchItems : Math.min(batchItems, Math.max(1, Math.ceil(rate * BATCH_SECONDS)))
  let inFlight = 0
  let heardMs = 0
  /** @type {Error | null} */
  let failure = null
  let wake = () => {}

  /** @param {Promise<number>} answer @param {number} count @param {number} beganMs of its sending */
  async function settle (answer, count, beganMs) {
    try {
      const items = await answer
      onFlush((performance.now() - beganMs) / 1000)
      account.items += items
      account.bytes += items * valueBytes
      account.batches++
    } catch (error) {
      account.failed += count
      failure ??= error
    }
    inFlight--
    heardMs = performance.now()
    wake()
  }

  /** Until something happens, at most so long. @param {number} ms @param {AbortSignal} signal */
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
    if (inFlight > 0 && performance.now() - heardMs > LOST_AFTER_MS) {
      throw new FreshetError('SERVER_LOST', `the server has not answered for ${LOST_AFTER_MS / 1000} s`, { outcome: 'over' })
    }
  }

  /** Until all batches are. @param {AbortSignal} signal */
  async function answered (signal) {
    const isOwed = () => inFlight > 0
    while (isOwed()) await pause(LOOK_MS, signal)
    if (failure) throw failure
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

    /** @returns {number} items of the batch that is due now, 0 = none is */
    function dueNow () {
      if (rate === 0) return nowMs < endMs ? Math.min(wholeBatch, left, room()) : 0
      const due = Math.min(left, pacer.due(Math.min(nowMs, endMs)))
      const whole = Math.min(wholeBatch, left, room())
      if (due >= whole) return whole
      return pace === 'burst' || nowMs >= endMs ? Math.max(0, due) : 0
    }

    /** @param {number} count */
    function begin (count) {
      if (inFlight++ === 0) heardMs = performance.now()
      account.offered += count
      left -= count
      const beganMs = performance.now()
      const answer = send(count, next)
      onBehind(Math.max(0, nowMs - dueMs))
      settle(answer, count, beganMs)
    }

    /** How long until the next batch is due. */
    const waitMs = () => {
      const untilOpenMs = openMs > nowMs ? openMs - nowMs : Infinity
      const missing = pace === 'burst' ? 1 : Math.max(1, Math.min(wholeBatch, left, room()) - Math.max(0, pacer.due(nowMs)))
      return Math.max(1, Math.min(pacer.waitMs(nowMs) + (missing - 1) * 1000 / rate, endMs - nowMs, untilOpenMs, LOOK_MS))
    }

    while (!signal.aborted && left > 0) {
      nowMs = clock()
      look(nowMs)
      if (nowMs >= giveUpMs) break
      const count = dueNow()
      if (count === 0 && nowMs >= endMs) break
      if (count > 0 && inFlight < BATCHES_IN_FLIGHT) begin(count)
      else {
        const wasFull = count > 0
        await pause(wasFull ? LOOK_MS : waitMs(), signal)
        if (wasFull && catchUp === 'no') drop(pacer.skip(Math.min(clock(), endMs)))
      }
    }
    if (left > 0 && clock() >= endMs) drop(Math.min(left, Math.floor(pacer.skip(endMs))))
    await answered(signal)
  }

  /** @param {number} count intended items that were not sent */
  function drop (count) {
    account.offered += count
    account.dropped += count
  }

  return { account, betweenMs: rate > 0 ? wholeBatch * 1000 / rate : 0, run, close: async () => close() }
}
