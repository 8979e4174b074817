/**
 * The library itself in the process of the load (driver `direct`): what a writer does, without the writer's process around
 * it. Batches, bounds and lateness are the pipeline's own.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../../errors.js'
import { openFeed } from '../../index.js'
import { aborted } from '../../lifecycle.js'
import { createPacer } from '../../pipeline/pace.js'
import { LOST_AFTER_MS } from './drive.js'
import { createSource } from './source.js'

/** due items are appended this often */
const SLICE_MS = 5
/** so long at most before the event loop has its turn */
const TURN_ITEMS = 2000

/** Of the settings of a writer, those that openFeed takes; a test holds them to settings.js. */
export const FEED_OPTIONS = ['replicaUrl', 'keyPrefix', 'readFrom', 'layout', 'partitions', 'late', 'maxFutureMs', 'windowMs', 'maxItems',
  'batchItems', 'batchBytes', 'batchMs', 'inFlightBytes', 'ack', 'whenFull', 'drainMs', 'deadlineMs', 'sortedSetContainsActualValue']

/** @type {import('./index.js').Load['open']} */
export async function openLibrary ({ settings, redisUrl, replicaUrls, index, clock, onBehind }) {
  const { rate, pace, periodMs, chunks, drainMs, catchUp, whenFull } = settings
  const given = FEED_OPTIONS.filter((name) => settings[name] !== undefined && settings[name] !== null).map((name) => [name, settings[name]])
  const feed = await openFeed(settings.feed, { ...Object.fromEntries(given), ...(replicaUrls?.length && { replicaUrl: replicaUrls }), redisUrl, clock, onBehind })
  const { pipeline } = feed.writer
  const source = createSource(settings, index)

  /** @type {import('./index.js').Opened['run']} */
  async function run ({ startMs, endMs, giveUpMs, items, signal, look }) {
    const pacer = createPacer({ ratePerSecond: rate, pace, periodMs, chunks, startMs })
    const stopped = aborted(signal)
    let left = items
    while (!signal.aborted && left > 0) {
      const nowMs = clock()
      look(nowMs)
      if (nowMs >= giveUpMs || (nowMs >= endMs && (rate === 0 || pacer.due(endMs) < 1))) break
      if (!appendDue(nowMs) && whenFull === 'block') {
        await Promise.race([stopped, feed.ready({ deadlineMs: Math.max(1, Math.min(giveUpMs - nowMs, LOST_AFTER_MS)) }).catch(unlessLate)])
        if (catchUp === 'no') pipeline.skip(pacer.skip(Math.min(clock(), endMs)))
      } else if (pacer.due(clock()) >= 1) await nextTurn()
      else await sleep(Math.max(SLICE_MS, Math.min(pacer.waitMs(clock()), endMs - clock())), undefined, { signal }).catch(() => {})
    }
    if (left > 0 && clock() >= endMs) pipeline.skip(Math.min(left, pacer.skip(endMs)))
    await feed.flush({ deadlineMs: drainMs }).catch(unlessLate)
    await feed.close({ drainMs: 0 })
    const { failed } = feed.account
    if (pipeline.failure) throw pipeline.failure
    if (failed > 0) throw new FreshetError(pipeline.isFull ? 'SERVER_FULL' : 'DEADLINE_PASSED', `${failed} items were not acknowledged within ${drainMs} ms of the end`)

    /** @param {number} nowMs @returns {boolean} whether there is room for more */
    function appendDue (nowMs) {
      const turn = Math.min(left, TURN_ITEMS, pacer.due(Math.min(nowMs, endMs)))
      for (let i = 0; i < turn; i++) {
        // --- per item from here
        const dueMs = pacer.take(nowMs)
        const { id, ts, value } = source.next(dueMs)
        left--
        if (!feed.append({ id, ts, value, dueMs })) return false
        // --- to here
      }
      return true
    }
  }

  return { account: feed.account, run, close: () => feed.close({ drainMs: 0 }) }
}

/** @param {any} error waiting on is decided by the time that is left */
function unlessLate (error) {
  if (error.code !== 'DEADLINE_PASSED') throw error
}
