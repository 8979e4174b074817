/** What is stored about a system: into how many partitions its keys are divided. The first process decides. */
import { FreshetError } from './errors.js'
import { systemKey } from './keys.js'

/**
 * @param {import('../store/index.js').Connection} connection to the primary
 * @param {{ keyPrefix: string, system: string, partitions: number }} options
 * @throws {FreshetError} SYSTEM_DIFFERS
 */
export async function agreeOnSystem (connection, { keyPrefix, system, partitions }) {
  const key = systemKey(keyPrefix, system)
  const isNew = await connection.send('SET', key, JSON.stringify({ partitions, createdAt: new Date().toISOString() }), 'NX') !== null
  const stored = isNew ? partitions : JSON.parse(String(await connection.send('GET', key))).partitions
  if (stored !== partitions) {
    throw new FreshetError('SYSTEM_DIFFERS',
      `${system} has ${stored} partitions on this server, not ${partitions}; use --partitions ${stored}`)
  }
}
