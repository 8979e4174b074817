/** The kind of a cached reply that a client gets: 304, gzip, or the body as it is. */
import { acceptsGzip, matchesTag } from './headers.js'

const ACCEPT = 'accept'
const ENCODING = 'accept-encoding'
const TAG = 'if-none-match'

/** @typedef {import('./reply-cache.js').CachedReply} CachedReply */
/** @typedef {import('./headers.js').Kind} Kind */

/**
 * @param {string[]} rawHeaders as node gives them: name, value, name, value ...
 * @param {CachedReply} reply of JSON
 * @param {number} nowMs of `elapsed`
 * @returns {Kind | null} null: another type, a header given twice, or compression is due
 */
export function kindFor (rawHeaders, reply, nowMs) {
  let accept
  let encoding
  let tag
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]
    // comparing lengths first avoids most of the lower-casing
    if (name.length === ACCEPT.length && name.toLowerCase() === ACCEPT) {
      if (accept !== undefined) return null
      accept = rawHeaders[i + 1]
    } else if (name.length === ENCODING.length && name.toLowerCase() === ENCODING) {
      if (encoding !== undefined) return null
      encoding = rawHeaders[i + 1]
    } else if (name.length === TAG.length && name.toLowerCase() === TAG) {
      if (tag !== undefined) return null
      tag = rawHeaders[i + 1]
    }
  }
  if (accept !== undefined && /ndjson/i.test(accept)) return null
  if (matchesTag(tag, reply.tag)) return 'notModified'
  if (!acceptsGzip(encoding)) return 'identity'
  if (reply.gzipped) return 'gzip'
  return reply.gzipped === null || nowMs < reply.retryGzipMs ? 'identity' : null
}

/** @param {CachedReply} reply @param {Kind} kind @returns {Buffer | null} */
export const bodyFor = ({ body, gzipped }, kind) =>
  kind === 'notModified' ? null : kind === 'gzip' ? /** @type {Buffer} */ (gzipped) : body
