/**
 * One writer in this process: opens the feed, runs the source, flushes, and returns the account of all items.
 */
import { makeBuses } from '../demo/buses.js'
import { createClock } from '../src/clock.js'
import { SERVERS_FAILED } from '../src/embedded/index.js'
import { openFeed } from '../src/index.js'
import { insideOfFeed } from '../src/inside.js'
import { appendPaced } from '../src/pipeline/index.js'
import { aborted } from '../src/runtime/index.js'
import { createMeasurement } from '../src/summary/index.js'
import { isLateId, LATE_MS, makeIds, makeValue } from '../src/synthetic.js'
import { createRecordSource, endingOf } from './records.js'

/** @typedef {import('../src/summary/index.js').Tally} Tally */

const OF_NEW_FEED = ['layout', 'partitions', 'late', 'windowMs', 'maxItems']

/** Not for other callers: of a made-up load, the opening creates the feed. */
const openBy = /** @type {(name: string, options: import('../src/index.js').FeedOptions, by: { isLazy: boolean }) =>
 *   Promise<import('../src/index.js').Feed>} */ (openFeed)

/**
 * @param {{ settings: any, options: Record<string, any>, redisUrl: string, index: number, log: import('pino').Logger,
 *   signal: AbortSignal, streams?: import('./records.js').Streams, metrics?: import('../src/metrics/index.js').WriterMetrics,
 *   onOpened?: (writer: import('../src/pipeline/index.js').FeedWriter) => void | Promise<void>,
 *   onMeasuring?: (account: Tally['account']) => void }} parts
 *   `options`: of openFeed; `signal` stops the source, and appended items are flushed for at most `drainMs`; the source starts
 *   after `onOpened`; `onMeasuring`: the warm-up is over
 * @returns {Promise<Tally & import('./summary.js').Reach & { error: Error | null }>}
 */
export async function writeFeed ({
  settings, options, redisUrl, index, log, signal, streams = process, metrics, onOpened = () => {}, onMeasuring = () => {}
}) {
  const clock = createClock()
  const measurement = createMeasurement()
  const records = ['stdin', 'file'].includes(settings.source) ? createRecordSource({ settings, log, streams }) : null
  const feed = insideOfFeed(await openBy(settings.feed, {
    ...options,
    // defaults are not passed on: an existing feed is written as it is stored
    ...Object.fromEntries(OF_NEW_FEED.filter((name) => settings.origins[name] === 'default').map((name) => [name, undefined])),
    redisUrl,
    clock,
    log,
    onBehind (behindMs) {
      measurement.behind(behindMs)
      metrics?.behind(settings.feed, behindMs)
    },
    onFlush (seconds) {
      measurement.flush(seconds * 1000)
      metrics?.flush(settings.feed, seconds)
    },
    onRefused: records?.onRefused
  }, { isLazy: records !== null }))
  metrics?.follow(settings.feed, feed.writer)
  await onOpened(feed.writer)

  const { pipeline } = feed.writer
  // unacknowledged items are in the tally, with the failure
  const close = (/** @type {number} */ drainMs) => feed.close({ drainMs })
    .catch((error) => { if (error.failed === undefined) throw error })
  const measure = () => {
    measurement.begin(pipeline.account, clock())
    onMeasuring(pipeline.account)
  }
  const warmUp = settings.warmUp > 0 ? setTimeout(measure, settings.warmUp * 1000) : undefined
  if (!warmUp) measure()
  const run = { ...settings, duration: settings.duration && settings.warmUp + settings.duration }
  const ending = endingOf(run.duration && run.duration * 1000 + settings.drainMs, signal)
  // closing also ends a source that waits for room
  const closing = aborted(ending.signal).then(() => close(ending.signal.reason === SERVERS_FAILED ? 0 : settings.drainMs))
  /** @type {Error | null} */
  let error = null
  try {
    const parts = { feed, clock, signal: ending.signal }
    await (records ? records.run({ ...parts, duration: run.duration }) : runSynthetic({ ...parts, settings: run, index }))
  } catch (caught) {
    if (caught.code !== 'PIPELINE_CLOSED' || !ending.signal.aborted) error = caught
  }
  const sourceEndMs = clock()
  await (ending.signal.aborted ? closing : close(settings.drainMs))
  clearTimeout(warmUp)
  ending.cancel()
  await records?.close(feed).catch((caught) => { error ??= caught })
  if (!measurement.isMeasuring) log.warn('the run ended during its warm-up; nothing was measured')
  const tally = measurement.end(pipeline.account, Math.max(sourceEndMs, pipeline.lastAcknowledgedMs))
  const { keptMs, definition: { windowMs } } = feed.writer
  return { ...tally, keptMs, windowMs, error: error ?? pipeline.failure }
}

// Items that are made up, paced open-loop: positions of buses `bus-0`, `bus-1`, ..., or the numbered values of the lab, `id-0`, ...

/**
 * @param {{ feed: import('../src/inside.js').WritableFeed, settings: any, index: number,
 *   clock: () => number, signal: AbortSignal }} parts `index` of this process: writers divide the ids
 */
async function runSynthetic ({ feed, settings, index, clock, signal }) {
  const { ids, value, change } = workloadOf(settings, index)
  const item = { id: ids[0], ts: 0, value, dueMs: 0 }
  let nextId = 0
  let isFirst = true

  /** @param {number} dueMs */
  function next (dueMs) {
    change()
    item.id = ids[nextId]
    item.ts = Math.floor(dueMs) - (!isFirst && isLateId(nextId, settings.lateEvery) ? LATE_MS : 0)
    item.dueMs = dueMs
    if (++nextId === ids.length) {
      nextId = 0
      isFirst = false
    }
    return item
  }

  const startMs = clock()
  const endMs = settings.duration ? startMs + settings.duration * 1000 : Infinity
  await appendPaced({ feed, next, settings, items: settings.items ?? Infinity, startMs, endMs, clock, signal })
}

/** @param {any} settings @param {number} index of the writer @returns {{ ids: Buffer[], value: Buffer, change: () => void }} */
function workloadOf ({ source, ids: distinct, writers, valueBytes, valueChange }, index) {
  const isMoving = valueChange === 'always'
  if (source === 'synthetic') {
    const ids = makeIds(distinct, index, writers)
    return { ids, ...makeValue(valueBytes, index, isMoving ? Infinity : ids.length) }
  }
  const ids = makeIds(distinct, index, writers, 'bus')
  return { ids, ...makeBuses(valueBytes, { index, buses: ids.length, isMoving }) }
}
