/**
 * Tags of answers (ETag, RFC 9110 8.8.3), and whether a client that has one needs the answer at all.
 *
 * A tag is over the content without the time it was true at: it changes exactly when the content does, whichever process
 * answers. It is weak, because two answers of one tag may differ in `asOf`, and may be compressed or not.
 */
import { createHash } from 'node:crypto'

/** 96 bits: contents that differ never meet in one tag by chance. */
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
 * @returns {boolean} the client has that content
 */
export function isKnown (header, tag) {
  if (header === undefined) return false
  if (header === tag || header.trim() === '*') return true
  const opaque = tag.slice(2)
  return header.split(',').some((one) => one.trim().replace(/^W\//, '') === opaque)
}
