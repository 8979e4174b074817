/**
 * One load from its first connection to its tally. It is measured from the end of its warm-up, when all counters, the histogram,
 * the CPU time and the event loop utilization start at zero (L2, L7).
 *
 *     startMs ............ openMs ................... endMs ........ giveUpMs
 *             warm-up                   duration            drain
 *
 * The lab reads the servers' figures when measuring begins, so that moment is between two batches: half-way, or just before a
 * burst.
 *
 * @typedef {object} Run
 * @property {number} startMs on the clock of the load, ms since 1970
 * @property {number} openMs when measuring begins; `look` must be called then
 * @property {number} endMs nothing is due after it
 * @property {number} giveUpMs items that are due and not sent by then are dropped
 * @property {number} items at most
 * @property {AbortSignal} signal
 * @property {(nowMs: number) => void} look to be called before sending what is due by then
 *
 * @typedef {import('../../src/summary/index.js').Tally & { engine: string }} LoadTally
 */
import { createClock } from '../../src/clock.js'
import { FreshetError } from '../errors.js'
import { createMeasurement } from '../../src/summary/index.js'
import { expectPrimary, openConnection } from '../../src/store/index.js'
import { LOST_AFTER_MS } from './drive.js'

/** Bursts are sent at multiples of the period. */
const BEFORE_BURST_MS = 25

/**
 * @typedef {{ rate: number, ids: number, valueBytes: number, valueChange: 'always' | 'never', lateEvery: number, batchItems: number,
 *   pace: 'steady' | 'burst', periodMs: number, chunks: number, catchUp: 'yes' | 'no', whenFull: 'block' | 'refuse' |
 *   'drop', writers: number, items: number,
 *   duration: number, warmUp: number, windowMs: number, maxItems: number, maxFutureMs: number, drainMs: number,
 *   keyPrefix: string, feed: string,
 *   layout: 'ids' | 'values' | 'segments' | 'stream', wholeBatches: boolean, [other: string]: any }} Settings of the writer, by name, and
 *   `wholeBatches`: a batch is sent only when it has batchItems
 */

/** @type {Readonly<Settings>} */
const DEFAULTS = Object.freeze({
  rate: 0,
  ids: 100_000,
  valueBytes: 128,
  valueChange: 'always',
  lateEvery: 0,
  batchItems: 1000,
  pace: 'steady',
  periodMs: 1000,
  chunks: 1,
  catchUp: 'yes',
  whenFull: 'block',
  writers: 1,
  items: Infinity,
  duration: Infinity,
  warmUp: 0,
  windowMs: 60_000,
  maxItems: 0,
  maxFutureMs: 60_000,
  drainMs: 10_000,
  keyPrefix: 'fr:',
  feed: 'latest',
  layout: 'ids',
  wholeBatches: false
})

/**
 * @param {import('./index.js').Load} load
 * @param {Record<string, any>} given
 * @returns {Settings} complete
 */
export const settingsOf = (load, given) => ({
  ...DEFAULTS,
  ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== null)),
  ...load.always
})

/**
 * @param {import('./index.js').Load} load
 * @param {{ settings: Settings, redisUrl: string, replicaUrls: string[] | null, index: number, signal: AbortSignal, gateway?: string[],
 *   onOpened?: () => Promise<unknown> | void, onMeasuring: () => void }} parts `index` of this writer, of `settings.writers`;
 *   nothing is written before `onOpened` resolves; `onMeasuring`: the warm-up is over
 * @returns {Promise<LoadTally>}
 * @throws {import('../../src/errors.js').FreshetError} of the server
 */
export async function runLoad (load, { settings, redisUrl, replicaUrls, index, signal, gateway, onOpened = () => {}, onMeasuring }) {
  const { rate, duration, warmUp, drainMs, items, pace } = settings
  if (pace === 'burst' && rate === 0) {
    throw new FreshetError('LOAD_FAILED', 'rate 0 with bursts: expected a rate above 0, which determines the items of a burst')
  }
  const engine = await engineOf(redisUrl)
  const clock = createClock()
  const measurement = createMeasurement()
  const opened = await load.open({
    settings,
    redisUrl,
    replicaUrls,
    index,
    clock,
    gateway,
    onBehind: measurement.behind,
    onFlush: (seconds) => measurement.flush(seconds * 1000)
  })

  try {
    await onOpened()
    const startMs = clock()
    const measureMs = startMs + warmUp * 1000
    const endMs = measureMs + duration * 1000
    const openMs = pace !== 'burst'
      ? measureMs + Math.min(opened.betweenMs ?? 0, duration * 1000) / 2
      : warmUp > 0 ? measureMs - BEFORE_BURST_MS : measureMs
    const othersCpuMicros = async () => await opened.cpuMicros?.() ?? 0
    let othersBefore = Promise.resolve(0)
    /** @param {number} nowMs */
    const look = (nowMs) => {
      if (measurement.isMeasuring || nowMs < openMs) return
      othersBefore = othersCpuMicros()
      // awaited at the end of the run
      othersBefore.catch(() => {})
      measurement.begin(opened.account, nowMs)
      onMeasuring()
    }
    await opened.run({ startMs, openMs, endMs, giveUpMs: endMs + drainMs, items, signal, look })
    const tally = measurement.end(opened.account, clock())
    return { ...tally, cpuMicros: tally.cpuMicros + await othersCpuMicros() - await othersBefore, engine }
  } finally {
    await opened.close()
  }
}

/** @param {string} redisUrl @returns {Promise<string>} such as `valkey 9.1.2` @throws SERVER_REFUSED by a replica */
async function engineOf (redisUrl) {
  const connection = await openConnection(redisUrl, { name: `freshet-load-${process.pid}:look`, deadlineMs: LOST_AFTER_MS })
  try {
    return (await expectPrimary(connection)).engine
  } finally {
    connection.close()
  }
}
