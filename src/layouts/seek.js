/**
 * Keyset pagination over a sorted set: reads the members next to a place in its order (score, then bytes).
 *
 * A range by score starts with members of the place's own score, and those on the other side of the place are skipped. Few
 * members share a score, so a slightly larger range is enough; otherwise a script finds the place (lua/seek-members.lua).
 * The range comes first because a script pays far more per returned member: for 1,000 members 2.1 ms against 0.17 ms.
 */

/** extra members to read, for those with the same score */
const MAX_EQUAL = 8

/**
 * @param {import('./index.js').Connection} connection
 * @param {string} name
 * @param {{ score: number, bytes: Buffer }} place `bytes`: a member, or bytes between members
 * @param {'older' | 'newer'} side
 * @param {number} count
 * @param {number} [extra] members that may be read in addition; few where members are large
 * @returns {Promise<Buffer[]>} member, score, member, score, ..., nearest first, at most `count` members; fewer at the end
 */
export async function seekMembers (connection, name, { score, bytes }, side, count, extra = MAX_EQUAL) {
  const isNewer = side === 'newer'
  const [command, end, sign] = isNewer ? ['ZRANGEBYSCORE', '+inf', 1] : ['ZREVRANGEBYSCORE', '-inf', -1]
  /** @type {Buffer[]} */
  const flat = await connection.send(command, name, score, end, 'WITHSCORES', 'LIMIT', 0, count + extra)
  let at = 0
  while (at < flat.length && Number(flat[at + 1]) === score && sign * Buffer.compare(flat[at], bytes) <= 0) at += 2
  if (flat.length - at >= 2 * count || flat.length < 2 * (count + extra)) return flat.slice(at, at + 2 * count)
  const [, members] = await connection.runScript('seek-members', [name], [score, bytes, side, count])
  return members
}
