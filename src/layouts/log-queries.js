/**
 * Queries of log layouts without a view. Answers are exact, or VIEW_NEEDED where a scan would have to read too far back
 * (log-scan.js).
 *
 * @typedef {import('./log-scan.js').Version} Version
 * @typedef {import('./index.js').Layout} Layout
 */
import { compareOrder } from '../item/index.js'
import { createKeptScans } from './kept-scans.js'
import { countLog } from './log-count.js'
import { beginScan, compareVersions } from './log-scan.js'
import { MAX_READ } from './read-size.js'

/** @type {ReturnType<typeof createKeptScans<import('./log-scan.js').State>>} */
const scans = createKeptScans()

/** @param {import('./log.js').Log} log @returns {Pick<Layout, 'latest' | 'get' | 'count'>} */
export const createLogQueries = (log) => ({
  async latest (connection, key, { limit, after, sinceMs, retention, nowMs, scan: before }) {
    const name = key(log.part)
    const scan = await beginScan(connection, key, { log, retention, nowMs, state: after ? scans.take(before, name) : null })
    const minTs = Math.max(sinceMs ?? 0, scan.minTs)
    const wanted = Math.min(limit, MAX_READ)
    for (;;) {
      const bound = scan.bound < minTs ? -1 : scan.bound
      const found = scan.newest()
        .filter((version) =>
          !version.deleted && version.ts >= minTs && version.ts > bound && (after === null || compareOrder(version, after) < 0))
      if (bound < 0 || found.length >= wanted) {
        const items = found.sort((a, b) => compareVersions(b, a)).slice(0, wanted)
        const last = items.at(-1)
        const isMore = found.length > wanted || (bound >= 0 && items.length === wanted)
        return {
          items: items.map(itemOf),
          next: last && isMore ? { ts: last.ts, seq: last.seq, id: Buffer.from(last.id) } : null,
          scan: scans.keep(name, scan.state)
        }
      }
      await scan.read()
    }
  },

  async get (connection, key, ids, { retention, nowMs }) {
    if (ids.length === 0) return []
    const scan = await beginScan(connection, key, { log, retention, nowMs })
    // a version above the bound is the newest of its id
    const isFound = (/** @type {Buffer} */ id) => (scan.newestOf(id)?.ts ?? -1) > scan.bound
    while (scan.bound >= 0 && !ids.every(isFound)) await scan.read()
    return ids.map((id) => {
      const version = scan.newestOf(id)
      return version === null || version.deleted || version.ts < scan.minTs ? null : itemOf(version)
    })
  },

  count: (connection, key, now) => countLog(connection, key, { log, ...now })
})

/** @param {Version} version @returns {import('./index.js').Item} */
const itemOf = ({ id, ts, seq, value }) => ({ id, ts, seq, value })
