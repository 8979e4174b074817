/** What is stored about a system: into how many partitions its keys are divided, and a secret. The first process decides. */
import { randomBytes } from 'node:crypto'
import { FreshetError } from './errors.js'
import { systemKey } from './keys.js'

const SECRET_BYTES = 16

/** @typedef {{ partitions: number, secret: string }} System `secret`: with which user ids are masked */

/**
 * @param {import('../store/index.js').Connection} connection to the primary
 * @param {{ keyPrefix: string, system: string, partitions: number }} options
 * @returns {Promise<System>}
 * @throws {FreshetError} SYSTEM_DIFFERS
 */
export async function agreeOnSystem (connection, { keyPrefix, system, partitions }) {
  const key = systemKey(keyPrefix, system)
  const own = { partitions, secret: randomBytes(SECRET_BYTES).toString('hex'), createdAt: new Date().toISOString() }
  await connection.send('SET', key, JSON.stringify(own), 'NX')
  const stored = JSON.parse(String(await connection.send('GET', key)))
  if (stored.partitions === partitions) return stored
  throw new FreshetError('SYSTEM_DIFFERS',
    `${system} has ${stored.partitions} partitions on this server, not ${partitions}; use --system-partitions ${stored.partitions}`)
}

/** @param {import('../store/index.js').Connection} connection @param {{ keyPrefix: string, system: string }} options */
export async function readSystem (connection, { keyPrefix, system }) {
  const stored = await connection.send('GET', systemKey(keyPrefix, system))
  return stored === null ? null : /** @type {System} */ (JSON.parse(String(stored)))
}
