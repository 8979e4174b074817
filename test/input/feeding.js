/** What the tests of this folder feed readers with, and how they collect what comes out. */
import { Readable } from 'node:stream'
import { readRecords } from '../../writers/input/records.js'

/** One byte at a time, at an odd size, and whole. */
const CHUNK_SIZES = [1, 7, Infinity]

/** @param {string | Buffer} document @param {number} [chunkBytes] */
export function streamOf (document, chunkBytes = Infinity) {
  const bytes = Buffer.from(document)
  const chunks = []
  for (let at = 0; at < bytes.length; at += chunkBytes) chunks.push(bytes.subarray(at, at + chunkBytes))
  return Readable.from(chunks, { objectMode: false })
}

/** All entries, and the error that ended them. Buffers become text, so that results compare. */
export async function read (document, options, chunkBytes) {
  const entries = []
  let error = /** @type {any} */ (null)
  try {
    for await (const chunk of readRecords(streamOf(document, chunkBytes), options)) {
      for (const { place, record, text, fault } of chunk) entries.push({ place, record, text: text && text.toString(), fault })
    }
  } catch (thrown) {
    error = thrown
  }
  return { entries, error }
}

/** The place of a mistake in JSON is known as well as the chunks are small. */
const withoutByte = (error) => error?.message.replace(/near byte [\d,]+/, '')

/** Reads the document in chunks of every size, asserts that it makes no difference, and answers what came out. */
export async function readEveryWay (t, document, options) {
  const whole = await read(document, options)
  for (const chunkBytes of CHUNK_SIZES) {
    const { entries, error } = await read(document, options, chunkBytes)
    t.same(entries, whole.entries, `entries in chunks of ${chunkBytes}`)
    t.equal(withoutByte(error), withoutByte(whole.error), `error in chunks of ${chunkBytes}`)
  }
  return whole
}

/** A stream of `times` times the same chunk, between two texts. Nothing of it exists before it is asked for. */
export function endless (before, chunk, times, after = '', onChunk = (_n) => {}) {
  function * produce () {
    if (before) yield Buffer.from(before)
    for (let n = 0; n < times; n++) {
      onChunk(n)
      yield chunk
    }
    if (after) yield Buffer.from(after)
  }
  return Readable.from(produce(), { objectMode: false })
}
