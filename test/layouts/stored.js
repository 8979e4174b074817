/** What is stored of a partition of layout `ids`, and whether each score has its value. */

/** @param {string} record as latin1 @returns {number} its score */
export function orderOf (record) {
  const head = Buffer.from(record.slice(0, 8), 'latin1')
  return head.readUIntBE(0, 6) + (head.readUInt16BE(6) >>> 4) / 4096
}

/**
 * @param {Map<string, number>} scores by id @param {(id: string) => string | undefined} recordOf as latin1
 * @returns {string[]} one line for each id whose score is not that of its value
 */
export const faultsOf = (scores, recordOf) => [...scores].flatMap(([id, score]) => {
  const record = recordOf(id)
  return record !== undefined && orderOf(record) === score ? [] : [`${id}: score ${score}, value ${record && orderOf(record)}`]
})

/**
 * @param {import('../../src/store/index.js').Connection} connection @param {(part: string) => string} key
 * @returns {Promise<{ values: Record<string, string>, faults: string[] }>} values by id; `faults` as faultsOf
 */
export async function storedIn (connection, key) {
  const flat = (await connection.send('ZRANGE', key('ids'), 0, -1, 'WITHSCORES')).map(String)
  /** @type {Map<string, number>} */
  const scores = new Map()
  for (let i = 0; i < flat.length; i += 2) scores.set(flat[i], Number(flat[i + 1]))
  /** @type {Map<string, string>} */
  const records = new Map()
  for (const id of scores.keys()) {
    const record = await connection.send('GET', key('item:') + id)
    if (record !== null) records.set(id, record.toString('latin1'))
  }
  return {
    values: Object.fromEntries([...records].map(([id, record]) => [id, record.slice(8)])),
    faults: faultsOf(scores, (id) => records.get(id))
  }
}
