/** What systems may use of the embedded services, by one object of a process. */
import { defaultCacheDir } from './client.js'
import { hasDynalite, VERSION } from './dynamodb/pinned.js'
import { ownPart, ROOT, runningPart } from './target.js'

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
