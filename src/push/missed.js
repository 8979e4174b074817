/**
 * What a client missed: the ids that changed behind its position.
 *
 *     logs    the entries behind it are read from a node, up to where the view is; only their ids are kept
 *     sets    what has an event time of 2 s before it, or newer, out of the view: there is no order of arrival
 *
 * The newest version of each comes out of the view afterwards, so nothing newest is left out, and nothing goes back.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { decodePlaces, decodeTimes } from '../item/position.js'
import { layoutOf } from '../layouts/index.js'
import { comparePlaces } from '../layouts/log.js'
import { MAX_ENTRIES, beginPart, checkSame, createEntriesAtOnce, isUnreadable, readBehind } from '../view/log-behind.js'

/** one who missed more gets a snapshot */
const MAX_IDS = 100_000
const MAX_BYTES = 64 * 1024 * 1024
const MAX_MS = 10_000
const LOOK_MS = 20
const OVERLAP_MS = 2000

/** @typedef {import('../view/view.js').View} View */

/**
 * Whether a position is one of that feed.
 * @param {import('../feeds/definitions.js').Definition} definition @param {string} text
 * @throws {FreshetError} POSITION_INVALID
 */
export function checkPosition ({ feed, layout, partitions }, text) {
  if (layoutOf(layout).log) decodePlaces(feed, text, partitions)
  else decodeTimes(feed, text, partitions)
}

/**
 * Whether a view has all that was sent up to a position, perhaps by another reader: before, it could send what is older.
 * @param {View} view @param {string} text
 * @throws {FreshetError} POSITION_INVALID
 */
export function isReached (view, text) {
  const { feed, layout, partitions } = view.definition
  const here = view.position()
  if (!layoutOf(layout).log) {
    const times = decodeTimes(feed, text, partitions)
    return decodeTimes(feed, here, partitions).every((ms, partition) => ms >= times[partition])
  }
  const { places } = decodePlaces(feed, text, partitions)
  return decodePlaces(feed, here, partitions).places.every(({ ms, n }, partition) => comparePlaces(`${ms}-${n}`, `${places[partition].ms}-${places[partition].n}`) >= 0)
}

/**
 * @typedef {{ ask: Pick<import('../view/ask.js').Ask, 'ofLog'>, view: View, position: string, ids: ReadonlySet<string> | null, now: () => number,
 *   signal: AbortSignal }} Question `ids`: those that are wanted, byte for character; null = all
 */

/**
 * @param {Question} question
 * @returns {Promise<Set<string>>} byte for character
 * @throws {FreshetError} POSITION_INVALID, POSITION_EXPIRED also where too much was missed
 */
export const missedSince = (question) => layoutOf(question.view.definition.layout).log ? behindPlaces(question) : sinceTimes(question)

/** @param {Question} question */
async function behindPlaces ({ ask, view, position: text, ids, now, signal }) {
  const { feed, partitions } = view.definition
  const position = decodePlaces(feed, text, partitions)
  const until = decodePlaces(feed, view.position(), partitions).places.map(({ ms, n }) => `${ms}-${n}`)
  const begunMs = performance.now()
  const size = createEntriesAtOnce()
  /** @type {Set<string>} */
  const missed = new Set()
  let bytes = 0
  /** @type {{ parts: import('../view/log-behind.js').Part[] }} */
  const { parts } = await ask.ofLog(feed, async (connection, { log, keys }) => {
    checkSame(feed, keys, partitions)
    return { parts: await Promise.all(keys.map((key, partition) => beginPart(connection, log, key, { position, partition, share: 0, readMs: position.readMs }))) }
  })
  const isThere = (/** @type {number} */ partition) => comparePlaces(parts[partition].place, until[partition]) >= 0
  while (!signal.aborted) {
    /** @type {import('../view/log-behind.js').Read} */
    const { found, isSure, count, log } = await ask.ofLog(feed, (connection, { definition, log, keys }) => {
      checkSame(feed, keys, partitions)
      return readBehind(connection, { feed, parts, log, count: size.of(MAX_ENTRIES, partitions), definition, nowMs: now() })
    })
    for (const [partition, entries] of found.entries()) {
      size.learn(entries, (entry) => entry.bytes.length)
      for (const entry of entries) {
        bytes += entry.bytes.length
        collect(log, entry.bytes, ids, missed)
        Object.assign(parts[partition], { place: entry.place, versions: 0 })
      }
    }
    if (missed.size > MAX_IDS || bytes > MAX_BYTES || performance.now() - begunMs > MAX_MS) throw tooMuch(feed)
    if (parts.every((_, partition) => isThere(partition))) {
      if (isSure.every(Boolean)) return missed
      throw tooMuch(feed)
    }
    // the node may not have got so far yet
    if (found.every((entries) => entries.length < count)) await sleep(LOOK_MS, undefined, { signal }).catch(() => {})
  }
  return missed
}

/** @param {import('../layouts/log.js').Log} log @param {Buffer} entry @param {ReadonlySet<string> | null} ids @param {Set<string>} missed */
function collect (log, entry, ids, missed) {
  try {
    log.each(entry, (bytes, idAt, idEnd) => {
      const id = bytes.toString('latin1', idAt, idEnd)
      if (ids === null || ids.has(id)) missed.add(id)
    })
  } catch (error) {
    if (!isUnreadable(error)) throw error
  }
}

/** @param {Question} question */
async function sinceTimes ({ view, position, ids }) {
  const { feed, partitions } = view.definition
  const sinceMs = Math.max(0, Math.min(...decodeTimes(feed, position, partitions)) - OVERLAP_MS)
  /** @type {Set<string>} */
  const missed = new Set()
  const page = view.visit({ limit: MAX_IDS + 1, sinceMs }, (bytes, idAt, idEnd) => {
    const id = bytes.toString('latin1', idAt, idEnd)
    if (ids === null || ids.has(id)) missed.add(id)
  })
  if (page === null || page.next !== null) throw tooMuch(feed)
  return missed
}

/** @param {string} feed */
const tooMuch = (feed) => new FreshetError('POSITION_EXPIRED', `the position in feed ${feed} is too old: too much came since; begin again without it`)
