/**
 * What is wrong with the head of a request although node's parser accepted it. Raw headers are read, because node keeps only
 * the first of two Host headers, and because building the object of all headers costs more than this loop.
 */
import { FreshetError } from './errors.js'

const HOST = 'host'
const TRANSFER = 'transfer-encoding'

/**
 * @param {import('node:http').IncomingMessage} request
 * @returns {FreshetError | null} REQUEST_INVALID
 */
export function headFault ({ rawHeaders, httpVersionMinor }) {
  let hosts = 0
  let codings = null
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]
    // comparing lengths first avoids most of the lower-casing
    if (name.length === HOST.length && name.toLowerCase() === HOST) hosts++
    else if (name.length === TRANSFER.length && name.toLowerCase() === TRANSFER) {
      codings = codings === null ? rawHeaders[i + 1] : `${codings}, ${rawHeaders[i + 1]}`
    }
  }
  if (hosts > 1) return new FreshetError('REQUEST_INVALID', `${hosts} Host headers; expected one`)
  if (hosts === 0 && httpVersionMinor === 1) return new FreshetError('REQUEST_INVALID', 'no Host header; HTTP/1.1 needs one')
  if (codings !== null && codings.toLowerCase() !== 'chunked') {
    return new FreshetError('REQUEST_INVALID', `Transfer-Encoding: ${codings}; expected chunked, or Content-Length`)
  }
  return null
}
