/**
 * Retention of a log: trimming (lua/trim-log.lua) and key expiry.
 *
 *     fr:{feed:p}:<part>       stream
 *     fr:{feed:p}:ahead        sorted set    how far items are ahead of the server's clock (log-origin.js)
 *     fr:{feed:p}:appended     string        versions appended, if the feed has maxItems
 *     fr:{feed:p}:marks        sorted set    entry id -> versions appended when it was the newest
 */
import { expiryCommand } from './retention.js'

/** clock skew allowed to readers and the server */
const SLACK_MS = 1000

/**
 * @param {import('./log.js').Log} log
 * @param {number} maxEntries removed at once
 * @returns {Pick<import('./index.js').Layout, 'excludedMs' | 'trim' | 'extend'>}
 */
export const createLogRetention = ({ part }, maxEntries) => ({
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
