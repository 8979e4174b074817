/**
 * Which servers a command works on: those of --redis-url, else the embedded ones of this checkout.
 */
import { fileURLToPath } from 'node:url'
import { useEmbeddedServers } from './embedded/client.js'

/** The folder of this package. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** @typedef {{ primaryUrl: string, replicaUrls: string[] | null, embedded: boolean, release: () => Promise<void> }} Target
 *   `replicaUrls` null = ask the primary for them */

/**
 * @param {{ redisUrl: string | null, replicaUrl: string[] | null, server: string | null }} settings
 * @param {{ env: Record<string, string | undefined>, report: (line: string) => void, onFailure: (error: Error) => void }} to
 * @returns {Promise<Target>}
 * @throws {import('../errors.js').FreshetError} ENGINE_MISSING, SERVERS_FAILED
 */
export async function openTarget ({ redisUrl, replicaUrl, server }, { env, report, onFailure }) {
  if (redisUrl !== null) return { primaryUrl: redisUrl, replicaUrls: replicaUrl, embedded: false, release: async () => {} }
  const servers = await useEmbeddedServers({ root: ROOT, named: server, env, report, onFailure })
  return { primaryUrl: servers.primaryUrl, replicaUrls: servers.replicaUrls, embedded: true, release: servers.release }
}
