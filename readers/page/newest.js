/** The newest items of a feed, as they are known now: from what is pushed, or what is asked for. */
import { ask, pathOf } from './api.js'
import { MANY, watch } from './source.js'

/** lines of the list */
export const SHOWN = 25
/** of a snapshot, of which fewer mean that this is all there is */
const LIMIT = 100
/** ids kept at most; then the oldest are forgotten */
const KEPT = 1000
/** events a second of what is pushed: an id that changes more often is in as many */
const EVENTS = 4

/** @typedef {{ id: string, ts: number, value: string | Uint8Array, isBytes: boolean }} Shown */

/**
 * @param {{ feed: string, signal: AbortSignal, figures: () => { itemsPerSecond: number | null, count: number | null },
 *   onItems: (items: Shown[], isAll: boolean, asOf: number | null) => void, onWay: (way: import('./source.js').Way, why: string) => void }} parts
 *   `onItems`: newest first, at most SHOWN, or all that are live where those are not more; `asOf` by the reader's clock, null = now
 */
export function watchNewest ({ feed, signal, figures, onItems, onWay }) {
  /** @type {Map<string, Shown>} oldest first */
  let items = new Map()
  let isAll = false
  let wasMuch = false

  /** @param {number | null} asOf */
  function tell (asOf) {
    const sorted = [...items.values()].reverse().sort((a, b) => b.ts - a.ts)
    onItems(sorted.slice(0, SHOWN), isAll && sorted.length <= SHOWN, asOf)
  }

  /** Between the two there is room, so that a steady feed is not asked and pushed in turns. */
  function isMuch () {
    const { itemsPerSecond, count } = figures()
    if (itemsPerSecond === null) return wasMuch
    const pushed = Math.min(itemsPerSecond, EVENTS * (count ?? Infinity))
    wasMuch = pushed > (wasMuch ? 0.7 : 1) * MANY
    return wasMuch
  }

  return watch({
    feed,
    limit: LIMIT,
    signal,
    isMuch,
    onWay,
    onEvent ({ event, items: told }) {
      if (event === 'reset') return
      if (event === 'snapshot') {
        items = new Map()
        isAll = told.length < LIMIT
      }
      for (const { id, ts, value, deleted } of told) {
        items.delete(id)
        if (!deleted) items.set(id, { id, ts, value, isBytes: typeof value !== 'string' })
      }
      for (const id of items.keys()) {
        if (items.size <= KEPT) break
        items.delete(id)
        isAll = false
      }
      tell(null)
    },
    async onAsk (until) {
      const { items: told, next, asOf } = await ask(pathOf(feed, `/items?limit=${SHOWN}&encoding=utf8`), until)
      items = new Map(told.reverse().map((/** @type {any} */ one) => [one.id, shownOf(one)]))
      isAll = next === null
      tell(asOf)
    }
  })
}

/** @param {{ id: string, ts: number, value: string, encoding?: string }} item of an answer @returns {Shown} */
export const shownOf = ({ id, ts, value, encoding }) => encoding === 'base64'
  ? { id, ts, value: Uint8Array.from(atob(value), (character) => character.charCodeAt(0)), isBytes: true }
  : { id, ts, value, isBytes: false }
