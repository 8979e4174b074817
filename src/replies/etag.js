/**
 * Entity tags (ETag, RFC 9110 8.8.3). A tag is computed from the content without its time, so it changes exactly when the
 * content does, whichever process builds the reply. It is weak, because replies with the same tag may differ in `asOf`
 * and in compression.
 */
import { createHash } from 'node:crypto'

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
  return header.split(',').some((one) => one.trim().replace(/^W\//, '') === opaque)
}
