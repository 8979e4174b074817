/** Whether primaries have the replicas that an acknowledgement level needs. */
import { FreshetError } from '../errors.js'
import { readInfo } from './nodes.js'

/** @typedef {import('./connection.js').Connection} Connection */

/** Replicas that a level needs: 1 for `replica`, n for a number, otherwise 0. @param {string} level */
export const replicasOf = (level) => level === 'replica' ? 1 : Number(/^\d+$/.test(level) && level)

/** @param {Connection} connection to the primary */
export const attachedReplicas = async (connection) =>
  Number(readInfo(await connection.send('INFO', 'replication'), connection.address).connected_slaves ?? 0)

/**
 * Rejects a number of replicas that a primary does not have. One replica may come later, as with `replica`.
 * @param {Connection[]} primaries @param {string} level @param {string} setting its name
 * @throws {FreshetError} REPLICAS_TOO_FEW
 */
export async function expectReplicas (primaries, level, setting) {
  const needed = replicasOf(level)
  if (needed < 2) return
  const counts = await Promise.all(primaries.map(attachedReplicas))
  const at = counts.findIndex((count) => count < needed)
  if (at < 0) return
  throw new FreshetError('REPLICAS_TOO_FEW', `the primary at ${primaries[at].address} has ${counts[at]} attached ` +
    `${counts[at] === 1 ? 'replica' : 'replicas'}, and --${setting} ${needed} needs ${needed}: attach more, or use a lower number`)
}
