/**
 * Decompresses a body that has arrived. The bytes that come out are bounded and counted as those of any other body, so a bomb is
 * decompressed no further than the bound.
 */
import { createGunzip } from 'node:zlib'
import { collectBody } from './body-bytes.js'
import { FreshetError } from './errors.js'

/**
 * @param {Buffer} packed
 * @param {{ maxBytes: number, budget: import('./body-bytes.js').BodyBudget }} bounds of the bytes that come out
 * @param {(error: Error | null, bytes: Buffer) => void} done as that of collectBody; REQUEST_INVALID if it is not gzip, or cut off
 * @returns {() => void} frees the bytes
 */
export function unpackBody (packed, bounds, done) {
  const gunzip = createGunzip()
  const free = collectBody(gunzip, { announced: null, ...bounds }, (error, bytes) => {
    gunzip.destroy()
    const isBroken = /** @type {{ code?: string } | null} */ (error)?.code?.startsWith('Z_')
    const fault = `the body is not gzip (${error?.message}); expected gzip, or no Content-Encoding`
    done(isBroken ? new FreshetError('REQUEST_INVALID', fault) : error, bytes)
  })
  gunzip.end(packed)
  return () => {
    gunzip.destroy()
    free()
  }
}
