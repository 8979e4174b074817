/** The servers of a process that writes: figures of their nodes, which are asked when they are wanted. */
import { createServers } from '../src/store/index.js'

/**
 * @param {any} settings @param {{ redisUrl: string, replicaUrls: string[] | null, name: string, log: import('pino').Logger }} parts
 * @throws {import('../src/errors.js').FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED of the primary
 */
export async function openServers ({ readFrom, deadlineMs }, parts) {
  const servers = createServers({ ...parts, readFrom, deadlineMs, isReading: false, isAsked: false })
  try {
    await servers.ready
    return servers
  } catch (error) {
    await servers.close()
    throw error
  }
}
