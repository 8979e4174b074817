/**
 * Reads entries of a log (a Redis stream). In all log layouts an entry has one field, whose value `log.head` and `log.each`
 * decode.
 *
 * @typedef {{ entryId: string, bytes: Buffer, ms: number }} LogEntry `entryId`: '<ms>-<n>'; `ms`: its arrival on
 *   the server's clock, monotonic
 * @typedef {import('../store/index.js').Router} Connection
 * @typedef {import('../item/index.js').EntryHead} EntryHead
 * @typedef {{ part: string, field: string, isIndex?: boolean, head: (bytes: Buffer) => EntryHead,
 *   each: (bytes: Buffer, visit: import('../item/index.js').Visit) => void }} Log how a layout stores a log: `part` of
 *   the key; `isIndex`: entries have no values, which are read from where the layout stores them; `head` and `each` throw SEGMENT_INVALID
 *   or SEGMENT_VERSION, `each` before its first visit
 */

/** before all entries */
export const BEFORE_FIRST = '0-0'

/**
 * Entries after the given ids, in order of arrival.
 * @param {Connection} connection with `blockMs` a dedicated one, because XREAD blocks it
 * @param {{ name: string, after: string }[]} from keys, each with an entry id
 * @param {{ count: number, blockMs?: number }} options `count`: maximum per key; `blockMs`: longest wait for each key; the
 *   server answers one after the other
 * @returns {Promise<LogEntry[][]>} by key, as in `from`
 */
export const entriesAfter = (connection, from, options) => Promise.all(from.map((one) => entriesBehind(connection, one, options)))

/**
 * The same of one key, as a cluster refuses keys of different slots.
 * @param {Connection} connection @param {{ name: string, after: string }} from @param {{ count: number, blockMs?: number }} options
 * @returns {Promise<LogEntry[]>}
 */
export async function entriesBehind (connection, { name, after }, { count, blockMs }) {
  const waiting = blockMs === undefined ? [] : ['BLOCK', blockMs]
  const reply = await connection.send('XREAD', 'COUNT', count, ...waiting, 'STREAMS', name, after)
  return reply === null ? [] : reply[0][1].map(entryOf)
}

/**
 * Entries before an id, newest first.
 * @param {Connection} connection @param {string} name
 * @param {{ before: string | null, count: number }} options `before`: exclusive; null = from the newest on
 * @returns {Promise<LogEntry[]>}
 */
export async function entriesBefore (connection, name, { before, count }) {
  const reply = await connection.send('XREVRANGE', name, before === null ? '+' : `(${before}`, '-', 'COUNT', count)
  return reply.map(entryOf)
}

/** @param {Connection} connection @param {string} name @returns {Promise<string>} '0-0' if the log is empty */
export async function newestEntryId (connection, name) {
  const [newest] = await entriesBefore(connection, name, { before: null, count: 1 })
  return newest?.entryId ?? BEFORE_FIRST
}

/** @param {string} a @param {string} b entry ids @returns {number} negative when a arrived before b */
export function compareEntryIds (a, b) {
  const [msA, nA] = a.split('-')
  const [msB, nB] = b.split('-')
  return Number(msA) - Number(msB) || Number(nA) - Number(nB)
}

/** The smallest id after an entry. @param {string} entryId */
export function nextEntryId (entryId) {
  const [ms, n] = entryId.split('-')
  return `${ms}-${Number(n) + 1}`
}

/** Whether an entry is still stored. @param {Connection} connection @param {string} name @param {string} entryId */
export async function hasEntry (connection, name, entryId) {
  const [entry] = await entriesBefore(connection, name, { before: nextEntryId(entryId), count: 1 })
  return entry?.entryId === entryId
}

/** @param {[Buffer, Buffer[]]} entry its id; field, value, ... @returns {LogEntry} */
export function entryOf ([id, fields]) {
  const entryId = id.toString('latin1')
  return { entryId, bytes: fields[1], ms: Number(entryId.slice(0, entryId.indexOf('-'))) }
}
