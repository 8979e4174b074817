/**
 * Keeping a log within its retention (lua/trim-log.lua), and its keys for as long.
 *
 *     fr:{feed:p}:<part>       stream
 *     fr:{feed:p}:ahead        sorted set    how far items are ahead of the server's clock (log-origin.js)
 *     fr:{feed:p}:appended     string        versions that came, where the feed keeps a number of them
 *     fr:{feed:p}:marks        sorted set    place in the log -> versions that had come when it was the newest
 */
/** a reader's clock, or the server's, may be so far behind */
const SLACK_MS = 1000

/** @param {import('./log.js').Log} log @param {number} piece entries removed at once @returns {Pick<import('./index.js').Layout, 'trim' | 'extend'>} */
export const createLogKeeping = ({ part }, piece) => ({
  async trim (connection, key, { retention: { windowMs, maxItems }, nowMs }) {
    const removed = await connection.runScript('trim-log', [key(part), key('ahead'), key('appended'), key('marks')], [windowMs, maxItems, nowMs, SLACK_MS, piece])
    // the server stops before a node of its tree that would be too many: only when it removes nothing, nothing is left
    return { removed, more: removed > 0 }
  },

  async extend (connection, key, { ttlMs, condition }) {
    const keys = [part, 'ahead', 'appended', 'marks'].map(key)
    await connection.sendAll(keys.map((name) => ttlMs ? ['PEXPIRE', name, ttlMs, condition] : ['PERSIST', name]))
  }
})
