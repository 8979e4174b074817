/** One more sorted set (experiment 004): `ids-2` beside `ids`, with the same members and scores. */
import { readSortedSet } from './read-keys.js'

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
    if (scores.get(id) !== score) rows.stray(`${id} of ${key('ids-2')}`)
    scores.delete(id)
    rows.hash(member, Buffer.from(String(score)))
  })
  for (const id of scores.keys()) rows.stray(`${id}, which is not in ${key('ids-2')},`)
}
