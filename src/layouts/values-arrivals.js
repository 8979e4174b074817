/**
 * The members of arrivals of layout `values`. Those of a batch lie close together, as most items come in their order: what lies close is
 * read in one run, of at most 1,000 members.
 *
 * Items of one order lie by their ids. Of very many, such as 300,000 of one millisecond, a batch is spread over all: where a run is mostly
 * others, the arrivals that are left of that order are found one by one, in a script (lua/find-members.lua).
 */
import { compareOrder, memberBound, memberEnd, scoreOf } from '../item/index.js'
import { MAX_READ } from './read-size.js'
import { seekMembers } from './seek.js'
import { versionsOf } from './values-scan.js'

/** arrivals that are further apart are read apart */
const CLOSE_MS = 5
/** members read beyond those wanted: others may lie between */
const BETWEEN = 8
/** a run of so many members for each arrival found is mostly others */
const SPARSE = 4
/** of one script, so that it takes a few milliseconds */
const MAX_FOUND = 500

/** @typedef {import('./arrivals.js').Arrival} Arrival */
/** @typedef {import('./values-scan.js').Version} Version */

/**
 * @param {any} connection @param {string} name @param {Arrival[]} wanted @param {import('./read-size.js').ReadSize} size
 * @returns {Promise<(Version | null)[]>} in their order; of several with the same order, the one that was appended last
 */
export async function membersAt (connection, name, wanted, size) {
  const inOrder = wanted.map((arrival, i) => ({ arrival, i })).sort((a, b) => compareOrder(a.arrival, b.arrival))
  /** @type {(Version | null)[]} */
  const found = new Array(wanted.length).fill(null)
  for (let next = 0; next < inOrder.length;) {
    let end = next + 1
    while (end < inOrder.length && end - next < MAX_READ && inOrder[end].arrival.ts - inOrder[end - 1].arrival.ts <= CLOSE_MS) end++
    const count = size.of(Math.min(MAX_READ, 2 * (end - next) + BETWEEN))
    const { id, ts, seq } = inOrder[next].arrival
    const place = { score: scoreOf(ts, seq), bytes: memberBound({ id, ts, seq }) }
    const members = versionsOf(await seekMembers(connection, name, place, 'newer', count, 1), size)
    const isAll = members.length < count
    const from = next
    for (let at = 0; next < inOrder.length; next++) {
      const { arrival, i } = inOrder[next]
      while (at < members.length && compareOrder(members[at], arrival) < 0) at++
      let last = at
      while (last < members.length && compareOrder(members[last], arrival) === 0) last++
      // more of its order may follow; the first one has been read, or is not there
      if (last === members.length && !isAll && next > from) break
      found[i] = last > at ? members[last - 1] : null
    }
    if (isAll || members.length < SPARSE * (next - from) || members.length < MAX_FOUND) continue
    const left = ofOneOrder(inOrder, next)
    const versions = await membersOf(connection, name, left.map(({ arrival }) => arrival), size)
    left.forEach(({ i }, at) => { found[i] = versions[at] })
    next += left.length
  }
  return found
}

/** @param {{ arrival: Arrival, i: number }[]} inOrder @param {number} from @returns {typeof inOrder} those of the order before `from` */
function ofOneOrder (inOrder, from) {
  const { ts, seq } = inOrder[from - 1].arrival
  let end = from
  while (end < inOrder.length && inOrder[end].arrival.ts === ts && inOrder[end].arrival.seq === seq) end++
  return inOrder.slice(from, end)
}

/**
 * @param {any} connection @param {string} name @param {Arrival[]} wanted of one order, by id
 * @param {import('./read-size.js').ReadSize} size
 * @returns {Promise<(Version | null)[]>}
 */
async function membersOf (connection, name, wanted, size) {
  /** @type {(Version | null)[]} */
  const all = []
  while (all.length < wanted.length) {
    const piece = wanted.slice(all.length, all.length + size.of(MAX_FOUND))
    const score = scoreOf(piece[0].ts, piece[0].seq)
    /** @type {(Buffer | null)[]} */
    const found = await connection.runScript('find-members', [name], [score, ...piece.map(({ id }) => memberEnd(id))])
    const versions = versionsOf(found.flatMap((member) => member === null ? [] : [member, Buffer.from(String(score))]), size)
    for (const [i, member] of found.entries()) {
      const version = member === null ? null : /** @type {Version} */ (versions.shift())
      all.push(version?.id.equals(piece[i].id) ? version : null)
    }
  }
  return all
}
