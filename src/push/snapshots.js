/** Ids of snapshots. A snapshot of all ids is shared by streams that ask for it at the same time. */

/** Larger snapshots are shared for SHARED_MS; the changes since are sent after them. */
const LARGE_IDS = 1000
const SHARED_MS = 1000

/** @typedef {import('../view/index.js').View} View */
/** @typedef {{ ids: readonly string[], seq: number, builtMs: number }} Snapshot `seq`: of the changes at that time */

/** @param {import('./changes.js').Changes} changes */
export function createSnapshots (changes) {
  /** Snapshots by limit. @type {Map<number, Snapshot>} */
  const snapshots = new Map()

  return {
    /** @param {View} view @param {number} limit @param {number} nowMs @returns {Snapshot} */
    ofAll (view, limit, nowMs) {
      const cached = snapshots.get(limit)
      const isShared = cached && limit > LARGE_IDS && nowMs - cached.builtMs < SHARED_MS && changes.covers(cached.seq)
      if (cached && (cached.seq === changes.end || isShared)) return cached
      const built = { ids: newestIds(view, limit), seq: changes.end, builtMs: nowMs }
      for (const [other, { builtMs }] of snapshots) if (nowMs - builtMs >= SHARED_MS) snapshots.delete(other)
      snapshots.set(limit, built)
      return built
    },

    clear () { snapshots.clear() }
  }
}

/**
 * The newest live ids among some, oldest first.
 * @param {View} view
 * @param {Iterable<string>} ids
 * @param {number} limit
 * @returns {string[]}
 */
export function newestAmong (view, ids, limit) {
  /** @type {[id: string, ts: number][]} */
  const items = []
  for (const id of ids) {
    const newest = view.newest(Buffer.from(id, 'latin1'))
    if (newest !== null && !newest.deleted) items.push([id, newest.ts])
  }
  return limit === 0 ? [] : items.sort(([, a], [, b]) => a - b).slice(-limit).map(([id]) => id)
}

/** Oldest first. @param {View} view @param {number} limit @returns {string[]} */
function newestIds (view, limit) {
  /** @type {string[]} */
  const ids = []
  if (limit > 0) view.visit({ limit }, (bytes, idAt, idEnd) => { ids.push(bytes.toString('latin1', idAt, idEnd)) })
  return ids.reverse()
}
