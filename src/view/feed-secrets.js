/**
 * The secrets of feeds, for what a reader seals (item/seal.js): all readers of the same servers have the same. A feed that no writer of
 * this version has opened yet has none; then one of this process is used, and what it seals is invalid in others.
 */
import { readSecret } from '../feeds/index.js'
import { newSecret } from '../item/index.js'

const FRESH_MS = 500
const MAX_FEEDS = 10_000

/**
 * @param {{ keyPrefix: string, lookUp: import('../store/index.js').LookUp,
 *   onNode: <T>(read: (connection: import('../store/index.js').Router) => Promise<T>) => Promise<T> }} parts
 * @returns {(feed: string) => Promise<string>}
 */
export function createFeedSecrets ({ keyPrefix, lookUp, onNode }) {
  const own = newSecret()
  const primary = { send: (/** @type {any[]} */ ...words) => lookUp(/** @type {any} */ (words)) }
  /** @type {Map<string, { secret: string, readMs: number }>} */
  const known = new Map()

  /** @param {string} feed @returns {Promise<string>} */
  async function read (feed) {
    const { stored } = await onNode(async (connection) => ({ stored: await readSecret(connection, keyPrefix, feed) }))
    // a replica may not have it yet
    return stored ?? await readSecret(primary, keyPrefix, feed) ?? `${own} ${feed}`
  }

  return async (feed) => {
    const last = known.get(feed)
    if (last && performance.now() - last.readMs < FRESH_MS) return last.secret
    const secret = await read(feed).catch((error) => {
      if (error.retryable && last) return last.secret
      throw error
    })
    if (known.size >= MAX_FEEDS) known.clear()
    known.set(feed, { secret, readMs: performance.now() })
    return secret
  }
}
