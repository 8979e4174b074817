/**
 * Items from standard input or a file. Reading stops while the pipeline is full, so the sender of a pipe gets back-pressure.
 *
 * Bad records are refused, counted and reported (input/rejects.js). With `replay` the times of the input set the pace, shifted so
 * that the first record is due when it arrives.
 */
import { createReadStream, fstatSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { ERRORS } from '../src/errors.js'
import { createPacer } from '../src/pipeline/index.js'
import { createItemReader } from './input/items.js'
import { readRecords } from './input/records.js'
import { createFaultReport, openRejects } from './input/rejects.js'
import { windowAdvice } from './window-advice.js'

const LONGEST_SLEEP_MS = 3_600_000

/** @typedef {import('../src/inside.js').WritableFeed} Feed */
/** @typedef {import('./input/items.js').Item} Item */
/** @typedef {(ts: number | null) => { ts: number | null, dueMs: number }} Schedule `ts`: null = the time of the append */

/**
 * @typedef {{ stdin: import('node:stream').Readable & { fd: number }, stderr: { write: (text: string) => unknown } }} Streams where
 *   records are read and faults are reported, such as `process`
 */

/** @param {{ settings: any, log: Pick<import('pino').Logger, 'warn'>, streams: Streams }} parts */
export function createRecordSource ({ settings, log, streams }) {
  const { file, rejects, format, itemsField } = settings
  /** @type {ReturnType<typeof createFaultReport> | undefined} */
  let report
  /** @type {import('./input/records.js').Entry} being appended */
  let current

  /** @param {string} code @param {string} reason */
  const refuse = (code, reason) => report?.add(current, code, reason)

  return {
    /** Hook of the feed. @type {(code: string, id: Buffer, ts: number) => void} */
    onRefused: (code, id, ts) => refuse(code, `id ${id}, ts ${ts}: ${ERRORS[code].meaning}`),

    /**
     * @param {{ feed: Feed, duration: number | null, clock: () => number, signal: AbortSignal }} parts `duration`: s
     * @throws {import('../src/errors.js').FreshetError} INPUT_INVALID, FILE_UNUSABLE
     */
    async run ({ feed, duration, clock, signal }) {
      report = createFaultReport({
        noun: format === 'json' ? 'item' : 'line',
        write: (text) => streams.stderr.write(text),
        rejects: rejects && await openRejects(rejects, file === null ? fstatSync(streams.stdin.fd) : statSync(file))
      })
      const read = createItemReader(settings)
      const append = createAppend({ feed, settings, clock, log, refuse })
      const input = file === null ? streams.stdin : createReadStream(file)
      const ending = endingOf(duration && duration * 1000, signal)
      const options = { format, itemsField, signal: ending.signal }
      let left = settings.items ?? Infinity
      let isEmpty = true
      try {
        for await (const entries of readRecords(input, options)) {
          isEmpty = false
          for (current of entries) {
            if (ending.signal.aborted || left === 0) return
            left--
            await append(read(current), ending.signal)
            if (report.isFull) await report.ready(ending.signal)
          }
          // the pipe may stay open without data
          if (left === 0) return
        }
        if (isEmpty && format === 'csv' && !ending.signal.aborted) log.warn({ file }, 'the CSV input has a header and no rows')
      } finally {
        ending.cancel()
      }
    },

    /** Ends the report. @param {Feed} feed @throws {import('../src/errors.js').FreshetError} FILE_UNUSABLE */
    close: async (feed) => report?.close((code) => code === 'ITEM_TOO_OLD' ? windowAdvice(feed) : null)
  }
}

/**
 * @param {{ feed: Feed, settings: any, clock: () => number, log: Pick<import('pino').Logger, 'warn'>,
 *   refuse: (code: string, reason: string) => void }} parts
 */
function createAppend ({ feed, settings, clock, log, refuse }) {
  const { replay, tsField, whenFull } = settings
  /** @type {Schedule | undefined} */
  let schedule
  let isTimed = true

  function warnOfTime () {
    isTimed = false
    log.warn({ tsField }, `records without a field ${tsField} get the current time; --ts-field names the field of the time`)
  }

  /** @param {Item | import('./input/items.js').Refusal} item @param {AbortSignal} signal ends a wait for the time at which it is due */
  return async (item, signal) => {
    schedule ??= replay ? createReplay(replay, clock()) : createPace(settings, clock(), clock)
    if ('code' in item) {
      feed.writer.pipeline.refuse(item.code)
      return refuse(item.code, item.reason)
    }
    if (item.ts === null && isTimed) warnOfTime()
    const { ts, dueMs } = schedule(item.ts)
    if (dueMs > clock()) await waitUntil(dueMs, clock, signal)
    if (signal.aborted) return
    const room = appendOne(feed, { ...item, ts: ts ?? Math.floor(clock()), dueMs }, refuse)
    if (!room && whenFull === 'block') await feed.ready({ deadlineMs: Infinity })
  }
}

/** In steps: a timer cannot be longer than 24 days. @param {number} dueMs @param {() => number} clock @param {AbortSignal} signal */
async function waitUntil (dueMs, clock, signal) {
  while (dueMs > clock() && !signal.aborted) {
    await sleep(Math.min(dueMs - clock(), LONGEST_SLEEP_MS), undefined, { signal }).catch(() => {})
  }
}

/**
 * Makes a signal that aborts when the writer is stopped, or after `ms`, even while no data arrives.
 * @param {number | null} ms null = no limit @param {AbortSignal} signal
 */
export function endingOf (ms, signal) {
  const over = new AbortController()
  const timer = ms ? setTimeout(() => over.abort(), Math.min(2 ** 31 - 1, ms)) : undefined
  return { signal: AbortSignal.any([signal, over.signal]), cancel: () => clearTimeout(timer) }
}

/**
 * @param {Feed} feed @param {Item & { ts: number, dueMs: number }} item @param {(code: string, reason: string) => void} refuse
 * @returns {boolean} whether there is room
 */
function appendOne (feed, item, refuse) {
  try {
    return feed.append(item)
  } catch (error) {
    // the pipeline has counted it
    if (!/^ITEM_/.test(error.code)) throw error
    refuse(error.code, error.code === 'ITEM_ID_INVALID' ? error.message : `id ${item.id}, ${error.message}`)
    return true
  }
}

/** @param {any} settings @param {number} startMs @param {() => number} clock @returns {Schedule} */
function createPace ({ rate, pace, periodMs, chunks }, startMs, clock) {
  if (rate === 0) return (ts) => ({ ts, dueMs: clock() })
  const pacer = createPacer({ ratePerSecond: rate, pace, periodMs, chunks, startMs })
  return (ts) => ({ ts, dueMs: pacer.take(0) })
}

/** @param {number} speed @param {number} startMs @returns {Schedule} for records with a time */
function createReplay (speed, startMs) {
  /** @type {number | null} */
  let firstTs = null
  return (ts) => {
    firstTs ??= ts
    const dueMs = startMs + (Number(ts) - Number(firstTs)) / speed
    return { ts: Math.floor(dueMs), dueMs }
  }
}
