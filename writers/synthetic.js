/**
 * The synthetic source: the items of src/synthetic.js, paced open-loop.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { createPacer } from '../src/pipeline/pace.js'
import { makeIds, makeValue } from '../src/synthetic.js'

/** Due items are appended this often; the pace itself is by item. */
const SLICE_MS = 5
/** so long at most before the event loop has its turn */
const TURN_ITEMS = 2000

/**
 * @param {{ feed: import('../src/index.js').Feed, settings: any, index: number,
 *   clock: () => number, signal: AbortSignal }} parts `index` of this process: writers share the ids out
 */
export async function runSynthetic ({ feed, settings, index, clock, signal }) {
  const ids = makeIds(settings.ids, index, settings.writers)
  const { value, change } = makeValue(settings.valueBytes, index, settings.valueChange === 'never' ? ids.length : Infinity)
  const startMs = clock()
  const endMs = settings.duration ? startMs + settings.duration * 1000 : Infinity
  const pacer = createPacer({ ratePerSecond: settings.rate, pace: settings.pace, periodMs: settings.periodMs, chunks: settings.chunks, startMs })
  let left = settings.items ?? Infinity
  let next = 0
  const item = { id: ids[0], ts: 0, value, dueMs: 0 }
  const { pipeline } = feed.writer

  while (!signal.aborted && left > 0) {
    const nowMs = clock()
    // what was due by the end is still made when the loop was late
    const dueAtMs = Math.min(nowMs, endMs)
    const turn = Math.min(left, TURN_ITEMS, pacer.due(dueAtMs))
    let room = true
    for (let i = 0; i < turn && room; i++) {
      // --- per item from here
      const dueMs = pacer.take(nowMs)
      change()
      item.id = ids[next]
      item.ts = Math.floor(dueMs)
      item.dueMs = dueMs
      room = feed.append(item)
      if (++next === ids.length) next = 0
      left--
      // --- to here
    }
    if (!room && settings.whenFull === 'block') {
      await feed.ready({ deadlineMs: Infinity })
      if (settings.catchUp === 'no') pipeline.skip(pacer.skip(Math.min(clock(), endMs)))
    } else if (nowMs >= endMs && pacer.due(endMs) < 1) break
    else if (settings.rate === 0 && nowMs >= endMs) break
    else if (pacer.due(clock()) >= 1) await nextTurn()
    else await sleep(Math.max(SLICE_MS, Math.min(pacer.waitMs(clock()), endMs - clock())), undefined, { signal }).catch(() => {})
  }
  // out of time while the server did not take them
  if (left > 0 && clock() >= endMs) pipeline.skip(Math.min(left, pacer.skip(endMs)))
}
