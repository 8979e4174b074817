/**
 * Items from standard input. Nothing is read while there is no room, so back-pressure reaches whoever feeds the pipe.
 *
 * Bad records are refused, counted, and the first few shown; the rest is written. With `replay` the times of the input
 * are shifted so that the first is now, and set the pace. Now is when the first record is there: whoever feeds the pipe
 * may begin late.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createPacer } from '../src/pipeline/pace.js'
import { createItemReader } from './input/items.js'
import { readRecords } from './input/records.js'

const LONGEST_SLEEP_MS = 3_600_000

/**
 * @param {{ feed: import('../src/index.js').Feed, settings: any,
 *   report: ReturnType<typeof import('./input/report.js').createFaultReport>, at: { place: number },
 *   clock: () => number, signal: AbortSignal, input?: import('node:stream').Readable }} parts
 *   `at.place` follows the record being read, for whoever reports a refusal
 * @throws {FreshetError} INPUT_INVALID
 */
export async function runStdin ({ feed, settings, report, at, clock, signal, input = process.stdin }) {
  const read = createItemReader(settings)
  const ending = endingOf(settings, signal)
  /** @type {((ts: number) => { ts: number, dueMs: number }) | undefined} */
  let schedule
  let left = settings.items ?? Infinity

  try {
    for await (const entries of readRecords(input, { format: settings.format, itemsField: settings.itemsField, signal: ending.signal })) {
      schedule ??= settings.replay ? createReplay(settings.replay, clock()) : createPace(settings, clock(), clock)
      for (const entry of entries) {
        if (ending.signal.aborted || left === 0) return
        left--
        at.place = entry.place
        const item = read(entry)
        if (typeof item === 'string') {
          report.add(entry.place, item)
          feed.writer.pipeline.refuse('INPUT_INVALID')
          continue
        }
        const { ts, dueMs } = schedule(item.ts)
        // in pieces: a timer cannot be set further than 24 days ahead
        while (dueMs > clock() && !ending.signal.aborted) await sleep(Math.min(dueMs - clock(), LONGEST_SLEEP_MS), undefined, { signal: ending.signal }).catch(() => {})
        if (ending.signal.aborted) return
        const room = append(feed, { ...item, ts, dueMs }, (fault) => report.add(entry.place, fault))
        if (!room && settings.whenFull === 'block') await feed.ready({ deadlineMs: Infinity })
      }
      // the pipe may stay open and silent
      if (left === 0) return
    }
  } finally {
    ending.cancel()
  }
}

/**
 * Reading ends when the writer is stopped or its duration is over, also while the pipe is silent.
 * @param {any} settings @param {AbortSignal} signal
 */
function endingOf ({ duration }, signal) {
  const over = new AbortController()
  const timer = duration ? setTimeout(() => over.abort(), Math.min(2 ** 31 - 1, duration * 1000)) : undefined
  return { signal: AbortSignal.any([signal, over.signal]), cancel: () => clearTimeout(timer) }
}

/**
 * @param {import('../src/index.js').Feed} feed @param {{ id: string, ts: number, value: Buffer, dueMs: number }} item
 * @param {(fault: string) => void} onFault
 * @returns {boolean} whether there is room
 */
function append (feed, item, onFault) {
  try {
    return feed.append(item)
  } catch (error) {
    // those are counted already
    if (!/^ITEM_/.test(error.code)) throw error
    onFault(`${error.code}: ${error.code === 'ITEM_ID_INVALID' ? '' : `id ${item.id}, `}${error.message}`)
    return true
  }
}

/** @param {any} settings @param {number} startMs @param {() => number} clock @returns {(ts: number) => { ts: number, dueMs: number }} */
function createPace ({ rate, pace, periodMs, chunks }, startMs, clock) {
  if (rate === 0) return (ts) => ({ ts, dueMs: clock() })
  const pacer = createPacer({ ratePerSecond: rate, pace, periodMs, chunks, startMs })
  return (ts) => ({ ts, dueMs: pacer.take(0) })
}

/** @param {number} speed @param {number} startMs @returns {(ts: number) => { ts: number, dueMs: number }} */
function createReplay (speed, startMs) {
  /** @type {number | null} */
  let firstTs = null
  return (ts) => {
    firstTs ??= ts
    const dueMs = startMs + (ts - firstTs) / speed
    return { ts: Math.floor(dueMs), dueMs }
  }
}
