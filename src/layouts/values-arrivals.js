/**
 * The members of arrivals of layout `values`. Those of a batch lie close together, as most items come in their order: what lies close is
 * read in one run, of at most 1,000 members.
 */
import { compareOrder, memberBound, scoreOf } from '../item/index.js'
import { MAX_READ } from './read-size.js'
import { seekMembers } from './seek.js'
import { versionsOf } from './values-scan.js'

/** arrivals that are further apart are read apart */
const CLOSE_MS = 5
/** members read beyond those wanted: others may lie between */
const BETWEEN = 8

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
  }
  return found
}
