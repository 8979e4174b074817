/**
 * The common part of `segments` and `stream`: a log in order of arrival. They differ in what an entry is.
 */
import { appendToLog } from './log-batch.js'
import { createLogQueries } from './log-queries.js'
import { MAX_SCAN } from './log-scan.js'
import { MAX_READ } from './read-size.js'
import { expiryCommand } from './retention.js'

/** @typedef {import('./index.js').Layout} Layout */

/**
 * @param {{ log: Readonly<import('./log.js').Log>, createBatch: Layout['createBatch'], maxBatchItems: number, trimEntries: number }} parts
 *   `trimEntries`: maximum removed at once
 * @returns {Readonly<Layout>} named after the part of its keys
 */
export const createLogLayout = ({ log, createBatch, maxBatchItems, trimEntries }) => Object.freeze({
  name: log.part,
  format: 1,
  log,
  describe: () => /** @type {const} */ ({
    versions: 'many',
    late: 'newest',
    counted: 'by arrival',
    trims: 'entries',
    withoutView: { latest: 'newest', get: 'newest', count: 'estimate' },
    maxScan: MAX_SCAN,
    maxBatchItems,
    maxPage: MAX_READ,
    encodings: { [log.part]: 'stream' }
  }),
  createBatch,
  append: appendToLog,
  ...createLogQueries(log),
  ...createLogRetention(log, trimEntries)
})

/**
 * Retention of a log: trimming (lua/trim-log.lua) and key expiry.
 *
 *     fr:{feed:p}:<part>       stream
 *     fr:{feed:p}:ahead        sorted set    how far items are ahead of the server's clock (log-origin.js)
 *     fr:{feed:p}:appended     string        versions appended, if the feed has maxItems
 *     fr:{feed:p}:marks        sorted set    entry id -> versions appended when it was the newest
 */

/** clock skew allowed to readers and the server */
const SLACK_MS = 1000

/**
 * @param {import('./log.js').Log} log
 * @param {number} maxEntries removed at once
 * @returns {Pick<import('./index.js').Layout, 'excludedMs' | 'trim' | 'extend'>}
 */
const createLogRetention = ({ part }, maxEntries) => ({
  // the oldest mark stays when what it excludes is trimmed
  async excludedMs (connection, key, { maxItems }) {
    const [appended, [entryId, before]] = await connection.sendAll([
      ['GET', key('appended')], ['ZREVRANGE', key('marks'), -1, -1, 'WITHSCORES']
    ])
    return entryId && Number(appended) - Number(before) >= maxItems ? Number.parseInt(String(entryId)) : null
  },

  async trim (connection, key, { retention: { windowMs, maxItems }, nowMs }) {
    const keys = [part, 'ahead', 'appended', 'marks'].map(key)
    const removed = await connection.runScript('trim-log', keys, [windowMs, maxItems, nowMs, SLACK_MS, maxEntries])
    // the server removes whole tree nodes only, so a short removal does not mean the end
    return { removed, more: removed > 0 }
  },

  async extend (connection, key, expiry) {
    await connection.sendAll([part, 'ahead', 'appended', 'marks'].map((name) => expiryCommand(key(name), expiry)))
  }
})
