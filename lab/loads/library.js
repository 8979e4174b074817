/**
 * The library in the process of the load: a writer without the writer's process around it. Batches, limits and
 * lateness are the pipeline's.
 */
import { FreshetError } from '../errors.js'
import { openFeed } from '../../src/index.js'
import { insideOfFeed } from '../../src/inside.js'
import { appendPaced } from '../../src/pipeline/index.js'
import { LOST_AFTER_MS } from './drive.js'
import { createSource } from './source.js'

/** Settings of a writer that openFeed takes; a test compares them with settings.js. */
export const FEED_OPTIONS = ['replicaUrl', 'redisAuth', 'keyPrefix', 'readFrom', 'layout', 'partitions', 'late', 'compress', 'maxFutureMs',
  'windowMs', 'maxItems', 'batchItems', 'batchBytes', 'batchMs', 'inFlightBytes', 'ack', 'whenFull', 'drainMs', 'deadlineMs',
  'sortedSetContainsActualValue']

/** @type {import('./index.js').Load['open']} */
export async function openLibrary ({ settings, redisUrl, replicaUrls, index, clock, onBehind, onFlush }) {
  const { drainMs } = settings
  const given = FEED_OPTIONS.filter((name) => settings[name] !== undefined && settings[name] !== null).map((name) => [name, settings[name]])
  const feed = insideOfFeed(await openFeed(settings.feed,
    { ...Object.fromEntries(given), ...(replicaUrls?.length && { replicaUrl: replicaUrls }), redisUrl, clock, onBehind, onFlush }))
  const { pipeline } = feed.writer
  const source = createSource(settings, index)
  const item = { id: source.ids[0], ts: 0, value: source.ids[0], dueMs: 0 }

  /** @param {number} dueMs */
  function next (dueMs) {
    const made = source.next(dueMs)
    item.id = made.id
    item.ts = made.ts
    item.value = made.value
    item.dueMs = dueMs
    return item
  }

  /** @type {import('./index.js').Opened['run']} */
  async function run ({ startMs, endMs, giveUpMs, items, signal, look }) {
    await appendPaced({ feed, next, settings, items, startMs, endMs, giveUpMs, patienceMs: LOST_AFTER_MS, clock, signal, look })
    await feed.flush({ deadlineMs: drainMs }).catch(unlessLate)
    await feed.close({ drainMs: 0 }).catch(unlessLate)
    const { failed } = feed.account
    if (pipeline.failure) throw pipeline.failure
    if (failed > 0) {
      throw new FreshetError(pipeline.isFull ? 'SERVER_FULL' : 'DEADLINE_PASSED',
        `${failed} items were not acknowledged within ${drainMs} ms of the end`)
    }
  }

  return { account: feed.account, run, close: () => feed.close({ drainMs: 0 }).catch(unlessLost) }
}

/** Lost items are in the account, and `run` reports them. @param {any} error */
function unlessLost (error) {
  if (error.failed === undefined) throw error
}

/** Items without an acknowledgement are counted when the feed is closed. @param {any} error */
function unlessLate (error) {
  if (error.code !== 'DEADLINE_PASSED') throw error
}
