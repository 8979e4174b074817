/**
 * Positions: where a view is, and of those that clients send, how old they are and whether a view has reached them. Streams that want
 * neither a snapshot nor what came after a position begin at one that is made of what they want:
 *
 *     since   a time: all that was written since, as far as the log reaches back; else `reset` and a snapshot
 *     tail    so many ids that changed last, in the order of their changes, as far as the log reaches back
 *
 * @typedef {{ sinceMs: number } | { tail: number }} Start ms since 1970, on the clock of the server
 */
import { checkCreation, createdMsOf, decodeOffsets, encodeOffsets } from '../item/index.js'
import { countOwn, headOf, MAX_SCANNED, newestEntries } from '../view/index.js'

/** before all entries of a millisecond */
const LAST_N = 0xffffffff
/** by how much clocks may differ */
const CLOCKS_MS = 2000
const BEGINNING = Object.freeze({ ms: 0, n: 0, versions: 0, isEnd: true })

/** @typedef {import('./hub.js').View} View */
/**
 * @typedef {{ view: View, queries: Pick<import('../view/index.js').Queries, 'ofLog'>,
 *   filter: import('../item/index.js').IdFilter | null }} Of `filter`: of a client that may see some ids only, whose versions count
 */

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
async function tailOf (tail, { view, queries, filter }) {
  const { feed, partitions } = view.definition
  const ends = decodeOffsets(feed, view.position(), partitions)
  const bounds = { limit: tail, maxBytes: Infinity, filter, maxVersions: filter === null ? Infinity : MAX_SCANNED / partitions }
  const { found } = await queries.ofLog(feed, async (connection, { log, keys }) => ({
    found: await Promise.all(keys.map(async (key) => {
      const { entries } = await newestEntries(connection, log, key(log.part), bounds)
      return entries.map((entry) => placeOf(entry, filter === null ? headOf(log, entry)?.count ?? 0 : countOwn(log, entry, filter)))
    }))
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

/** @param {{ entryId: string }} entry @param {number} count versions in it */
function placeOf ({ entryId }, count) {
  const [ms, n] = entryId.split('-').map(Number)
  return { ms, n, count }
}

/** Where a view was in a round. Streams of several feeds need it once a second (several.js), so it is encoded when it is needed. */
export class Reached {
  /** @type {{ by: string, text: string } | undefined} */
  sealed
  #encode
  /** @type {string | null} */
  #text = null

  /** @param {() => string} encode */
  constructor (encode) { this.#encode = encode }

  get position () { return (this.#text ??= this.#encode()) }
}

/**
 * Compares the age of two positions, for sorting: the oldest first.
 * @param {View} view @param {string} a @param {string} b
 */
export function compareAge ({ definition: { feed, partitions } }, a, b) {
  const oldestMs = (/** @type {string} */ text) => Math.min(...decodeOffsets(feed, text, partitions).offsets.map(({ ms }) => ms))
  return oldestMs(a) - oldestMs(b)
}

/**
 * Whether a view has everything that was sent up to a position, perhaps by another reader. Before it does, it might send
 * versions that are older than those sent.
 * @param {View} view as it is now
 * @returns {(text: string) => boolean | null} null: the position is of an earlier feed of that name, which was dropped
 */
export function reachedFrom (view) {
  const { feed, partitions } = view.definition
  const { offsets } = decodeOffsets(feed, view.position(), partitions)
  return (text) => {
    try {
      checkCreation(view.definition, text)
      return decodeOffsets(feed, text, partitions).offsets.every((offset, partition) => compareOffsets(offset, offsets[partition]) <= 0)
    } catch (error) {
      if (error.code !== 'POSITION_INVALID' && error.code !== 'POSITION_EXPIRED') throw error
      return null
    }
  }
}

/** @param {{ ms: number, n: number }} a @param {{ ms: number, n: number }} b */
export const compareOffsets = (a, b) => a.ms - b.ms || a.n - b.n
