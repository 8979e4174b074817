/**
 * Headers of replies. Everything that changes while a body is in the cache is in headers, not in the body.
 *
 * `max-age=0, stale-if-error` gives caches in front the rule of this process; no-cache would forbid them stale replies.
 *
 * @typedef {'identity' | 'gzip' | 'notModified'} Kind the body as it is, compressed, or 304 without one
 * @typedef {object} Freshness at the time of sending
 * @property {number} asOf when the content was last confirmed: ms since 1970 on the clock of this process
 * @property {number | null} lagMs of the replica, null = unknown
 * @property {string | null} stale the code of the failure, null = not stale
 * @typedef {object} Headed of a reply, for its headers
 * @property {number} asOf as in its body
 * @property {string} type
 * @property {string} vary
 * @property {string | null} [tag]
 * @property {boolean} [isPrivate] no cache that others use may keep it
 * @property {string | null} [next] the cursor, for replies that have it in a header
 * @property {boolean} [isCut] for replies that say in a header that a scan ended at its bound
 * @property {Buffer} [body] none: its length is unknown
 * @property {Buffer | null} [gzipped]
 */
import { createHash } from 'node:crypto'

/** What a client accepts, by its headers: NDJSON or JSON (RFC 9110, 12.5.1), gzip or not (12.5.3). */

const MAX_CACHED = 100

/** Answers of acceptsGzip by header: clients send few different ones. @type {Map<string, boolean>} */
const cached = new Map()

/** @param {string} header of names with weights @returns {Map<string, number>} */
const weightsOf = (header) => new Map(header.toLowerCase().split(',').map((range) => {
  const [name, ...parameters] = range.split(';').map((part) => part.trim())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  return [name, weight ? Number(weight.slice(2)) : 1]
}))

/**
 * @param {string | undefined} header Accept
 * @returns {boolean} NDJSON is named, and JSON is not named with a higher weight
 */
export function prefersNdjson (header) {
  if (!header || !/ndjson/i.test(header)) return false
  const weights = weightsOf(header)
  const ndjson = weights.get('application/x-ndjson') ?? 0
  return ndjson > 0 && ndjson >= (weights.get('application/json') ?? 0)
}

/**
 * @param {string | undefined} header Accept-Encoding
 * @returns {boolean} gzip, or any encoding, is named with a weight above 0
 */
export function acceptsGzip (header) {
  if (header === undefined) return false
  const answer = cached.get(header)
  if (answer !== undefined) return answer
  const weights = weightsOf(header)
  const accepts = (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0
  if (cached.size >= MAX_CACHED) cached.clear()
  cached.set(header, accepts)
  return accepts
}

/**
 * @param {Headed} reply
 * @param {Freshness} freshness
 * @param {Kind} kind
 * @param {{ maxStaleMs: number, nowMs: number }} at
 * @returns {string[]} name, value, name, value ...
 */
export function headOf ({ asOf, type, vary, isPrivate, tag, next, isCut, body, gzipped }, freshness, kind, { maxStaleMs, nowMs }) {
  // a body has its own time; without one the time of the last confirmation holds
  const at = kind === 'notModified' ? freshness.asOf : asOf
  const age = Math.max(0, Math.floor((nowMs - at) / 1000))
  const lines = [
    'freshet-as-of', String(at),
    'age', String(age),
    'cache-control', `${isPrivate ? 'private, ' : ''}max-age=0, stale-if-error=${Math.floor(maxStaleMs / 1000)}`,
    'x-content-type-options', 'nosniff',
    'vary', vary
  ]
  if (kind !== 'notModified') lines.push('content-type', type)
  const sent = kind === 'gzip' ? gzipped : kind === 'identity' ? body : null
  if (sent) lines.push('content-length', String(sent.length))
  if (kind === 'gzip') lines.push('content-encoding', 'gzip')
  if (tag) lines.push('etag', tag)
  if (freshness.lagMs !== null) lines.push('freshet-lag-ms', String(Math.round(freshness.lagMs)))
  if (next) lines.push('freshet-next', next)
  if (isCut) lines.push('freshet-complete', 'false')
  if (freshness.stale) lines.push('freshet-stale', 'true', 'cache-status', `freshet; hit; ttl=-${age}; detail=${freshness.stale}`)
  return lines
}

/**
 * Entity tags (ETag, RFC 9110 8.8.3). A tag is computed from the content without its time, so it changes exactly when the
 * content does, whichever process builds the reply. It is weak, because replies with the same tag may differ in `asOf`
 * and in compression.
 */

/** 96 bits, so that collisions are out of the question */
const TAG_CHARS = 16

/** @param {(Buffer | string)[]} content @returns {string} */
export function tagOf (content) {
  const hash = createHash('sha1')
  for (const part of content) hash.update(part)
  return `W/"${hash.digest('base64url').slice(0, TAG_CHARS)}"`
}

/**
 * @param {string | undefined} header If-None-Match
 * @param {string} tag
 * @returns {boolean} the client has this content, so 304 is sent
 */
export function matchesTag (header, tag) {
  if (header === undefined) return false
  if (header === tag || header.trim() === '*') return true
  const opaque = tag.slice(2)
  return header.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === opaque)
}
