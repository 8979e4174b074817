/** How far a consumer is behind. */

/**
 * Age of the oldest entry that a consumer has not finished, ms.
 * @param {import('../store/index.js').Connection} connection @param {(part: string) => string} key @param {string} consumer
 */
export async function lagOf (connection, key, consumer) {
  const [[seconds, micros], cursor] = await connection.sendAll([['TIME'], ['HGET', key('cursors'), consumer]])
  const [oldest] = await connection.send('XRANGE', key('outbox'), cursor === null ? '-' : `(${cursor}`, '+', 'COUNT', 1)
  return oldest === undefined ? 0 : Math.max(0, Number(seconds) * 1000 + Number(micros) / 1000 - parseInt(String(oldest[0])))
}
