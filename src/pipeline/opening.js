/** The definition that a writer begins with: the stored one, or that of a new feed, and the epoch of its entries in a log. */
import { agree, expectAgreed, expiryMs } from '../feeds/index.js'
import { createOrigin } from '../layouts/index.js'

/** @typedef {import('./feed-writer.js').FeedWriterOptions} FeedWriterOptions */

/**
 * Reads the definition, and creates the origin of the entries of a log.
 * @param {import('../store/index.js').Router} primary
 * @param {{ before: import('../feeds/index.js').Definition | null, options: FeedWriterOptions,
 *   wanted: Omit<import('../feeds/index.js').Definition, 'createdAt'>, key: (part: string) => string,
 *   layout: import('../layouts/index.js').Layout, name: string, serverMs: () => number }} parts `before`: as it was stored at the start;
 *   `key`: of partition 0
 */
export async function openDefinition (primary, { before, options, wanted, key, layout, name, serverMs }) {
  const { keyPrefix, maxFutureMs, log } = options
  const stored = options.isLazy ? before && expectAgreed(before, wanted) : await agree(primary, keyPrefix, wanted)
  const definition = stored ?? { ...wanted, createdAt: new Date().toISOString() }
  if (stored) warnOfRetention(stored, options.asked, log)
  const nowMs = serverMs()
  // names are unique; only a log shows the order of its writers
  const epoch = stored && layout.log
    ? await nextEpoch(primary, key('epoch'), { ttlMs: expiryMs(stored, maxFutureMs), nowMs })
    : firstEpoch(nowMs)
  return { definition, isStored: stored !== null, origin: createOrigin({ name, epoch, serverMs }) }
}

/**
 * Of an existing feed, what the caller did not ask for is as it is stored.
 * @param {import('../feeds/index.js').Definition | null} stored @param {FeedWriterOptions} options
 * @returns {FeedWriterOptions}
 */
export function settledBy (stored, options) {
  const { asked } = options
  if (stored === null || asked === undefined) return options
  const { layout, partitions, late = 'newest' } = stored
  return { ...options, ...Object.fromEntries(Object.entries({ layout, partitions, late }).filter(([name]) => !(name in asked))) }
}

/**
 * The first writer sets the retention, so the stored one may differ from what was asked for.
 * @param {import('../feeds/index.js').Definition} definition @param {FeedWriterOptions['asked']} asked
 * @param {import('pino').Logger} log
 */
function warnOfRetention (definition, asked, log) {
  for (const [name, flag] of /** @type {const} */ ([['windowMs', '--window-ms'], ['maxItems', '--max-items']])) {
    const wanted = asked?.[name]
    if (wanted === undefined || wanted === definition[name]) continue
    const { feed, [name]: stored } = definition
    log.warn({ feed, [name]: stored }, `the feed is stored with ${name} ${stored}, so ${wanted} has no effect; to change it: npx freshet ` +
      `feed set ${feed} ${flag} ${wanted}, with the same --redis-url`)
  }
}

/** Of a feed that is not stored: less than that of a later opening, which counts from its time. @param {number} nowMs */
const firstEpoch = (nowMs) => Math.floor(nowMs / 1000)

/**
 * The epoch tells a writer from an earlier one of the same name. It counts from the time of the server, so that it rises
 * even after the key expired. After a failover it may repeat; the random part of the name still differs.
 * @param {import('../store/index.js').Router} primary @param {string} name of the key
 * @param {{ ttlMs: number, nowMs: number }} options `ttlMs`: of the stored items, 0 = no expiry
 * @returns {Promise<number>}
 */
async function nextEpoch (primary, name, { ttlMs, nowMs }) {
  await primary.send('SET', name, Math.floor(nowMs / 1000), 'NX')
  const epoch = await primary.send('INCRBY', name, 1)
  if (ttlMs > 0) await primary.send('PEXPIRE', name, ttlMs)
  return epoch
}
