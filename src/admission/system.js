/**
 * What is stored about a system: into how many partitions its keys are divided, and a secret. The first process decides.
 *
 * Where a database keeps the secret, it decides: a secret that the servers lost with their memory is restored from there.
 */
import { randomBytes } from 'node:crypto'
import { FreshetError } from './errors.js'
import { systemKey } from './keys.js'

const SECRET_BYTES = 16

/** @typedef {{ partitions: number, secret: string }} System `secret`: of the keyed hashes that make ids and mask users */
/** @typedef {(secret: string) => Promise<string>} KeepSecret keeps a secret, and returns the one that was kept first */

/** @returns {string} */
export const newSecret = () => randomBytes(SECRET_BYTES).toString('hex')

/**
 * @param {import('../store/index.js').Router} router to the primaries
 * @param {{ keyPrefix: string, system: string, partitions: number, secretOf?: () => Promise<string> }} options `secretOf` a system that is
 *   not stored
 * @returns {Promise<System>}
 * @throws {FreshetError} SYSTEM_DIFFERS
 */
export async function agreeOnSystem (router, { keyPrefix, system, partitions, secretOf = async () => newSecret() }) {
  const read = () => readSystem(router, { keyPrefix, system })
  let stored = await read()
  if (stored === null) {
    const own = { partitions, secret: await secretOf(), createdAt: new Date().toISOString() }
    await router.send('SET', systemKey(keyPrefix, system), JSON.stringify(own), 'NX')
    stored = /** @type {System} */ (await read())
  }
  if (stored.partitions === partitions) return stored
  throw new FreshetError('SYSTEM_DIFFERS',
    `${system} has ${stored.partitions} partitions on this server, not ${partitions}; use --system-partitions ${stored.partitions}`)
}

/**
 * Stores another secret than the one that the server has.
 * @param {import('../store/index.js').Router} router to the primary @param {{ keyPrefix: string, system: string }} options
 * @param {System} restored
 */
export async function restoreSystem (router, { keyPrefix, system }, restored) {
  await router.send('SET', systemKey(keyPrefix, system), JSON.stringify(restored))
}

/** @param {Pick<import('../store/index.js').Router, 'send'>} router @param {{ keyPrefix: string, system: string }} options */
export async function readSystem (router, { keyPrefix, system }) {
  const stored = await router.send('GET', systemKey(keyPrefix, system))
  return stored === null ? null : /** @type {System} */ (JSON.parse(String(stored)))
}
