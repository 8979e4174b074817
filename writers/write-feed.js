/**
 * One writer in this process: opens the feed, runs the source, flushes, and returns the account of all items.
 */
import { createClock } from '../src/clock.js'
import { aborted } from '../src/runtime/index.js'
import { openFeed } from '../src/index.js'
import { insideOfFeed } from '../src/inside.js'
import { createMeasurement } from '../src/summary/index.js'
import { SERVERS_FAILED } from '../src/embedded/index.js'
import { createRecordSource, endingOf } from './records.js'
import { runSynthetic } from './synthetic.js'

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
