/**
 * Where streams begin that want neither a snapshot nor what came after a position: as positions, from which they resume.
 *
 *     since   a time: all that was written since, as far as the log reaches back; else `reset` and a snapshot
 *     tail    so many ids that changed last, in the order of their changes, as far as the log reaches back
 *
 * @typedef {{ sinceMs: number } | { tail: number }} Start ms since 1970, on the clock of the server
 */
import { createdMsOf, decodeOffsets, encodeOffsets } from '../item/index.js'
import { entriesBefore } from '../layouts/index.js'
import { createEntriesAtOnce, headOf, MAX_ENTRIES } from '../view/index.js'

/** before all entries of a millisecond */
const LAST_N = 0xffffffff
/** by how much clocks may differ */
const CLOCKS_MS = 2000
const BEGINNING = Object.freeze({ ms: 0, n: 0, versions: 0, isEnd: true })

/** @typedef {import('../view/index.js').View} View */
/** @typedef {{ view: View, queries: Pick<import('../view/index.js').Queries, 'ofLog'> }} Of */

/** @param {Start} start @param {Of} of @returns {Promise<string>} a position */
export const positionAt = async (start, of) => 'tail' in start ? tailOf(start.tail, of) : sinceOf(start.sinceMs, of.view)

/** @param {number} sinceMs @param {View} view @returns {string} */
function sinceOf (sinceMs, view) {
  const { feed, partitions } = view.definition
  const createdMs = createdMsOf(view.definition)
  const isAll = sinceMs < createdMs - CLOCKS_MS
  const readMs = isAll ? Math.max(0, createdMs - CLOCKS_MS) : sinceMs
  const offsets = decodeOffsets(feed, view.position(), partitions).offsets.map((end) =>
    isAll ? BEGINNING : end.ms < sinceMs ? end : { ms: sinceMs - 1, n: LAST_N, versions: 0, isEnd: true })
  return encodeOffsets(feed, { readMs, offsets }, createdMs)
}

/**
 * The entries before the end of the view with as many versions, of all partitions together: each begins with the first of its own.
 * @param {number} tail @param {Of} of @returns {Promise<string>}
 */
async function tailOf (tail, { view, queries }) {
  const { feed, partitions } = view.definition
  const ends = decodeOffsets(feed, view.position(), partitions)
  const { found } = await queries.ofLog(feed, async (connection, { log, keys }) => ({
    found: await Promise.all(keys.map((key) => newestOf(connection, log, key(log.part), tail)))
  }))
  const newest = found.flatMap((entries, partition) => entries.map((entry) => ({ ...entry, partition })))
    .sort((a, b) => b.ms - a.ms || b.n - a.n)
  const offsets = [...ends.offsets]
  let count = 0
  for (const { ms, n, count: versions, partition } of newest) {
    if (count >= tail) break
    count += versions
    // the whole entry comes again
    offsets[partition] = { ms, n, versions: 1, isEnd: false }
  }
  return encodeOffsets(feed, { readMs: ends.readMs, offsets }, createdMsOf(view.definition))
}

/**
 * The newest entries of a log with so many versions, or all.
 * @param {import('../store/index.js').Router} connection @param {import('../layouts/index.js').Log} log @param {string} name
 * @param {number} tail
 * @returns {Promise<{ ms: number, n: number, count: number }[]>}
 */
async function newestOf (connection, log, name, tail) {
  const size = createEntriesAtOnce()
  /** @type {{ ms: number, n: number, count: number }[]} */
  const all = []
  /** @type {string | null} */
  let before = null
  for (let versions = 0; versions < tail;) {
    const count = size.of(Math.min(tail, MAX_ENTRIES))
    const entries = await entriesBefore(connection, name, { before, count })
    size.learn(entries, ({ bytes }) => bytes.length)
    for (const entry of entries) {
      const [ms, n] = entry.entryId.split('-').map(Number)
      const held = headOf(log, entry)?.count ?? 0
      versions += held
      all.push({ ms, n, count: held })
      if (versions >= tail) break
    }
    if (entries.length < count) break
    before = /** @type {string} */ (entries.at(-1)?.entryId)
  }
  return all
}
