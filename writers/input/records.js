/**
 * Records from a byte stream, in one of three formats.
 *
 *   stream -> chunk -> reader.take(chunk) -> entries of that chunk -> the consumer
 *
 * A reader is synchronous, so there is one await per chunk. The stream is read on demand. Between chunks a reader keeps at most one
 * incomplete record of `maxRecordBytes`; the rest of a longer record is skipped.
 *
 * A record that cannot be used is an entry with a `fault`. Input that cannot be read in its format ends the iteration with
 * INPUT_INVALID, after all entries before it.
 *
 * Rejected: readline and object streams (an event or a promise per record), and one array for the whole input.
 */
import { addAbortSignal } from 'node:stream'
import { FreshetError } from '../../src/errors.js'
import { createCsvReader } from './csv.js'
import { createJsonReader } from './json.js'
import { createNdjsonReader } from './ndjson.js'

const MAX_RECORD_BYTES = 2 * 1024 * 1024

const BYTE_ORDER_MARK = Buffer.from('\ufeff')
const GZIP = Buffer.from([0x1f, 0x8b])

/**
 * @typedef {object} Entry a record or a fault
 * @property {number} place first line, from 1; for json the position in the array, from 1
 * @property {any} record as an object; null with a fault
 * @property {Buffer | null} text the whole record: the bytes of ndjson, JSON text for csv and json. May share memory with the chunk.
 *   Null with a fault
 * @property {Buffer | null} raw the record as it was read, for reports: all bytes, JSON text for json; of a record that is too long
 *   the beginning. May share memory with the chunk
 * @property {string | null} fault why the record cannot be used
 */

/**
 * @typedef {object} Reader
 * @property {(chunk: Buffer, into: Entry[]) => void} take pushes records that end in this chunk
 * @property {(into: Entry[]) => void} end pushes a last record without a line end
 */

/** @type {Record<string, (options: { itemsField: string | null, maxRecordBytes: number }) => Reader>} */
const READERS = { ndjson: createNdjsonReader, csv: createCsvReader, json: createJsonReader }

/**
 * Reads records from UTF-8 bytes. Leaving the loop destroys the stream. `signal` ends the iteration without an error at any time and
 * drops an incomplete record.
 * @param {import('node:stream').Readable} stream of Buffers
 * @param {object} options
 * @param {string} options.format ndjson | csv | json
 * @param {string | null} [options.itemsField] json: dotted path of the array; null = the document is the array
 * @param {number} [options.maxRecordBytes] a longer record is a fault
 * @param {AbortSignal} [options.signal] stops reading
 * @returns {AsyncGenerator<Entry[], void, void>} never an empty array
 * @throws {FreshetError} INPUT_INVALID the stream failed or is gzip, or its header or document cannot be read
 */
export async function * readRecords (stream, { format, itemsField = null, maxRecordBytes = MAX_RECORD_BYTES, signal }) {
  if (!Object.hasOwn(READERS, format)) throw new TypeError(`format ${format}; expected ${Object.keys(READERS).join(' | ')}`)
  const reader = READERS[format]({ itemsField, maxRecordBytes })
  if (signal) addAbortSignal(signal, stream)
  /** @type {Entry[]} */
  let entries = []
  try {
    for await (const chunk of withoutByteOrderMark(stream, format)) {
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

/** @param {AsyncIterable<Buffer>} stream @param {string} format @throws {FreshetError} INPUT_INVALID the stream failed, or is gzip */
async function * withoutByteOrderMark (stream, format) {
  let start = Buffer.alloc(0)
  let started = false
  try {
    for await (const chunk of stream) {
      if (started) {
        yield chunk
        continue
      }
      start = Buffer.concat([start, chunk])
      if (start.indexOf(GZIP) === 0) throw compressed(format)
      if (start.length < BYTE_ORDER_MARK.length) continue
      started = true
      yield start.indexOf(BYTE_ORDER_MARK) === 0 ? start.subarray(BYTE_ORDER_MARK.length) : start
    }
  } catch (cause) {
    if (cause.code === 'INPUT_INVALID') throw cause
    throw new FreshetError('INPUT_INVALID', `the input ended early (${cause.message}); the records before that were read`, { cause })
  }
  if (!started && start.length > 0) yield start
}

/** @param {string} format */
const compressed = (format) => new FreshetError('INPUT_INVALID',
  `the ${format} input is compressed with gzip; decompress it on the way: zcat FILE | npx freshet writer --source stdin`)
