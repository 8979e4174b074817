/**
 * What is behind a place in a log, and whether that follows it without a gap.
 *
 * That nothing behind a place was trimmed is known as long as what follows it is surely live: it came within the window, and
 * fewer versions than `maxItems` are there, or came at all; and since it came retention was not narrower. Otherwise by the entry itself: a log is trimmed from its old end.
 * When neither can be said of what is found behind a place, there may be a gap: POSITION_EXPIRED.
 *
 * @typedef {{ name: string, appendedName: string, place: string, versions: number, sinceMs: number, origins: ReturnType<typeof createOrigins> }} Part
 *   one partition. `appendedName`: of the key that counts the versions that came; `versions`: of the entry at the place that were delivered, 0 = all; `sinceMs`: what is behind it arrived after
 *   that, 0 = not known
 * @typedef {{ found: LogEntry[][], isSure: boolean[], count: number, log: Log }} Read by partition; `isSure`: nothing between a place
 *   and what was found behind it was missed; `count`: asked for at most, of each
 * @typedef {import('../feeds/definitions.js').Definition} Definition
 * @typedef {import('../store/connection.js').Connection} Connection
 * @typedef {import('../layouts/log.js').LogEntry} LogEntry
 * @typedef {import('../layouts/log.js').Log} Log
 */
import { FreshetError } from '../errors.js'
import { BEFORE_ALL, entriesAfter, entriesBefore, isThere, newestPlace, placeBehind } from '../layouts/log.js'
import { createPieceSize } from '../layouts/pieces.js'
import { createOrigins } from './origins.js'

export const MAX_ENTRIES = 1000
/** of an entry, while none was seen: few have more */
const LARGE_BYTES = 1024 * 1024
const LAST_N = '18446744073709551615'
/** so far clocks may differ */
const SLACK_MS = 2000

/** How many entries to ask for at once. */
export function createEntriesAtOnce () {
  const size = createPieceSize()
  size.learn([LARGE_BYTES], (bytes) => bytes)
  return size
}

/** @param {string} feed @param {unknown[]} keys of its logs @param {number} partitions */
export function checkSame (feed, keys, partitions) {
  if (keys.length !== partitions) throw expired(feed, 'it was dropped and created anew since')
}

/**
 * @param {Connection} connection @param {Log} log @param {(part: string) => string} key
 * @param {{ position: import('../item/position.js').LogPosition | null, partition: number, share: number, readMs: number }} from
 * @returns {Promise<Part>}
 */
export async function beginPart (connection, log, key, { position, partition, share, readMs }) {
  const origins = createOrigins()
  const name = key(log.part)
  const part = { name, appendedName: key('appended'), origins }
  if (position === null) {
    const place = await newestPlace(connection, name)
    await rememberBefore(connection, log, name, placeBehind(place), { origins, share })
    return { ...part, place, versions: 0, sinceMs: readMs }
  }
  const { ms, n, versions, isEnd } = position.places[partition]
  const place = `${ms}-${n}`
  await rememberBefore(connection, log, name, versions > 0 ? place : placeBehind(place), { origins, share })
  return { ...part, place, versions, sinceMs: isEnd ? readMs : 0 }
}

/**
 * Learns which deliveries came lately.
 * @param {Connection} connection @param {Log} log @param {string} name @param {string} before a place
 * @param {{ origins: ReturnType<typeof createOrigins>, share: number }} into `share`: bytes looked through
 */
async function rememberBefore (connection, log, name, before, { origins, share }) {
  const size = createEntriesAtOnce()
  for (let bytes = 0, isMore = true; isMore && bytes < share;) {
    const count = size.of(MAX_ENTRIES)
    const entries = await entriesBefore(connection, name, { before, count })
    bytes += size.learn(entries, (entry) => entry.bytes.length)
    for (const entry of entries) {
      const head = headOf(log, entry)
      if (head !== null) origins.add(head.origin)
    }
    isMore = entries.length === count
    before = entries.at(-1)?.place ?? before
  }
}

/**
 * The next entries of each partition, and whether they follow their place without a gap.
 * @param {Connection} connection
 * @param {{ feed: string, parts: Part[], log: Log, count: number, definition: Definition, nowMs: number }} question
 * @returns {Promise<Read>}
 */
export async function readBehind (connection, { feed, parts, log, count, definition, nowMs }) {
  const from = parts.map(({ name, place, versions }) => ({ name, after: versions > 0 ? placeBefore(place) : place }))
  const found = await entriesAfter(connection, from, { count })
  const isSure = await Promise.all(parts.map(async (part, i) => {
    const { place, versions } = part
    if (versions > 0) {
      if (found[i].length > 0 && found[i][0].place !== place) throw expired(feed, `the entry ${place} is trimmed`)
      return found[i].length > 0
    }
    const seen = found[i].reduce((sum, entry) => sum + (headOf(log, entry)?.count ?? 1), found[i].length === count ? Infinity : 0)
    // asked after what was read: what is there now was there then
    if (await isWhole(connection, part, { definition, seen, nowMs })) return true
    if (found[i].length > 0) throw expired(feed, `what followed ${place === BEFORE_ALL ? 'an empty log' : `the entry ${place}`} may be trimmed`)
    return false
  }))
  return { found, isSure, count, log }
}

/**
 * Whether nothing behind a place was trimmed.
 * @param {Connection} connection
 * @param {Part} part
 * @param {{ definition: Definition, seen: number, nowMs: number }} now `seen`: versions behind the place, Infinity = not all were read
 */
async function isWhole (connection, { name, appendedName, place, sinceMs }, { definition: { windowMs, maxItems, widenedAt }, seen, nowMs }) {
  const oldestMs = Math.max(sinceMs, Number(place.slice(0, place.indexOf('-'))))
  const isYoung = windowMs === 0 || nowMs - oldestMs < windowMs
  const wasKept = widenedAt === undefined || oldestMs >= Date.parse(widenedAt) + SLACK_MS
  if (isYoung && wasKept && (maxItems === 0 || seen < maxItems)) return true
  if (place !== BEFORE_ALL) return isThere(connection, name, place)
  return isYoung && wasKept && Number(await connection.send('GET', appendedName) ?? Infinity) <= maxItems
}

/** @param {Log} log @param {LogEntry} entry @returns {import('../item/segment.js').EntryHead | null} null = it cannot be read */
export function headOf (log, { bytes }) {
  try {
    return log.head(bytes)
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return null
  }
}

/** @param {any} error */
export const isUnreadable = ({ code }) => code === 'SEGMENT_INVALID' || code === 'SEGMENT_VERSION'

/** The last place in front of an entry. @param {string} place */
function placeBefore (place) {
  const [ms, n] = place.split('-').map(Number)
  return n > 0 ? `${ms}-${n - 1}` : `${ms - 1}-${LAST_N}`
}

/** @param {string} feed @param {string} why */
const expired = (feed, why) => new FreshetError('POSITION_EXPIRED', `the position in feed ${feed} is too old: ${why}; begin again without it`)
