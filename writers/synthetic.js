/**
 * The synthetic source: ids `id-0`, `id-1`, ... in turn, with a value that is different each time, paced open-loop.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { createPacer } from '../src/pipeline/pace.js'

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
  const { value, change } = makeValue(settings.valueBytes, index)
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

/** @param {number} distinct @param {number} index @param {number} writers @returns {Buffer[]} those of this process */
function makeIds (distinct, index, writers) {
  const mine = Array.from({ length: Math.ceil(Math.max(0, distinct - index) / writers) }, (_, i) => Buffer.from(`id-${i * writers + index}`))
  return mine.length > 0 ? mine : [Buffer.from(`id-${index}`)]
}

/**
 * A JSON value with a number that counts up in place, so that no two are equal and none is allocated.
 * @param {number} bytes @param {number} index
 */
function makeValue (bytes, index) {
  const head = `{"writer":${index},"n":"`
  const digits = 12
  const shell = `${head}${'0'.repeat(digits)}","pad":""}`
  const text = bytes >= shell.length
    ? shell.replace('"pad":""', `"pad":"${'x'.repeat(bytes - shell.length)}"`)
    : '0'.repeat(bytes)
  const value = Buffer.from(text)
  const last = bytes >= shell.length ? head.length + digits - 1 : bytes - 1
  const first = bytes >= shell.length ? head.length : 0
  const change = () => {
    for (let at = last; at >= first; at--) {
      if (value[at] !== 57) {
        value[at]++
        return
      }
      value[at] = 48
    }
  }
  return { value, change }
}
