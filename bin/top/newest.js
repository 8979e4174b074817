/** The newest items of a feed, kept up to date by the stream of a reader. */
import { setTimeout as sleep } from 'node:timers/promises'
import { follow } from '../../src/client.js'
import { changesIn } from './replies.js'

/** more than any screen shows */
const MAX_ITEMS = 200
/** events a second */
const MAX_RATE = 4
const RETRY_MS = 1000
/** a reader with a view sends the snapshot at once */
const SNAPSHOT_WITHIN_MS = 3000

/** @typedef {import('./screen.js').Item} Item */

/**
 * @param {Item[]} known newest first
 * @param {ReturnType<typeof changesIn>} changes oldest first
 * @returns {Item[]} newest first; with equal times, the last change first
 */
export function merged (known, changes) {
  /** @type {Map<string, Item>} */
  const byId = new Map(known.toReversed().map((item) => [item.id, item]))
  for (const item of changes) {
    byId.delete(item.id)
    if (!('deleted' in item)) byId.set(item.id, item)
  }
  return [...byId.values()].reverse().sort((a, b) => b.ts - a.ts).slice(0, MAX_ITEMS)
}

/**
 * Follows the feed until `signal` is aborted. After a lost connection it starts with a new snapshot.
 * @param {object} options
 * @param {string} options.url @param {string} options.feed @param {string | null} options.token @param {AbortSignal} options.signal
 * @param {(items: Item[]) => void} options.onItems
 * @param {(trouble: string) => void} options.onTrouble there are no new items until the next `onItems`
 * @returns {Promise<void>}
 */
export async function followNewest ({ url, feed, token, signal, onItems, onTrouble }) {
  while (!signal.aborted) {
    const connection = new AbortController()
    const abort = () => connection.abort()
    signal.addEventListener('abort', abort)
    const failed = (/** @type {any} */ error) => {
      if (!signal.aborted) onTrouble(troubleOf(error))
      abort()
    }
    const waiting = setTimeout(() => onTrouble('waiting for the newest items: the reader is loading the feed'), SNAPSHOT_WITHIN_MS)
    try {
      /** @type {Item[]} */
      let items = []
      const events = follow(url, feed, {
        limit: MAX_ITEMS, maxRate: MAX_RATE, encoding: 'utf8', authToken: token ?? undefined, signal: connection.signal, onRetry: failed
      })
      for await (const one of events) {
        clearTimeout(waiting)
        if (one.event === 'reset') continue
        items = merged(one.event === 'snapshot' ? [] : items, changesIn(one.items))
        onItems(items)
      }
    } catch (error) {
      failed(error)
    } finally {
      clearTimeout(waiting)
      signal.removeEventListener('abort', abort)
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => {})
  }
}

/** @param {any} error */
const troubleOf = (error) => ['UNAUTHORIZED', 'FORBIDDEN'].includes(error.code)
  ? 'newest items unavailable: the token is not valid, or not for this feed'
  : `newest items not updated: ${error.cause?.code ?? error.message}`
