/** A connection for a command that ends: it is opened once, and refuses at once what is no node of a deployment. */
import { openConnection } from './connection.js'
import { nodeInfo } from './nodes.js'

/**
 * @param {string} url @param {{ name: string, deadlineMs: number }} options as openConnection
 * @returns {Promise<import('./connection.js').Connection>}
 * @throws {import('../errors.js').FreshetError} as openConnection and nodeInfo
 */
export async function openServer (url, options) {
  const connection = await openConnection(url, options)
  try {
    await nodeInfo(connection)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}
