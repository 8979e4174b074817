/**
 * Changes of a feed, from a stream (`follow` of the client) or by polling:
 *
 *     stream --- too many changes, or refused (the reader's limit, no view) ---> poll
 *            <-- fewer changes, or a later attempt -------------------------
 *
 * A stream carries every changed id. Of a fast feed that is megabytes a second, of which the page shows a few rows.
 */
import { follow } from '/client.js'
import { pause } from './elements.js'
import { token, tokenRefused } from './api.js'

const POLL_EVERY_MS = 500
const FAILED_MS = 2000
/** events per second */
const MAX_RATE = 4
/** maximum items per second of a stream to this page */
export const MANY = 1000
/** then the stream is tried again */
const HOLD_MS = 60_000

/** @typedef {'stream' | 'poll' | 'refused'} Way `poll`: because it is cheaper; `refused`: polling, because there is no stream */

/**
 * @param {object} parts
 * @param {string} parts.feed @param {string[]} [parts.ids] @param {number} parts.limit @param {AbortSignal} parts.signal
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
        wait: false,
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
