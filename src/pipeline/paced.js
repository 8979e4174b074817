/**
 * Appends the items of an endless source to a feed, open-loop (pace.js), until their time is over.
 *
 * Due items are appended in slices; the pace itself is by item. What was due by the end is still made when the loop was
 * late, or while there was no room, and what there was no time for is counted as dropped.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { createPacer } from './pace.js'

/** due items are appended no more often than this */
const SLICE_MS = 5
/** so many at most before the event loop has its turn */
const TURN_ITEMS = 2000

/**
 * @param {object} parts
 * @param {import('../feed.js').Feed} parts.feed
 * @param {(dueMs: number) => { id: string | Uint8Array, ts: number, value: string | Uint8Array, dueMs: number }} parts.next the item that is
 *   due then; may be the same object each time
 * @param {{ rate: number, pace: 'steady' | 'burst', periodMs: number, chunks: number, catchUp: string, whenFull: string }} parts.settings
 * @param {number} [parts.items] at most
 * @param {number} parts.startMs on `clock`
 * @param {number} parts.endMs nothing is due after it
 * @param {number} [parts.giveUpMs] what was due and is not appended by then is dropped
 * @param {number} [parts.patienceMs] room is waited for so long before the times are looked at again
 * @param {() => number} parts.clock
 * @param {AbortSignal} parts.signal ends it at once
 * @param {(nowMs: number) => void} [parts.look] called before anything that is due by then is appended
 * @throws {import('../errors.js').FreshetError} what the feed fails of while there is no room
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

  /** @param {number} nowMs @returns {number} ms; a slice that came early by a part of one would make its batch wait for the next */
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
    // a large slice has several turns
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

/** @param {any} error waiting on is decided by the time that is left */
function unlessLate (error) {
  if (error.code !== 'DEADLINE_PASSED') throw error
}
