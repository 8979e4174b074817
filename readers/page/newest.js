/** The newest items of a feed, from the stream or from polling. */
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

/** @typedef {{ id: string, ts: number, value: string | Uint8Array, isBytes: boolean }} Shown */

/**
 * @param {object} parts
 * @param {string} parts.feed @param {AbortSignal} parts.signal
 * @param {() => { itemsPerSecond: number | null, count: number | null }} parts.figures
 * @param {(items: Shown[], isAll: boolean, asOf: number | null) => void} parts.onItems newest first, at most SHOWN; `isAll`: these
 *   are all live items; `asOf` by the reader's clock, null = now
 * @param {(way: import('./source.js').Way, why: string) => void} parts.onWay
 */
export function watchNewest ({ feed, signal, figures, onItems, onWay }) {
  /** @type {Map<string, Shown>} oldest first */
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

  return watch({
    feed,
    limit: LIMIT,
    signal,
    isMuch,
    onWay,
    onEvent ({ event, items: changes }) {
      if (event === 'reset') return
      if (event === 'snapshot') {
        items = new Map()
        isAll = changes.length < LIMIT
      }
      for (const { id, ts, value, deleted } of changes) {
        items.delete(id)
        if (!deleted) items.set(id, { id, ts, value, isBytes: typeof value !== 'string' })
      }
      for (const id of items.keys()) {
        if (items.size <= KEPT) break
        items.delete(id)
        isAll = false
      }
      report(null)
    },
    async onPoll (until) {
      const { items: found, next, asOf } = await getJson(pathOf(feed, `/items?limit=${SHOWN}&encoding=utf8`), until)
      items = new Map(found.reverse().map((/** @type {any} */ one) => [one.id, shownOf(one)]))
      isAll = next === null
      report(asOf)
    }
  })
}

/** @param {{ id: string, ts: number, value: string, encoding?: string }} item of a reply @returns {Shown} */
export const shownOf = ({ id, ts, value, encoding }) => encoding === 'base64'
  ? { id, ts, value: Uint8Array.from(atob(value), (character) => character.charCodeAt(0)), isBytes: true }
  : { id, ts, value, isBytes: false }
