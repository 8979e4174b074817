/**
 * The contents of a log on one node: entries with the bytes of one or many versions each, oldest first. A run leaves gigabytes,
 * so entries are passed on batch by batch and not kept.
 *
 *     storage    where                   an entry is
 *     segments   stream `segments`       a segment (layouts/segments.js)
 *     stream     stream `stream`         a version (layouts/stream.js)
 *
 * Streams are read with a plain XRANGE instead of src/layouts, because this checks the layouts too.
 */
import { createHash } from 'node:crypto'
import { eachVersion, entryHead, segmentHead, visitEntry } from '../../src/item/index.js'

/** until the size of entries is known */
const FIRST_ENTRIES = 8
const MOST_ENTRIES = 10_000
const MAX_READ_BYTES = 4 * 1024 * 1024

/**
 * @typedef {'segments' | 'stream'} LogStorage
 * @typedef {import('../../src/store/index.js').Connection} Connection
 * @typedef {(count: number) => Promise<Entry[]>} Pieces
 * @typedef {{ place: string, bytes: Buffer | null }} Entry `bytes` null: not an entry of the layout
 * @typedef {object} Log
 * @property {(connection: Connection, key: import('./inventory.js').Key) => Pieces} pieces reads the next entries, a number at a time
 * @property {(bytes: Buffer) => { origin: string }} head throws SEGMENT_INVALID, SEGMENT_VERSION
 * @property {(bytes: Buffer, visit: import('../../src/item/index.js').Visit) => void} each throws the same
 */

/** @type {Readonly<Record<LogStorage, Log>>} */
const LOGS = Object.freeze({
  segments: { pieces: (connection, key) => piecesOfStream(connection, key('segments'), 's'), head: segmentHead, each: eachVersion },
  stream: { pieces: (connection, key) => piecesOfStream(connection, key('stream'), 'v'), head: entryHead, each: visitEntry }
})

/** @param {string} storage @returns {storage is LogStorage} */
export const isLog = (storage) => Object.hasOwn(LOGS, storage)

/** @param {LogStorage} storage @returns {Pick<Log, 'head' | 'each'>} its decoders */
export const decoderOf = (storage) => LOGS[storage]

/**
 * @param {Connection} connection
 * @param {{ storage: LogStorage, key: import('./inventory.js').Key }} partition
 * @param {(entry: Entry) => void} visit oldest first
 * @throws {import('../../src/errors.js').FreshetError} KEY_HOLDS_OTHER, SERVER_LOST, SERVER_REFUSED
 */
async function forEachEntry (connection, { storage, key }, visit) {
  const read = LOGS[storage].pieces(connection, key)
  for (let requested = FIRST_ENTRIES; ;) {
    const entries = await read(requested)
    let bytes = 0
    for (const entry of entries) {
      bytes += entry.bytes?.length ?? 0
      visit(entry)
    }
    if (entries.length < requested) return
    requested = Math.max(1, Math.min(MOST_ENTRIES, 4 * requested, Math.floor(MAX_READ_BYTES * requested / Math.max(1, bytes))))
  }
}

/** @param {Connection} connection @param {string} name @param {string} field @returns {Pieces} */
function piecesOfStream (connection, name, field) {
  let from = '-'
  return async (count) => {
    /** @type {[Buffer, Buffer[]][]} */
    const entries = await connection.send('XRANGE', name, from, '+', 'COUNT', count)
    if (entries.length > 0) from = `(${entries[entries.length - 1][0]}`
    return entries.map(([place, fields]) =>
      ({ place: place.toString('latin1'), bytes: fields.length === 2 && fields[0].toString('latin1') === field ? fields[1] : null }))
  }
}

/**
 * @param {Connection} connection
 * @param {{ storage: LogStorage, key: import('./inventory.js').Key | import('./inventory.js').Key[] }} feed
 * @param {(entry: Entry, partition: number) => void} [visit]
 * @returns {Promise<string>} digest of all entries with their entry ids: equal nodes have equal digests
 */
export async function readLog (connection, { storage, key }, visit = () => {}) {
  const hash = createHash('sha1')
  for (const [partition, one] of [key].flat().entries()) {
    hash.update(`partition ${partition}\n`)
    await forEachEntry(connection, { storage, key: one }, (entry) => {
      hash.update(entry.place)
      if (entry.bytes) hash.update(entry.bytes)
      visit(entry, partition)
    })
  }
  return hash.digest('hex')
}
