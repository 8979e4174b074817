/**
 * What log layouts answer when they are asked for each request: exactly, or VIEW_NEEDED where more of the log would have
 * to be read than a walk may (log-walk.js).
 *
 * @typedef {import('./log-walk.js').Version} Version
 * @typedef {import('./index.js').Layout} Layout
 */
import { compareOrder } from '../item/order.js'
import { countLog } from './log-count.js'
import { beginWalk, compareVersions } from './log-walk.js'
import { MAX_PIECE, PIECE_BYTES } from './pieces.js'

/** @type {WeakMap<object, { name: string, state: import('./log-walk.js').State }>} of pages that may be gone on from, once */
const walks = new WeakMap()

/** @param {import('./log.js').Log} log @returns {Pick<Layout, 'latest' | 'tail' | 'get' | 'count'>} */
export const createLogAnswers = (log) => ({
  async latest (connection, key, { limit, after, sinceMs, retention, nowMs, walk: before }) {
    const name = key(log.part)
    const walk = await beginWalk(connection, key, { log, retention, nowMs, state: after ? taken(before, name) : null })
    const minTs = Math.max(sinceMs ?? 0, walk.minTs)
    const wanted = Math.min(limit, MAX_PIECE)
    for (;;) {
      const bound = walk.bound < minTs ? -1 : walk.bound
      const found = walk.newest()
        .filter((version) => !version.deleted && version.ts >= minTs && version.ts > bound && (after === null || compareOrder(version, after) < 0))
      if (bound < 0 || found.length >= wanted) {
        const items = found.sort((a, b) => compareVersions(b, a)).slice(0, wanted)
        const last = items.at(-1)
        const isMore = found.length > wanted || (bound >= 0 && items.length === wanted)
        return { items: items.map(itemOf), next: last && isMore ? { ts: last.ts, seq: last.seq, id: Buffer.from(last.id) } : null, walk: kept(name, walk.state) }
      }
      await walk.read()
    }
  },

  async tail (connection, key, { after, sinceMs, limit, known, retention, nowMs }) {
    const walk = await beginWalk(connection, key, { log, retention, nowMs })
    const from = after && after.ts >= sinceMs ? after : null
    const minTs = Math.max(sinceMs, walk.minTs)
    while (walk.bound >= Math.max(minTs, from?.ts ?? 0)) await walk.read()
    const versions = walk.kept()
      .filter((version) => version.ts >= minTs && (from === null || isBehind(version, from)))
      .sort(compareVersions)
      // of those that only their place in the segment tells apart, the last one
      .filter((version, i, all) => i === all.length - 1 || compareOrder(version, all[i + 1]) !== 0 || version.stamp !== all[i + 1].stamp)
    let end = 0
    for (let bytes = 0; end < Math.min(limit, MAX_PIECE, versions.length) && bytes < PIECE_BYTES; end++) bytes += versions[end].value.length
    const looked = versions.slice(0, end)
    const last = looked.at(-1)
    return {
      items: looked.filter((version) => !known(version)).map((version) => ({ ...itemOf(version), stamp: version.stamp, deleted: version.deleted })),
      next: last && end < versions.length ? { ts: last.ts, seq: last.seq, id: Buffer.from(last.id), stamp: last.stamp } : null
    }
  },

  async get (connection, key, ids, { retention, nowMs }) {
    if (ids.length === 0) return []
    const walk = await beginWalk(connection, key, { log, retention, nowMs })
    // above the bound a version is the newest of its id
    const isFound = (/** @type {Buffer} */ id) => (walk.newestOf(id)?.ts ?? -1) > walk.bound
    while (walk.bound >= 0 && !ids.every(isFound)) await walk.read()
    return ids.map((id) => {
      const version = walk.newestOf(id)
      return version === null || version.deleted || version.ts < walk.minTs ? null : itemOf(version)
    })
  },

  count: (connection, key, now) => countLog(connection, key, { log, ...now })
})

/** @param {Version} version @param {import('../item/member.js').VersionPlace} place */
const isBehind = (version, place) => (compareOrder(version, place) || (place.stamp === undefined ? 0 : version.stamp - place.stamp)) > 0

/** @param {Version} version @returns {import('./index.js').Item} */
const itemOf = ({ id, ts, seq, value }) => ({ id, ts, seq, value })

/** @param {string} name @param {import('./log-walk.js').State} state */
function kept (name, state) {
  const walk = Object.freeze({})
  walks.set(walk, { name, state })
  return walk
}

/**
 * A page that fails leaves its walk half gone, so whoever asks again begins anew.
 * @param {any} walk @param {string} name
 */
function taken (walk, name) {
  const before = walk ? walks.get(walk) : undefined
  if (!before || before.name !== name) return null
  walks.delete(walk)
  return before.state
}
