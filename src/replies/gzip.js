/** Compresses with gzip, in the thread pool. Level 1, because replies live for milliseconds only. */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

const compress = promisify(gzip)

/** smaller replies fit into one packet either way */
const MIN_BYTES = 1400
/** larger results do not save enough to be worth unpacking */
const MAX_RATIO = 0.9
const LEVEL = 1

/**
 * @param {Buffer} body
 * @returns {Promise<Buffer | null>} null: compression does not save enough
 */
export async function gzipped (body) {
  if (body.length < MIN_BYTES) return null
  const bytes = await compress(body, { level: LEVEL })
  return bytes.length <= body.length * MAX_RATIO ? bytes : null
}
