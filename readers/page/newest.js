/**
 * The newest items of a feed, or of several in one stream, from the stream or by polling:
 *
 *     stream --- too many changes, or refused (the reader's limit, no view) ---> poll
 *            <-- fewer changes, or a later attempt -------------------------
 *
 * A stream carries every changed id. Of a fast feed that is megabytes a second, of which the page shows a few rows.
 */
import { follow } from '/client.js'
import { getJson, pathOf, token, tokenRefused } from './api.js'
import { pause } from './elements.js'

/** rows of the list */
export const SHOWN = 25
/** size of a snapshot; a smaller one holds all live items */
const LIMIT = 100
/** maximum number of ids kept */
const KEPT = 1000
const POLL_EVERY_MS = 500
const FAILED_MS = 2000
/** events per second of the stream; an id that changes more often is sent as often */
const MAX_RATE = 4
/** maximum items per second of a stream to this page */
const MANY = 1000
/** then the stream is tried again */
const HOLD_MS = 60_000

/** @typedef {'stream' | 'poll' | 'refused'} Way `poll`: because it is cheaper; `refused`: polling, because there is no stream */
/** @typedef {{ id: string, ts: number, value: string | Uint8Array, isBytes: boolean, feed?: string }} Shown `feed`: of several */

/** @param {Pick<Shown, 'id' | 'feed'>} item @returns {string} names of feeds have no spaces */
export const keyOf = ({ id, feed }) => feed === undefined ? id : `${feed} ${id}`

/**
 * @param {object} parts
 * @param {string[]} parts.feeds one or more @param {AbortSignal} parts.signal
 * @param {() => { itemsPerSecond: number | null, count: number | null }} parts.figures
 * @param {(items: Shown[], isAll: boolean, asOf: number | null) => void} parts.onItems newest first, at most SHOWN; `isAll`: these
 *   are all live items of the feed; `asOf` by the reader's clock, null = now
 * @param {(way: Way, why: string) => void} parts.onWay
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
    const streamed = Math.min(itemsPerSecond, MAX_RATE * (count ?? Infinity))
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
      const shown = pages.flatMap(({ feed, items: pageItems }) => pageItems.reverse().map((/** @type {any} */ item) =>
        isOne ? shownOf(item) : { ...shownOf(item), feed }))
      items = new Map(shown.map((item) => [keyOf(item), item]))
      isAll = isOne && pages[0].next === null
      report(isOne ? pages[0].asOf : null)
    }
  })
}

/** @param {{ id: string, ts: number, value: string, encoding?: string }} item of a reply @returns {Shown} */
export const shownOf = ({ id, ts, value, encoding }) => encoding === 'base64'
  ? { id, ts, value: Uint8Array.from(atob(value), (character) => character.charCodeAt(0)), isBytes: true }
  : { id, ts, value, isBytes: false }

/**
 * Changes of a feed, or of several, from a stream (`follow` of the client) or by polling.
 * @param {object} parts
 * @param {string | string[]} parts.feed @param {string[]} [parts.ids] @param {number} parts.limit @param {AbortSignal} parts.signal
 * @param {() => boolean} [parts.isMuch] whether polling is cheaper now
 * @param {(event: any) => void} parts.onEvent of the stream
 * @param {(signal: AbortSignal) => Promise<void>} parts.onPoll polls once; may throw
 * @param {(way: Way, why: string) => void} parts.onWay
 * @returns {Promise<void>} when `signal` is aborted
 */
export async function watch ({ feed, ids, limit, signal, isMuch = () => false, onEvent, onPoll, onWay }) {
  let heldTo = 0
  const mustPoll = () => isMuch() || performance.now() < heldTo
  while (!signal.aborted) {
    if (mustPoll()) {
      onWay('poll', '')
      await poll(mustPoll)
      continue
    }
    const why = await stream()
    if (why === 'much') heldTo = performance.now() + HOLD_MS
    else if (why !== '') await refused(why)
  }

  /** @param {() => boolean} goesOn @param {AbortSignal} [until] */
  async function poll (goesOn, until = signal) {
    while (!until.aborted && goesOn()) {
      const failed = await onPoll(until).then(() => false, () => true)
      await pause(failed ? FAILED_MS : POLL_EVERY_MS, until)
    }
  }

  /** Polls until it is time to try again. @param {string} why */
  async function refused (why) {
    onWay('refused', why)
    const over = new AbortController()
    const timer = setTimeout(() => over.abort(), HOLD_MS)
    await poll(() => true, AbortSignal.any([signal, over.signal]))
    clearTimeout(timer)
  }

  /** @returns {Promise<string>} why it ended: `much`, an error code, '' when it was aborted */
  async function stream () {
    const over = new AbortController()
    const until = AbortSignal.any([signal, over.signal])
    const polling = createToggle((pollUntil) => poll(() => true, AbortSignal.any([until, pollUntil])))
    const meter = createMeter()
    try {
      const events = follow(location.origin, feed, {
        ids,
        limit,
        maxRate: MAX_RATE,
        encoding: 'utf8',
        signal: until,
        authToken: token() ?? undefined,
        // of a list, each is waited for
        wait: Array.isArray(feed),
        onWaiting () {},
        onRetry (error) {
          onWay('refused', /** @type {any} */ (error).code ?? '')
          polling.on()
        }
      })
      for await (const event of events) {
        polling.off()
        onWay('stream', '')
        onEvent(event)
        const count = event.event === 'reset' ? 0 : event.items.length
        if (ids === undefined && (isMuch() || meter(count))) return 'much'
      }
      return ''
    } catch (error) {
      if ([401, 403].includes(error.status) && !until.aborted) tokenRefused(error.status)
      return error.code ?? String(error)
    } finally {
      polling.off()
      over.abort()
    }
  }
}

/** Starts and stops something. @param {(signal: AbortSignal) => void} start */
function createToggle (start) {
  /** @type {AbortController | null} */
  let running = null
  return {
    on () {
      if (running !== null) return
      running = new AbortController()
      start(running.signal)
    },
    off () {
      running?.abort()
      running = null
    }
  }
}

/** @returns {(items: number) => boolean} whether there were more than MANY items a second for two seconds */
function createMeter () {
  let sinceMs = performance.now()
  let items = 0
  return (more) => {
    items += more
    const elapsedMs = performance.now() - sinceMs
    if (elapsedMs < 2000) return false
    const isMany = items / elapsedMs * 1000 > MANY
    sinceMs = performance.now()
    items = 0
    return isMany
  }
}
