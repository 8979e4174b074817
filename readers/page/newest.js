/** The newest items of a feed, or of several in one stream, from the stream or from polling. */
import { getJson, pathOf } from './api.js'
import { MANY, watch } from './source.js'

/** rows of the list */
export const SHOWN = 25
/** size of a snapshot; a smaller one holds all live items */
const LIMIT = 100
/** maximum number of ids kept */
const KEPT = 1000
/** events per second of the stream; an id that changes more often is sent as often */
const EVENTS = 4

/** @typedef {{ id: string, ts: number, value: string | Uint8Array, isBytes: boolean, feed?: string }} Shown `feed`: of several */

/** @param {Pick<Shown, 'id' | 'feed'>} item @returns {string} names of feeds have no spaces */
export const keyOf = ({ id, feed }) => feed === undefined ? id : `${feed} ${id}`

/**
 * @param {object} parts
 * @param {string[]} parts.feeds one or more @param {AbortSignal} parts.signal
 * @param {() => { itemsPerSecond: number | null, count: number | null }} parts.figures
 * @param {(items: Shown[], isAll: boolean, asOf: number | null) => void} parts.onItems newest first, at most SHOWN; `isAll`: these
 *   are all live items of the feed; `asOf` by the reader's clock, null = now
 * @param {(way: import('./source.js').Way, why: string) => void} parts.onWay
 */
export function watchNewest ({ feeds, signal, figures, onItems, onWay }) {
  const isOne = feeds.length === 1
  /** by key, oldest first @type {Map<string, Shown>} */
  let items = new Map()
  let isAll = false
  let wasMuch = false

  /** @param {number | null} asOf */
  function report (asOf) {
    const sorted = [...items.values()].reverse().sort((a, b) => b.ts - a.ts)
    onItems(sorted.slice(0, SHOWN), isAll && sorted.length <= SHOWN, asOf)
  }

  /** With hysteresis, so that a steady feed does not alternate. */
  function isMuch () {
    const { itemsPerSecond, count } = figures()
    if (itemsPerSecond === null) return wasMuch
    const streamed = Math.min(itemsPerSecond, EVENTS * (count ?? Infinity))
    wasMuch = streamed > (wasMuch ? 0.7 : 1) * MANY
    return wasMuch
  }

  /** @param {string} feed @param {AbortSignal} until */
  const page = (feed, until) => getJson(pathOf(feed, `/items?limit=${SHOWN}&encoding=utf8`), until).catch((error) => {
    // of several, it is waited for
    if (isOne || error.code !== 'FEED_UNKNOWN') throw error
    return { items: [], next: null, asOf: 0 }
  })

  return watch({
    feed: isOne ? feeds[0] : feeds,
    limit: LIMIT,
    signal,
    isMuch,
    onWay,
    onEvent ({ event, feed, items: changes }) {
      if (event === 'reset') return
      if (event === 'snapshot') {
        for (const [key, item] of items) if (item.feed === feed) items.delete(key)
        isAll = isOne && changes.length < LIMIT
      }
      for (const { id, ts, value, deleted } of changes) {
        const key = keyOf({ id, feed })
        items.delete(key)
        if (!deleted) items.set(key, { id, ts, value, isBytes: typeof value !== 'string', feed })
      }
      for (const key of items.keys()) {
        if (items.size <= KEPT) break
        items.delete(key)
        isAll = false
      }
      report(null)
    },
    async onPoll (until) {
      const pages = await Promise.all(feeds.map(async (feed) => ({ feed, ...await page(feed, until) })))
      const shown = pages.flatMap(({ feed, items: found }) => found.reverse().map((/** @type {any} */ one) =>
        isOne ? shownOf(one) : { ...shownOf(one), feed }))
      items = new Map(shown.map((one) => [keyOf(one), one]))
      isAll = isOne && pages[0].next === null
      report(isOne ? pages[0].asOf : null)
    }
  })
}

/** @param {{ id: string, ts: number, value: string, encoding?: string }} item of a reply @returns {Shown} */
export const shownOf = ({ id, ts, value, encoding }) => encoding === 'base64'
  ? { id, ts, value: Uint8Array.from(atob(value), (character) => character.charCodeAt(0)), isBytes: true }
  : { id, ts, value, isBytes: false }
