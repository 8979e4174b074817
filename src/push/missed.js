/**
 * What clients missed: the ids that changed behind their positions, looked up for many clients at once.
 *
 *     logs    the entries behind the oldest of the positions are read from a node, once, up to where the view is; of each id
 *             the last place is kept, so each client's ids are those whose last place is behind its own
 *     sets    what has an event time of 2 s before a position, or newer, out of the view: there is no order of arrival
 *
 * The newest version of each comes out of the view afterwards, so nothing newest is left out, and nothing goes back.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { decodePlaces, decodeTimes, isPositionOf } from '../item/position.js'
import { layoutOf } from '../layouts/index.js'
import { comparePlaces } from '../layouts/log.js'
import { MAX_ENTRIES, beginPart, checkSame, createEntriesAtOnce, isUnreadable, readBehind } from '../view/log-behind.js'

/** who missed more begins anew */
const MAX_IDS = 100_000
const MAX_BYTES = 256 * 1024 * 1024
const MAX_MS = 10_000
const LOOK_MS = 20
const OVERLAP_MS = 2000

/** @typedef {import('../view/view.js').View} View */
/** @typedef {import('../item/position.js').LogPosition} LogPosition */
/**
 * @typedef {{ ask: Pick<import('../view/ask.js').Ask, 'ofLog'>, view: View, positions: string[], isAllWanted: boolean, isWanted: (id: string) => boolean,
 *   now: () => number, signal: AbortSignal }} Question `isAllWanted`: one of the clients wants all ids; `isWanted`: any of them wants that id, byte for
 *   character
 * @typedef {(index: number, ids: ReadonlySet<string> | null) => string[]} Missed ids that the client with that position missed, of `ids`, null = of all
 */

/**
 * Whether a position is one that a feed of that name handed out. When it has another layout by now, its clients begin anew.
 * @param {string} feed @param {string} text
 * @throws {FreshetError} POSITION_INVALID
 */
export function checkPosition (feed, text) {
  if (!isPositionOf(feed, text)) throw new FreshetError('POSITION_INVALID', `Last-Event-ID is not a position of feed ${feed}; expected the "id:" of an event of it, unchanged, or none`)
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
  const places = placesOf(decodePlaces(feed, text, partitions))
  return placesOf(decodePlaces(feed, here, partitions)).every((place, partition) => comparePlaces(place, places[partition]) >= 0)
}

/**
 * Which of two positions of a feed is the older one, for sorting.
 * @param {View} view @param {string} a @param {string} b
 */
export function compareAge ({ definition: { feed, layout, partitions } }, a, b) {
  const oldestMs = (/** @type {string} */ text) => Math.min(...layoutOf(layout).log
    ? decodePlaces(feed, text, partitions).places.map(({ ms }) => ms)
    : decodeTimes(feed, text, partitions))
  return oldestMs(a) - oldestMs(b)
}

/** @param {LogPosition} position */
const placesOf = ({ places }) => places.map(({ ms, n }) => `${ms}-${n}`)

/**
 * @param {Question} question with positions that the view has reached
 * @returns {Promise<Missed>}
 * @throws {FreshetError} POSITION_INVALID, POSITION_EXPIRED also where too much was missed: by the oldest of them, perhaps not by all
 */
export const missedSince = (question) => layoutOf(question.view.definition.layout).log ? behindPlaces(question) : sinceTimes(question)

/** @param {Question} question @returns {Promise<Missed>} */
async function behindPlaces ({ ask, view, positions: texts, isWanted, now, signal }) {
  const { feed, partitions } = view.definition
  const positions = texts.map((text) => decodePlaces(feed, text, partitions))
  const places = positions.map(placesOf)
  const until = placesOf(decodePlaces(feed, view.position(), partitions))
  const begunMs = performance.now()
  const size = createEntriesAtOnce()
  /** where each id changed last @type {Map<string, { partition: number, place: string }>} */
  const last = new Map()
  let bytes = 0
  /** @type {{ parts: import('../view/log-behind.js').Part[] }} */
  const { parts } = await ask.ofLog(feed, async (connection, { log, keys }) => {
    checkSame(feed, keys, partitions)
    return {
      parts: await Promise.all(keys.map((key, partition) => {
        const oldest = positions.reduce((a, b, i) => comparePlaces(places[i][partition], placesOf(a)[partition]) < 0 ? b : a)
        return beginPart(connection, log, key, { position: oldest, partition, share: 0, readMs: oldest.readMs })
      }))
    }
  })
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
        for (const id of idsOf(log, entry.bytes)) if (isWanted(id)) last.set(id, { partition, place: entry.place })
        Object.assign(parts[partition], { place: entry.place, versions: 0 })
      }
    }
    if (last.size > MAX_IDS || bytes > MAX_BYTES || performance.now() - begunMs > MAX_MS) throw tooMuch(feed)
    if (parts.every(({ place }, partition) => comparePlaces(place, until[partition]) >= 0)) {
      if (!isSure.every(Boolean)) throw tooMuch(feed)
      break
    }
    // the node may not have got so far yet
    if (found.every((entries) => entries.length < count)) await sleep(LOOK_MS, undefined, { signal }).catch(() => {})
  }
  return (index, ids) => {
    const isMissed = (/** @type {string} */ id) => {
      const at = last.get(id)
      return at !== undefined && comparePlaces(at.place, places[index][at.partition]) > 0
    }
    return [...ids ?? last.keys()].filter(isMissed)
  }
}

/** @param {import('../layouts/log.js').Log} log @param {Buffer} entry @returns {Set<string>} none of one that cannot be read */
function idsOf (log, entry) {
  /** @type {Set<string>} */
  const ids = new Set()
  try {
    log.each(entry, (bytes, idAt, idEnd) => { ids.add(bytes.toString('latin1', idAt, idEnd)) })
  } catch (error) {
    if (!isUnreadable(error)) throw error
  }
  return ids
}

/** @param {Question} question @returns {Promise<Missed>} */
async function sinceTimes ({ view, positions, isAllWanted }) {
  const { feed, partitions } = view.definition
  const since = positions.map((text) => Math.max(0, Math.min(...decodeTimes(feed, text, partitions)) - OVERLAP_MS))
  /** @type {Map<string, number>} */
  const times = new Map()
  const page = isAllWanted
    ? view.visit({ limit: MAX_IDS + 1, sinceMs: Math.min(...since) }, (bytes, idAt, idEnd, ts) => { times.set(bytes.toString('latin1', idAt, idEnd), ts) })
    : { next: null }
  if (page === null || page.next !== null) throw tooMuch(feed)
  return (index, ids) => {
    if (ids === null) return [...times].filter(([, ts]) => ts >= since[index]).map(([id]) => id).reverse()
    return [...ids].filter((id) => {
      const newest = view.newest(Buffer.from(id, 'latin1'))
      return newest !== null && newest.ts >= since[index]
    })
  }
}

/** @param {string} feed */
const tooMuch = (feed) => new FreshetError('POSITION_EXPIRED', `the position in feed ${feed} is too old: too much came since; begin again without it`)
