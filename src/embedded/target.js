/**
 * Which servers a command works on: those of --redis-url, else the embedded ones of this checkout.
 */
import { fileURLToPath } from 'node:url'
import { defaultCacheDir, lookAtEmbeddedServers, useEmbeddedPart, useEmbeddedServers } from './client.js'
import { hasDynalite, VERSION } from './dynamodb/server.js'

/** The folder of this package. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The reason of a stop after the embedded servers ended: nothing can be flushed. */
export const SERVERS_FAILED = 'servers failed'

/** @param {any} settings @returns {import('./supervisor-process.js').Form} */
export const formOf = ({ cluster, sentinel }) => cluster ? 'cluster' : sentinel ? 'sentinels' : 'replicas'

/** @typedef {{ primaryUrl: string, replicaUrls: string[] | null }} Target `replicaUrls` null = ask the primary for them */

/**
 * Finds or starts the servers, runs `use`, and releases them.
 * @param {{ redisUrl: string | null, replicaUrl: string[] | null, server: string | null,
 *   cacheDir: string | null, cluster?: boolean, sentinel?: boolean }} settings
 * @param {{ env: Record<string, string | undefined>, report: (line: string) => void,
 *   stopping: { signal: AbortSignal, stop: (reason: string) => void } }} to
 * @param {(target: Target) => Promise<number>} use resolves with the exit status of the command
 * @returns {Promise<number>} 0 also when the command was stopped before there were servers
 * @throws {import('../errors.js').FreshetError} ENGINE_MISSING, SERVERS_FAILED, SERVERS_DIFFER
 */
export async function withTarget ({ redisUrl, replicaUrl, server, cacheDir, ...settings }, { env, report, stopping }, use) {
  if (redisUrl !== null) return use({ primaryUrl: redisUrl, replicaUrls: replicaUrl })
  /** @type {Error | null} */
  let failure = null
  /** @type {import('./client.js').EmbeddedServers} */
  let servers
  try {
    servers = await useEmbeddedServers({
      root: ROOT,
      named: server,
      form: formOf(settings),
      cacheDir: cacheDir ?? undefined,
      env,
      report,
      signal: stopping.signal,
      onFailure (error) {
        failure = error
        stopping.stop(SERVERS_FAILED)
      }
    })
  } catch (error) {
    if (stopping.signal.aborted) return 0
    throw error
  }
  try {
    const status = await use(servers)
    if (failure) throw failure
    return status
  } catch (error) {
    throw failure ?? error
  } finally {
    await servers.release()
  }
}

/**
 * The embedded database or DynamoDB of this checkout, fetched and started if need be.
 * @param {'database' | 'dynamodb'} part @param {{ cacheDir: string | null }} settings
 * @param {{ report: (line: string) => void, signal: AbortSignal, onFailure: (error: import('../errors.js').FreshetError) => void }} to
 * @returns {Promise<{ url: string, release: () => Promise<void> }>}
 * @throws {import('../errors.js').FreshetError} ENGINE_MISSING, SERVERS_FAILED
 */
export const ownPart = (part, { cacheDir }, to) => useEmbeddedPart(part, { root: ROOT, cacheDir: cacheDir ?? undefined, ...to })

/** Its URL if it runs. Starts nothing. @param {'database' | 'dynamodb'} part @returns {Promise<string | null>} */
export async function runningPart (part) {
  const running = await lookAtEmbeddedServers({ root: ROOT })
  return running === null || running === 'starting' ? null : running[/** @type {'databaseUrl'} */ (`${part}Url`)]
}

// What systems may use of the embedded services, by one object of a process.

/**
 * @param {{ cacheDir: string | null }} settings
 * @param {{ report?: (line: string) => void, signal?: AbortSignal }} [process] `report` about what is started; `signal`: it stops
 */
export const createServices = ({ cacheDir }, { report = () => {}, signal = new AbortController().signal } = {}) => Object.freeze({
  /**
   * @param {'dynamodb'} service @param {{ onFailure: (error: Error) => void }} options `onFailure`: why it ended
   * @returns {Promise<{ url: string, release: () => Promise<void> }>} fetched and started if need be
   * @throws {import('../errors.js').FreshetError} ENGINE_MISSING, SERVERS_FAILED
   */
  start: (service, { onFailure }) => ownPart(service, { cacheDir }, { report, signal, onFailure }),

  /** Starts nothing. @param {'dynamodb'} service @returns {Promise<{ program: string, url: string | null }>} */
  async look (service) {
    const isFetched = await hasDynalite(cacheDir ?? defaultCacheDir(ROOT))
    const state = isFetched ? 'the pinned copy' : 'downloaded when a command first needs it, 3 MB'
    return { program: `dynalite ${VERSION} (${state})`, url: await runningPart(service) }
  }
})
