/**
 * What clients missed: the ids that changed behind their positions, looked up for many clients at once.
 *
 *     logs    the entries behind the oldest of the positions are read from a node, once, up to where the view is. Ids are kept
 *             in the order in which they changed last; a client missed those from its own place on
 *     sets    what has an event time of 2 s before a position, or newer, out of the view: there is no order of arrival
 *
 * The newest version of each comes out of the view afterwards, so nothing newest is left out, and nothing goes back.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { checkCreation, decodePlaces, decodeTimes, isPositionOf } from '../item/position.js'
import { layoutOf } from '../layouts/index.js'
import { comparePlaces } from '../layouts/log.js'
import { MAX_ENTRIES, beginPart, checkSame, createEntriesAtOnce, isUnreadable, readBehind } from '../view/log-behind.js'

/** when more was missed, by all that are looked up together, the oldest of them begin anew */
const MAX_IDS = 100_000
const MAX_BYTES = 256 * 1024 * 1024
const LOOK_MS = 20
const OVERLAP_MS = 2000
/** the loop is given back after so long */
const SLICE_MS = 3
/** of a view that are looked at in one go */
const PAGE_IDS = 5000

/** @typedef {import('../view/view.js').View} View */
/** @typedef {import('../item/position.js').LogPlace} LogPlace */
/**
 * @typedef {{ ask: Pick<import('../view/ask.js').Ask, 'ofLog'>, view: View, clients: { position: string, ids: ReadonlySet<string> | null }[],
 *   now: () => number, signal: AbortSignal }} Question `ids`: those that a client wants, byte for character, null = all
 * @typedef {(index: number) => { ids: readonly string[], at: number }} Missed ids that a client missed: those from `at` on
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
 * Which of two positions of a feed is the older one, for sorting.
 * @param {View} view @param {string} a @param {string} b
 */
export function compareAge ({ definition: { feed, layout, partitions } }, a, b) {
  const oldestMs = (/** @type {string} */ text) => Math.min(...layoutOf(layout).log
    ? decodePlaces(feed, text, partitions).places.map(({ ms }) => ms)
    : decodeTimes(feed, text, partitions))
  return oldestMs(a) - oldestMs(b)
}

/**
 * Whether a view has all that was sent up to a position, perhaps by another reader: before, it could send what is older.
 * @param {View} view as it is now
 * @returns {(text: string) => boolean | null} null: the position is none of this feed as it is stored now, which may have been dropped and created anew
 */
export function reachedFrom (view) {
  const { feed, layout, partitions } = view.definition
  const here = view.position()
  const isLog = layoutOf(layout).log !== undefined
  const times = isLog ? [] : decodeTimes(feed, here, partitions)
  const places = isLog ? decodePlaces(feed, here, partitions).places : []
  return (text) => {
    try {
      checkCreation(view.definition, text)
      if (!isLog) return decodeTimes(feed, text, partitions).every((ms, partition) => ms <= times[partition])
      return decodePlaces(feed, text, partitions).places.every((place, partition) => compare(place, places[partition]) <= 0)
    } catch (error) {
      if (error.code !== 'POSITION_INVALID' && error.code !== 'POSITION_EXPIRED') throw error
      return null
    }
  }
}

/** @param {{ ms: number, n: number }} a @param {{ ms: number, n: number }} b */
const compare = (a, b) => a.ms - b.ms || a.n - b.n

/** Which has less delivered: of an entry, some of its versions are less than all, 0. @param {LogPlace} a @param {LogPlace} b */
const compareDelivered = (a, b) => compare(a, b) || (a.versions || Infinity) - (b.versions || Infinity) || 0

/**
 * @param {Question} question with positions that the view has reached
 * @returns {Promise<Missed>}
 * @throws {FreshetError} POSITION_EXPIRED also where too much was missed: by the oldest of them, perhaps not by all
 */
export const missedSince = (question) => layoutOf(question.view.definition.layout).log ? behindPlaces(question) : sinceTimes(question)

/** @param {Question} question @returns {Promise<Missed>} */
async function behindPlaces ({ ask, view, clients, now, signal }) {
  const { feed, partitions } = view.definition
  const positions = clients.map(({ position }) => decodePlaces(feed, position, partitions))
  const until = decodePlaces(feed, view.position(), partitions).places
  const wanted = wantedOf(clients)
  const size = createEntriesAtOnce()
  /** entries that were read, by partition, each with a number in order of reading @type {{ ms: number, n: number, number: number }[][]} */
  const read = until.map(() => [])
  let number = 0
  /** in which entry each id changed last, in order @type {Map<string, number>} */
  const last = new Map()
  let bytes = 0
  let begunMs = performance.now()
  /** @type {{ parts: import('../view/log-behind.js').Part[] }} */
  const { parts } = await ask.ofLog(feed, async (connection, { log, keys }) => {
    checkSame(feed, keys, partitions)
    return {
      parts: await Promise.all(keys.map((key, partition) => {
        const oldest = positions.reduce((a, b) => compareDelivered(b.places[partition], a.places[partition]) < 0 ? b : a)
        return beginPart(connection, log, key, { position: oldest, partition, share: 0, readMs: oldest.readMs })
      }))
    }
  })
  const isThere = (/** @type {{ place: string }} */ { place }, /** @type {number} */ partition) => comparePlaces(place, `${until[partition].ms}-${until[partition].n}`) >= 0
  for (let isRead = false; !isRead;) {
    signal.throwIfAborted()
    /** @type {import('../view/log-behind.js').Read} */
    const { found, isSure, count, log } = await ask.ofLog(feed, (connection, { definition, log, keys }) => {
      checkSame(feed, keys, partitions)
      return readBehind(connection, { feed, parts, log, count: size.of(MAX_ENTRIES, partitions), definition, nowMs: now() })
    })
    for (const [partition, entries] of found.entries()) {
      size.learn(entries, (entry) => entry.bytes.length)
      for (const entry of entries) {
        bytes += entry.bytes.length
        read[partition].push({ ms: entry.ms, n: Number(entry.place.slice(entry.place.indexOf('-') + 1)), number: ++number })
        for (const id of idsOf(log, entry.bytes)) {
          if (wanted !== null && !wanted.has(id)) continue
          last.delete(id)
          last.set(id, number)
        }
        Object.assign(parts[partition], { place: entry.place, versions: 0 })
        if (performance.now() - begunMs < SLICE_MS) continue
        await setImmediate()
        begunMs = performance.now()
      }
    }
    if (last.size > MAX_IDS || bytes > MAX_BYTES) throw expired(feed, 'too much came since')
    isRead = parts.every(isThere)
    if (isRead && !isSure.every(Boolean)) throw expired(feed, 'it cannot be known what came since')
    // the node may not have got so far yet
    if (!isRead && found.every((entries) => entries.length < count)) await sleep(LOOK_MS, undefined, { signal })
  }
  const ids = [...last.keys()]
  const numbers = [...last.values()]
  return (index) => {
    const { places } = positions[index]
    const first = Math.min(...places.map((place, partition) => firstBehind(read[partition], place)))
    const { ids: own } = clients[index]
    if (own === null) return { ids, at: firstOf(numbers.length, (i) => numbers[i] >= first) }
    return { ids: [...own].filter((id) => (last.get(id) ?? 0) >= first), at: 0 }
  }
}

/** Ids that any of them wants; null: all. @param {Question['clients']} clients */
function wantedOf (clients) {
  if (clients.some(({ ids }) => ids === null)) return null
  /** @type {Set<string>} */
  const wanted = new Set()
  for (const { ids } of clients) for (const id of ids ?? []) wanted.add(id)
  return wanted
}

/** The number of the first entry that a client has not all of. @param {{ ms: number, n: number, number: number }[]} entries @param {LogPlace} place */
function firstBehind (entries, place) {
  const at = firstOf(entries.length, (i) => compare(entries[i], place) > (place.versions > 0 ? -1 : 0))
  return entries[at]?.number ?? Infinity
}

/** The first index of which something is true, if it is true of all behind it. @param {number} length @param {(index: number) => boolean} isTrue */
function firstOf (length, isTrue) {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isTrue(middle)) high = middle
    else low = middle + 1
  }
  return low
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
async function sinceTimes ({ view, clients, signal }) {
  const { feed, partitions } = view.definition
  const since = clients.map(({ position }) => Math.max(0, Math.min(...decodeTimes(feed, position, partitions)) - OVERLAP_MS))
  const ofAll = clients.flatMap(({ ids }, index) => ids === null ? [since[index]] : [])
  /** newest first @type {string[]} */
  const ids = []
  /** @type {number[]} */
  const times = []
  /** @type {import('../item/order.js').Place | null} */
  let after = null
  while (ofAll.length > 0) {
    signal.throwIfAborted()
    const page = view.visit({ limit: PAGE_IDS, sinceMs: Math.min(...ofAll), after }, (bytes, idAt, idEnd, ts) => {
      ids.push(bytes.toString('latin1', idAt, idEnd))
      times.push(ts)
    })
    if (page === null || ids.length > MAX_IDS) throw expired(feed, 'too much came since')
    if (page.next === null) break
    after = page.next
    await setImmediate()
  }
  ids.reverse()
  times.reverse()
  return (index) => {
    const { ids: own } = clients[index]
    if (own === null) return { ids, at: firstOf(times.length, (i) => times[i] >= since[index]) }
    const isMissed = (/** @type {string} */ id) => (view.newest(Buffer.from(id, 'latin1'))?.ts ?? -1) >= since[index]
    return { ids: [...own].filter(isMissed), at: 0 }
  }
}

/** @param {string} feed @param {string} why */
const expired = (feed, why) => new FreshetError('POSITION_EXPIRED', `the position in feed ${feed} is too old: ${why}; begin again without it`)
