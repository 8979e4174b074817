/** One more sorted set (experiment 004): `ids-2` beside `ids`, with the same members. */
import { readSortedSet } from './read-keys.js'

const SCATTER = 2654435761

/**
 * A score that changes with every version of an id, in no order.
 * @param {number} ts @param {string} id
 * @returns {number} a whole number below 2 ** 32
 */
export const scatteredScore = (ts, id) => Math.imul(ts + Number(id.slice(id.lastIndexOf('-') + 1)), SCATTER) >>> 0

/**
 * Members that one of the sets lacks, or has with another score, are strays.
 * @type {import('./inventory.js').Reader}
 */
export async function checkOtherSet (connection, key, rows) {
  /** @type {Map<string, number>} */
  const scores = new Map()
  await readSortedSet(connection, key('ids'), (member, score) => { scores.set(member.toString('latin1'), score) })
  await readSortedSet(connection, key('ids-2'), (member, score) => {
    const id = member.toString('latin1')
    const first = scores.get(id)
    if (first === undefined || ![first, scatteredScore(first, id)].includes(score)) rows.stray(`${id} of ${key('ids-2')}`)
    scores.delete(id)
    rows.hash(member, Buffer.from(String(score)))
  })
  for (const id of scores.keys()) rows.stray(`${id}, which is not in ${key('ids-2')},`)
}
