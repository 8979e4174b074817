/** The newest items of a feed, kept up by what a reader pushes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { follow } from '../../src/client.js'

/** as many as the largest screen shows */
const MOST = 200
/** events a second: more can nobody read */
const MAX_RATE = 4
const AGAIN_MS = 1000
/** a reader that has the feed in memory says what is newest at once */
const FIRST_WITHIN_MS = 3000

/** @typedef {import('./screen.js').Item} Item */

/**
 * @param {Item[]} known newest first
 * @param {import('../../src/client.js').LiveItem<'utf8'>[]} changes oldest first
 * @returns {Item[]} newest first; of those of one time what came last is the newest
 */
export function merged (known, changes) {
  /** @type {Map<string, Item>} */
  const byId = new Map(known.toReversed().map((item) => [item.id, item]))
  for (const item of changes) {
    byId.delete(item.id)
    if (!item.deleted) byId.set(item.id, item)
  }
  return [...byId.values()].reverse().sort((a, b) => b.ts - a.ts).slice(0, MOST)
}

/**
 * Follows until `signal` is aborted. When a connection is lost it begins again with what is newest then, not with what was missed.
 * @param {{ url: string, feed: string, token: string | null, signal: AbortSignal, onItems: (items: Item[]) => void,
 *   onTrouble: (trouble: string) => void }} options `onTrouble`: until the next `onItems` they stand still
 * @returns {Promise<void>}
 */
export async function followNewest ({ url, feed, token, signal, onItems, onTrouble }) {
  while (!signal.aborted) {
    const lost = new AbortController()
    const abort = () => lost.abort()
    signal.addEventListener('abort', abort)
    /** @param {any} error */
    const tell = (error) => {
      if (!signal.aborted) onTrouble(error.code === 'UNAUTHORIZED' ? 'the newest items are not shown: this reader wants a token for that (--live-token)' : `the newest items stand still: ${error.cause?.code ?? error.message}`)
      lost.abort()
    }
    /** @type {Item[]} */
    let items = []
    const waiting = setTimeout(() => onTrouble('the newest items are not known yet: the reader takes in what is live'), FIRST_WITHIN_MS)
    try {
      const events = follow(url, feed, { limit: MOST, maxRate: MAX_RATE, encoding: 'utf8', authToken: token ?? undefined, signal: lost.signal, onRetry: tell })
      for await (const one of events) {
        clearTimeout(waiting)
        if (one.event === 'reset') continue
        items = merged(one.event === 'snapshot' ? [] : items, one.items)
        onItems(items)
      }
    } catch (error) {
      tell(error)
    } finally {
      clearTimeout(waiting)
      signal.removeEventListener('abort', abort)
    }
    await sleep(AGAIN_MS, undefined, { signal }).catch(() => {})
  }
}
