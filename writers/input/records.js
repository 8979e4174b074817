/**
 * Records from a byte stream, in one of three formats.
 *
 *   stream -> chunk -> reader.take(chunk) -> entries of that chunk -> the consumer
 *
 * A reader is synchronous and pushes what it finds, so that the only awaits are one for each chunk. The stream is
 * read when the consumer asks for more and at no other time. What a reader keeps between two chunks is at most one
 * unfinished record of `maxRecordBytes`, whatever arrives: the rest of a longer record is passed over.
 *
 * Two kinds of fault. A record that cannot be used is an entry with a `fault`; reading goes on. Input that cannot
 * be read at all in its format ends the iteration with INPUT_INVALID, after everything before it was delivered.
 *
 * Rejected: readline and object streams (an event or a promise for each record), and one array for the whole input.
 */
import { addAbortSignal } from 'node:stream'
import { FreshetError } from '../../src/errors.js'
import { createCsvReader } from './csv.js'
import { createJsonReader } from './json.js'
import { createNdjsonReader } from './ndjson.js'

export const MAX_RECORD_BYTES = 2 * 1024 * 1024

const BYTE_ORDER_MARK = Buffer.from('\ufeff')

/**
 * @typedef {object} Entry one record, or what stands where one should be
 * @property {number} place line on which it begins, from 1; for json the item's position in the array, from 1
 * @property {any} record the record as an object, null with a fault
 * @property {Buffer | null} text the whole record as bytes: ndjson as it came, csv and json as JSON text. May share
 *   memory with the chunk it came in. Null with a fault
 * @property {string | null} fault why it cannot be used
 */

/**
 * @typedef {object} Reader
 * @property {(chunk: Buffer, into: Entry[]) => void} take pushes the records that end in this chunk
 * @property {(into: Entry[]) => void} end pushes a last record that had no end of its own
 */

/** @type {Record<string, (options: { itemsField: string | null, maxRecordBytes: number }) => Reader>} */
const READERS = { ndjson: createNdjsonReader, csv: createCsvReader, json: createJsonReader }

/**
 * Reads records from UTF-8 bytes. Leaving the loop destroys the stream, and so does `signal`, which ends the
 * iteration without an error also while the stream is silent; a record that had only begun is then left out.
 * @param {import('node:stream').Readable} stream of Buffers
 * @param {object} options
 * @param {string} options.format ndjson | csv | json
 * @param {string | null} [options.itemsField] json: dotted path of the array in the one object; null = it is the top
 * @param {number} [options.maxRecordBytes] a longer record is a fault
 * @param {AbortSignal} [options.signal] stops reading
 * @returns {AsyncGenerator<Entry[], void, void>} never an empty array
 * @throws {FreshetError} INPUT_INVALID the stream broke, the header or the document cannot be read
 */
export async function * readRecords (stream, { format, itemsField = null, maxRecordBytes = MAX_RECORD_BYTES, signal }) {
  if (!Object.hasOwn(READERS, format)) throw new TypeError(`format ${format}; expected ${Object.keys(READERS).join(' | ')}`)
  const reader = READERS[format]({ itemsField, maxRecordBytes })
  if (signal) addAbortSignal(signal, stream)
  /** @type {Entry[]} */
  let entries = []
  try {
    for await (const chunk of withoutByteOrderMark(stream)) {
      reader.take(chunk, entries)
      if (entries.length === 0) continue
      const complete = entries
      entries = []
      yield complete
    }
    reader.end(entries)
  } catch (error) {
    if (signal?.aborted) return
    if (entries.length > 0) yield entries
    throw error
  }
  if (entries.length > 0) yield entries
}

/** @param {import('node:stream').Readable} stream */
async function * withoutByteOrderMark (stream) {
  let start = Buffer.alloc(0)
  let started = false
  try {
    for await (const chunk of stream) {
      if (started) {
        yield chunk
        continue
      }
      start = Buffer.concat([start, chunk])
      if (start.length < BYTE_ORDER_MARK.length) continue
      started = true
      yield start.indexOf(BYTE_ORDER_MARK) === 0 ? start.subarray(BYTE_ORDER_MARK.length) : start
    }
  } catch (cause) {
    throw new FreshetError('INPUT_INVALID', `the input broke off: ${cause.message}; expected bytes until its end`, { cause })
  }
  if (!started && start.length > 0) yield start
}
