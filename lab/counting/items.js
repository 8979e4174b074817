/**
 * Counted loads of items: the library writes as in a process of a user, one batch at a time, with times that are the same in each run.
 */
import { FreshetError } from '../errors.js'
import { openFeed } from '../../src/index.js'
import { decidedOf } from '../../src/pipeline/index.js'
import { openConnection } from '../../src/store/index.js'
import { LOADS } from '../loads/index.js'
import { FEED_OPTIONS } from '../loads/library.js'
import { settingsOf } from '../loads/run.js'
import { createSource } from '../loads/source.js'
import { queryNode } from '../servers/query.js'

const FEED = 'lab'
const DEADLINE_MS = 60_000
export const VALUE_BYTES = 136

/** @typedef {import('./count.js').Load} Load */

/** Items have the same times in each run: a hash table of them has the same collisions. */
const EPOCH_MS = 1_764_000_000_000
/** That long ago is within the window. */
const WINDOW_MS = 10 * 365 * 24 * 3_600_000

/** A clock that moves by a ms a batch. */
function createSteadyClock () {
  let nowMs = EPOCH_MS
  return { now: () => nowMs, tick: () => { nowMs++ } }
}

/**
 * The library as a load.
 * @param {Record<string, any>} settings of a writer; `flushItems`: a batch of each of its partitions, by default batchItems; `mayWatch`
 *   false: batches of `ids` go through the script, as without the permission for WATCH
 * @returns {Load['open']}
 */
export const openItems = (settings) => async ({ primaryUrl, replicaUrls }) => {
  const all = { ...settingsOf(LOADS.library, settings), ...settings }
  const { flushItems = all.batchItems, mayWatch = true } = settings
  if (!mayWatch) await queryNode(primaryUrl, (node) => node.send('ACL', 'SETUSER', 'default', '-watch'), { deadlineMs: DEADLINE_MS })
  const clock = createSteadyClock()
  const given = Object.fromEntries(FEED_OPTIONS.filter((name) => settings[name] !== undefined).map((name) => [name, settings[name]]))
  const feed = await openFeed(FEED, {
    ...given,
    redisUrl: primaryUrl,
    ...(replicaUrls.length > 0 && { replicaUrl: replicaUrls }),
    windowMs: settings.windowMs === 0 ? 0 : WINDOW_MS,
    clock: clock.now,
    deadlineMs: DEADLINE_MS,
    batchMs: 1000
  })
  const source = createSource(all, 0)
  return {
    async run (batches) {
      for (let batch = 0; batch < batches; batch++) {
        clock.tick()
        for (let i = 0; i < flushItems; i++) feed.append(source.next(clock.now()))
        await feed.flush({ deadlineMs: DEADLINE_MS })
      }
      const { account, account: { offered } } = feed
      const decided = decidedOf(account)
      if (decided < offered) throw new FreshetError('COUNT_FAILED', `${offered - decided} of ${offered} items were not stored`)
    },
    close: (drainMs = DEADLINE_MS) => feed.close({ drainMs })
  }
}

/**
 * The anchor of a table: nothing of ours, a SET PX of 136 bytes for each item.
 * @param {Record<string, any>} settings @returns {Load['open']}
 */
export const openAnchor = ({ ids, batchItems }) => async ({ primaryUrl }) => {
  const connection = await openConnection(primaryUrl, { name: 'freshet-count', deadlineMs: DEADLINE_MS })
  const source = createSource({ ids, valueBytes: VALUE_BYTES, valueChange: 'always', writers: 1 }, 0)
  return {
    async run (batches) {
      for (let batch = 0; batch < batches; batch++) {
        await connection.sendAll(Array.from({ length: batchItems }, () => {
          const { id, value } = source.next(0)
          return ['SET', `item:${id}`, Buffer.from(value), 'PX', 60_000]
        }))
      }
    },
    close: async () => connection.close()
  }
}
