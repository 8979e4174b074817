/** Counted loads of the lab (loads/), such as the published way: their batches one at a time. */
import { LOADS } from '../loads/index.js'
import { settingsOf } from '../loads/run.js'

const FEED = 'lab'
const PREFIX = 'lab:'
/** A server under valgrind is as much slower: no key expires before it is written again, which would be other work. */
const LONGER = 60

/**
 * @param {string} name of LOADS @param {Record<string, any>} settings
 * @returns {import('./count.js').Load['open']}
 */
export const openOwnLoad = (name, settings) => async ({ primaryUrl, replicaUrls }) => {
  const given = { ...settings, windowMs: LONGER * settings.windowMs, keyPrefix: PREFIX, feed: FEED, rate: 0, batchesInFlight: 1 }
  const all = { ...settingsOf(LOADS[name], given), batchItems: settings.batchItems }
  let nowMs = Date.now()
  const opened = await LOADS[name].open({
    settings: all, redisUrl: primaryUrl, replicaUrls, index: 0, clock: () => nowMs++, onBehind () {}, onFlush () {}
  })
  return {
    run: (batches) => opened.run({
      startMs: nowMs,
      openMs: nowMs,
      endMs: Infinity,
      giveUpMs: Infinity,
      items: batches * all.batchItems,
      signal: new AbortController().signal,
      look () {}
    }),
    close: () => opened.close()
  }
}
