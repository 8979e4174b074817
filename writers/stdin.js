/**
 * Items from standard input. Reading stops while the pipeline is full, so the sender of the pipe gets back-pressure.
 *
 * Bad records are refused and counted, and the first few are shown. With `replay` the times of the input set the pace, shifted so
 * that the first record is due when it arrives.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createPacer } from '../src/pipeline/index.js'
import { createItemReader } from './input/items.js'
import { readRecords } from './input/records.js'

const LONGEST_SLEEP_MS = 3_600_000

/**
 * @param {{ feed: import('../src/inside.js').WritableFeed, settings: any,
 *   report: ReturnType<typeof import('./input/report.js').createFaultReport>, at: { place: number },
 *   clock: () => number, signal: AbortSignal, input?: import('node:stream').Readable }} parts
 *   `at.place` is the place of the current record, for reports of refusals
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
        await waitUntil(dueMs, clock, ending.signal)
        if (ending.signal.aborted) return
        const room = append(feed, { ...item, ts, dueMs }, (fault) => report.add(entry.place, fault))
        if (!room && settings.whenFull === 'block') await feed.ready({ deadlineMs: Infinity })
      }
      // the pipe may stay open without data
      if (left === 0) return
    }
  } finally {
    ending.cancel()
  }
}

/** In steps: a timer cannot be longer than 24 days. @param {number} dueMs @param {() => number} clock @param {AbortSignal} signal */
async function waitUntil (dueMs, clock, signal) {
  while (dueMs > clock() && !signal.aborted) {
    await sleep(Math.min(dueMs - clock(), LONGEST_SLEEP_MS), undefined, { signal }).catch(() => {})
  }
}

/**
 * Reading ends when the writer is stopped or its duration is over, also while no data arrives.
 * @param {any} settings @param {AbortSignal} signal
 */
function endingOf ({ duration }, signal) {
  const over = new AbortController()
  const timer = duration ? setTimeout(() => over.abort(), Math.min(2 ** 31 - 1, duration * 1000)) : undefined
  return { signal: AbortSignal.any([signal, over.signal]), cancel: () => clearTimeout(timer) }
}

/**
 * @param {import('../src/inside.js').WritableFeed} feed @param {{ id: string, ts: number, value: Buffer, dueMs: number }} item
 * @param {(fault: string) => void} onFault
 * @returns {boolean} whether there is room
 */
function append (feed, item, onFault) {
  try {
    return feed.append(item)
  } catch (error) {
    // the pipeline has counted it
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
