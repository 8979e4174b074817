/** Connections for a command that ends: they refuse at once what is no node of a deployment. */
import { openConnection } from './connection.js'
import { nodeInfo } from './nodes.js'
import { createPrimaries } from './primaries.js'
import { firstAddressOf } from './slot-map.js'

/**
 * @param {string} url of several addresses, which are those of a cluster, the first is asked
 * @param {{ name: string, deadlineMs: number }} options as openConnection
 * @returns {Promise<import('./connection.js').Connection>}
 * @throws {import('../errors.js').FreshetError} as openConnection and nodeInfo
 */
export async function openServer (url, options) {
  const connection = await openConnection(await firstAddressOf(url), options)
  try {
    await nodeInfo(connection)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/**
 * Connections to all primaries.
 * @param {string} redisUrl @param {{ name: string, deadlineMs: number }} options
 * @throws {import('../errors.js').FreshetError} what the first of them met
 */
export async function openPrimaries (redisUrl, options) {
  const primaries = createPrimaries(redisUrl, { ...options, prepare: nodeInfo })
  try {
    await primaries.opened
    return primaries
  } catch (error) {
    await primaries.close()
    throw error
  }
}
