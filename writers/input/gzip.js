/**
 * Decompresses input that begins with the magic bytes of gzip, also of several members; other input passes as it is.
 *
 * Everything before a cut is delivered, and before other faults all but the last 16 KiB. A stream that fails drops what it has
 * buffered, so this one is read by events, and fed in slices, which bound what is held: a byte may become a thousand.
 */
import { createGunzip } from 'node:zlib'
import { FreshetError } from '../../src/errors.js'

const MAGIC = Buffer.from([0x1f, 0x8b])
const SLICE_BYTES = 16 * 1024

/**
 * @param {AsyncIterable<Buffer>} chunks
 * @param {{ isGzip?: boolean }} [expected] `isGzip`: other input is a fault
 * @returns {AsyncGenerator<Buffer, void, void>}
 * @throws {FreshetError} INPUT_INVALID broken or truncated gzip
 */
export async function * decompressed (chunks, { isGzip = false } = {}) {
  let start = Buffer.alloc(0)
  /** @type {ReturnType<typeof createUnpacker> | null} */
  let unpacker = null
  let isPlain = false
  try {
    for await (const chunk of chunks) {
      if (!isPlain && !unpacker) {
        start = Buffer.concat([start, chunk])
        if (start.length < MAGIC.length) continue
        if (start.indexOf(MAGIC) === 0) unpacker = createUnpacker()
        isPlain = !unpacker
        if (isPlain && isGzip) throw notGzip()
      }
      const bytes = start.length > 0 ? start : chunk
      start = Buffer.alloc(0)
      if (unpacker) yield * unpacker.take(bytes)
      else yield bytes
    }
    if (unpacker) yield * unpacker.end()
    else if (isGzip) throw notGzip()
    else if (start.length > 0) yield start
  } finally {
    unpacker?.close()
  }
}

const notGzip = () => new FreshetError('INPUT_INVALID',
  'the name of the file ends in .gz, but it does not begin as gzip does; fetch it again, or give it another name')

function createUnpacker () {
  const gunzip = createGunzip()
  /** @type {Buffer[]} */
  let pieces = []
  let inBytes = 0
  /** @type {Error & { code?: string } | null} */
  let fault = null
  gunzip.on('data', (piece) => pieces.push(piece))
  gunzip.on('error', (error) => { fault = error })

  /** @param {(done: () => void) => void} write */
  async function * step (write) {
    await /** @type {Promise<void>} */ (new Promise((resolve) => {
      if (gunzip.closed) return resolve()
      gunzip.once('close', resolve)
      write(() => {
        gunzip.off('close', resolve)
        resolve()
      })
    }))
    const complete = pieces
    pieces = []
    yield * complete
    if (fault) throw broken(fault)
  }

  /** @param {Error & { code?: string }} cause */
  const broken = (cause) => new FreshetError('INPUT_INVALID',
    `the gzip input is ${cause.code === 'Z_BUF_ERROR' ? 'cut off' : 'broken'} near byte ${inBytes.toLocaleString('en')} ` +
    `(${cause.message}); the records before that were read; fetch or create it again`, { offsetBytes: inBytes, cause })

  return {
    /** @param {Buffer} bytes */
    async * take (bytes) {
      for (let from = 0; from < bytes.length; from += SLICE_BYTES) {
        const slice = bytes.subarray(from, from + SLICE_BYTES)
        inBytes += slice.length
        yield * step((done) => gunzip.write(slice, done))
      }
    },
    end: () => step((done) => { gunzip.once('end', done).end() }),
    close: () => gunzip.destroy()
  }
}
