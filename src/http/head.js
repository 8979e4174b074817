/**
 * The head of an answer: what it says about its age, its kind and who may keep it. Everything that changes while a body
 * lies around is here and not in the body.
 *
 * `max-age=0, stale-if-error` tells caches in front the rule of this process. Rejected: no-cache, which forbids them the
 * second half.
 *
 * @typedef {'identity' | 'gzip' | 'known'} Kind of reply: the body as it is, compressed, or 304 without one
 * @typedef {object} Live what was known when the answer was given
 * @property {number} asOf when its content was last confirmed: ms since 1970 on the clock of this process
 * @property {number | null} lagMs of the replica, null = not known
 * @property {string | null} stale the code of what is wrong, null = nothing is
 * @typedef {object} Said of an answer
 * @property {number} asOf as its body has it
 * @property {string} type
 * @property {string} vary
 * @property {string | null} [tag]
 * @property {string | null} [next] the cursor, for answers that have it in a header
 * @property {Buffer} [body] none: its length is not known
 * @property {Buffer | null} [zipped]
 */

/**
 * @param {Said} answer
 * @param {Live} live
 * @param {Kind} kind
 * @param {{ maxStaleMs: number, nowMs: number }} at
 * @returns {string[]} name, value, name, value ...
 */
export function headOf ({ asOf, type, vary, tag, next, body, zipped }, live, kind, { maxStaleMs, nowMs }) {
  // a body carries its own time; without one, the content was true as late as it was confirmed
  const at = kind === 'known' ? live.asOf : asOf
  const age = Math.max(0, Math.floor((nowMs - at) / 1000))
  const lines = [
    'freshet-as-of', String(at),
    'age', String(age),
    'cache-control', `max-age=0, stale-if-error=${Math.floor(maxStaleMs / 1000)}`,
    'x-content-type-options', 'nosniff',
    'vary', vary
  ]
  if (kind !== 'known') lines.push('content-type', type)
  const sent = kind === 'gzip' ? zipped : kind === 'identity' ? body : null
  if (sent) lines.push('content-length', String(sent.length))
  if (kind === 'gzip') lines.push('content-encoding', 'gzip')
  if (tag) lines.push('etag', tag)
  if (live.lagMs !== null) lines.push('freshet-lag-ms', String(Math.round(live.lagMs)))
  if (next) lines.push('freshet-next', next)
  if (live.stale) lines.push('freshet-stale', 'true', 'cache-status', `freshet; hit; ttl=-${age}; detail=${live.stale}`)
  return lines
}
