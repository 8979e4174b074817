/**
 * Reading the entries of a log (a Redis stream), as every layout with a `log` stores one: an entry has one field, whose
 * value is what `log.head` and `log.each` take. For whoever answers from a log and for whoever follows one.
 *
 * @typedef {{ place: string, bytes: Buffer, ms: number }} LogEntry `place`: the id of the entry, '<ms>-<n>'; `ms`: when it
 *   arrived, by the server's clock, though it never goes back
 * @typedef {import('../store/connection.js').Connection} Connection
 * @typedef {import('../item/segment.js').EntryHead} EntryHead
 * @typedef {{ part: string, field: string, head: (bytes: Buffer) => EntryHead,
 *   each: (bytes: Buffer, visit: import('../item/segment.js').Visit) => void }} Log what a layout says of its log: `part` of
 *   the key; `head` and `each` throw SEGMENT_INVALID or SEGMENT_VERSION, `each` before its first visit
 */

/** in front of all entries */
export const BEFORE_ALL = '0-0'

/**
 * Entries behind the places, in order of arrival.
 * @param {Connection} connection one of its own where it waits: nothing else is answered meanwhile
 * @param {{ name: string, after: string }[]} from keys, and the place in each
 * @param {{ count: number, blockMs?: number }} options at most `count` of each; `blockMs`: how long it waits while there is none
 * @returns {Promise<LogEntry[][]>} by key, as in `from`
 */
export async function entriesAfter (connection, from, { count, blockMs }) {
  const waiting = blockMs === undefined ? [] : ['BLOCK', blockMs]
  const reply = await connection.send('XREAD', 'COUNT', count, ...waiting, 'STREAMS', ...from.map(({ name }) => name), ...from.map(({ after }) => after))
  /** @type {LogEntry[][]} */
  const found = from.map(() => [])
  if (reply === null) return found
  let at = 0
  for (const [name, entries] of reply) {
    // keys without entries are left out, the others come in their order
    while (String(name) !== from[at].name) at++
    found[at++] = entries.map(entryOf)
  }
  return found
}

/**
 * Entries before a place, the newest first.
 * @param {Connection} connection @param {string} name
 * @param {{ before: string | null, count: number }} options `before`: itself not among them; null = from the newest on
 * @returns {Promise<LogEntry[]>}
 */
export async function entriesBefore (connection, name, { before, count }) {
  const reply = await connection.send('XREVRANGE', name, before === null ? '+' : `(${before}`, '-', 'COUNT', count)
  return reply.map(entryOf)
}

/** @param {Connection} connection @param {string} name @returns {Promise<string>} '0-0' when there is none */
export async function newestPlace (connection, name) {
  const [newest] = await entriesBefore(connection, name, { before: null, count: 1 })
  return newest?.place ?? BEFORE_ALL
}

/** @param {string} a @param {string} b places @returns {number} negative when a arrived before b */
export function comparePlaces (a, b) {
  const [msA, nA] = a.split('-')
  const [msB, nB] = b.split('-')
  return Number(msA) - Number(msB) || Number(nA) - Number(nB)
}

/** The place next behind an entry's. @param {string} place */
export function placeBehind (place) {
  const [ms, n] = place.split('-')
  return `${ms}-${Number(n) + 1}`
}

/** Whether an entry is there, not trimmed. @param {Connection} connection @param {string} name @param {string} place */
export async function isThere (connection, name, place) {
  const [entry] = await entriesBefore(connection, name, { before: placeBehind(place), count: 1 })
  return entry?.place === place
}

/** @param {[Buffer, Buffer[]]} entry its id; field, value, ... @returns {LogEntry} */
export function entryOf ([id, fields]) {
  const place = id.toString('latin1')
  return { place, bytes: fields[1], ms: Number(place.slice(0, place.indexOf('-'))) }
}
