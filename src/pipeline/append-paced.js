/**
 * Appends items of an endless source to a feed, open-loop, until an end time.
 *
 * Due items are appended in slices; the pace itself is per item. Items that were due by the end are still appended when the
 * loop was late or had no room; the rest counts as dropped.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

/** minimum time between two slices */
const SLICE_MS = 5
/** maximum per turn of the event loop */
const TURN_ITEMS = 2000

/**
 * @param {object} parts
 * @param {import('../writable-feed.js').WritableFeed} parts.feed
 * @param {(dueMs: number) => { id: string | Uint8Array, ts: number, value: string | Uint8Array, dueMs: number }} parts.next the
 *   item due then; may return the same object each time
 * @param {{ rate: number, pace: 'steady' | 'burst', periodMs: number, chunks: number, catchUp: string, whenFull: string }} parts.settings
 * @param {number} [parts.items] maximum
 * @param {number} parts.startMs on `clock`
 * @param {number} parts.endMs nothing is due after it
 * @param {number} [parts.giveUpMs] due items not appended by then are dropped
 * @param {number} [parts.patienceMs] longest wait for room before the times are checked again
 * @param {() => number} parts.clock
 * @param {AbortSignal} parts.signal ends it at once
 * @param {(nowMs: number) => void} [parts.look] called before each slice
 * @throws {import('../errors.js').FreshetError} the failure of the feed during a wait for room
 */
export async function appendPaced ({
  feed, next, settings, items = Infinity, startMs, endMs, giveUpMs = Infinity, patienceMs = Infinity, clock, signal, look = () => {}
}) {
  const { rate, pace, periodMs, chunks, catchUp, whenFull } = settings
  const { pipeline } = feed.writer
  const pacer = createPacer({ ratePerSecond: rate, pace, periodMs, chunks, startMs })
  const stopped = /** @type {Promise<void>} */ (new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })))
  let left = items
  let sliceMs = startMs - SLICE_MS

  /** Rounded up: the batch of a slice that starts early would wait for the next. @param {number} nowMs @returns {number} ms */
  const untilNext = (nowMs) => Math.max(Math.ceil(sliceMs + SLICE_MS - nowMs), Math.min(pacer.waitMs(nowMs), endMs - nowMs))

  while (!signal.aborted && left > 0) {
    const nowMs = clock()
    look(nowMs)
    if (nowMs >= giveUpMs || (nowMs >= endMs && (rate === 0 || pacer.due(endMs) < 1))) break
    if (!appendDue(nowMs) && whenFull === 'block') {
      const deadlineMs = Math.max(1, Math.min(giveUpMs - nowMs, patienceMs))
      await Promise.race([stopped, feed.ready({ deadlineMs }).catch(unlessLate)])
      if (catchUp === 'no') pipeline.skip(pacer.skip(Math.min(clock(), endMs)))
    } else if (pacer.due(Math.min(nowMs, endMs)) >= 1) await nextTurn()
    else await sleep(untilNext(clock()), undefined, { signal }).catch(() => {})
  }
  if (left > 0 && clock() >= endMs) pipeline.skip(Math.min(left, pacer.skip(endMs)))

  /** @param {number} nowMs @returns {boolean} whether there is room for more */
  function appendDue (nowMs) {
    const turn = Math.min(left, TURN_ITEMS, pacer.due(Math.min(nowMs, endMs)))
    // a large slice takes several turns
    if (turn > 0 && nowMs >= sliceMs + SLICE_MS) sliceMs = nowMs
    for (let i = 0; i < turn; i++) {
      // --- per item from here
      left--
      if (!feed.append(next(pacer.take(nowMs)))) return false
      // --- to here
    }
    return true
  }
}

/** The loop itself decides how long to wait. @param {any} error */
function unlessLate (error) {
  if (error.code !== 'DEADLINE_PASSED') throw error
}

/**
 * Open-loop pacing: the due time of each item follows from the start and the rate alone, never from how fast the server
 * answers. Missed items stay due; only their number is kept, so a backlog costs no memory.
 *
 * - steady: item k is due k / rate after the start.
 * - burst: each period has `chunks` bursts; all items of a burst are due at its beginning.
 * - rate 0: items are always due.
 *
 * @param {{ ratePerSecond: number, pace: 'steady' | 'burst', periodMs: number, chunks: number, startMs: number }} options
 *   `startMs`: on the clock of all `nowMs` below
 */
export function createPacer ({ ratePerSecond, pace, periodMs, chunks, startMs }) {
  const burstMs = periodMs / chunks
  const perBurst = ratePerSecond * burstMs / 1000
  let taken = 0

  /** @param {number} nowMs */
  function dueSoFar (nowMs) {
    if (ratePerSecond === 0) return Infinity
    const passedMs = nowMs - startMs
    if (passedMs < 0) return 0
    if (pace === 'steady') return Math.floor(passedMs * ratePerSecond / 1000)
    return Math.round(Math.ceil(passedMs / burstMs) * perBurst)
  }

  /** When item k, from 0, is due. @param {number} k */
  function dueMsOf (k) {
    if (pace === 'steady') return startMs + (k + 1) * 1000 / ratePerSecond
    // inverse of the rounding in dueSoFar: the first burst whose total exceeds k
    return startMs + (Math.max(1, Math.ceil((k + 0.5) / perBurst)) - 1) * burstMs
  }

  return {
    /** Items due and not yet taken. @param {number} nowMs @returns {number} */
    due: (nowMs) => dueSoFar(nowMs) - taken,

    /** Takes the next item. @param {number} nowMs @returns {number} when it was due */
    take (nowMs) {
      return ratePerSecond === 0 ? nowMs : dueMsOf(taken++)
    },

    /** Skips all due items. @param {number} nowMs @returns {number} how many */
    skip (nowMs) {
      if (ratePerSecond === 0) return 0
      const skipped = Math.max(0, dueSoFar(nowMs) - taken)
      taken += skipped
      return skipped
    },

    /** Time until the next item is due, ms. @param {number} nowMs */
    waitMs: (nowMs) => ratePerSecond === 0 ? 0 : Math.max(0, dueMsOf(taken) - nowMs)
  }
}
