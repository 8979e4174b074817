/**
 * Follows feeds over HTTP: a snapshot, then changes as they come. When a connection ends or is silent, the client resumes
 * from the last position, at the next of several readers.
 *
 *     import { follow } from 'freshet-feed/client'
 *     for await (const { event, items } of follow('http://127.0.0.1:8080', 'latest', { ids: ['bus-7'] })) ...
 *     for await (const { event, feed, items } of follow('http://127.0.0.1:8080', ['buses', 'trams'])) ...
 *
 *     bytes -> events (createEventParser) -> one connection (eventsOf) -> all connections, one after another (run)
 *
 * It pulls: while the caller handles an event, nothing is read, the socket fills up, and the reader keeps only ids for it.
 *
 * It imports nothing and needs only `fetch`, so it also runs in Deno and Bun.
 *
 * The sources are in src/client; browsers load them as one file (/client.js), which `npm run client` writes.
 */
import { eventsOf, pause } from './connection.js'
import { checked, FollowError } from './options.js'

export { createEventParser } from './connection.js'
export { FollowError } from './options.js'

/** @typedef {'base64' | 'utf8' | 'json'} Encoding of values over the wire */

/**
 * base64: bytes. utf8: text, or bytes if a value is not UTF-8. json: the parsed value, whose type is not checked, or bytes if a value is
 * not JSON.
 * @template {Encoding} [E='base64'] @template [T=any]
 * @typedef {E extends 'json' ? T : E extends 'utf8' ? string | Uint8Array : Uint8Array} LiveValue
 */

/**
 * `ts`: event time, ms since 1970; for deletions only if the layout of the feed keeps it.
 * @template {Encoding} [E='base64'] @template [T=any]
 * @typedef {{ id: string, ts: number, value: LiveValue<E, T>, deleted?: undefined } |
 *   { id: string, ts?: number, value?: undefined, deleted: true }} LiveItem
 */

/**
 * `snapshot`: the newest items, oldest first; they replace all earlier ones. `items`: changes, oldest first. `reset`: changes
 * may have been missed; a snapshot follows. `position`: for `from`, to resume after this event; null: a snapshot is needed. `feed`: which
 * one, if several are followed; the position is that of all. `complete`: false = the snapshot lacks items beyond a bound of the reader.
 * @template {Encoding} [E='base64'] @template [T=any]
 * @typedef {{ event: 'snapshot' | 'items', feed?: string, items: LiveItem<E, T>[], complete?: false, reason?: undefined,
 *   position: string | null } |
 *   { event: 'reset', feed?: string, items?: undefined, reason: string, position: string | null }} LiveEvent
 */

/**
 * @template {Encoding} [E='base64']
 * @typedef {object} FollowOptions
 * @property {readonly string[]} [ids] only these; default: all
 * @property {number} [limit] items in a snapshot
 * @property {number} [since] instead of a snapshot, all that was written since this time: ms since 1970, on the clock of the server
 * @property {number} [tail] instead of a snapshot, so many ids that changed last
 * @property {number} [maxRate] maximum deliveries per second; of an id that changes more often only the newest version comes
 * @property {E} [encoding] default: base64
 * @property {string | null} [from] the position of an earlier event, to resume after it
 * @property {string} [authToken]
 * @property {boolean} [wait] whether to wait for a feed that does not exist yet; its first snapshot then has all items of the feed.
 *   Default: true; false: such a feed is an error, FEED_UNKNOWN. A list of feeds is always waited for
 * @property {(feed?: string) => void} [onWaiting] called when a feed has no items yet, with its name if a list is followed; default:
 *   `console.warn`
 * @property {AbortSignal} [signal] ends the loop, without an error
 * @property {(error: Error, waitMs: number) => void} [onRetry] called with the reason why a connection ended, and the
 *   delay before the next one; default: the first one is printed by `console.warn`, unless events have come
 * @property {number} [silentMs] a connection without data for this long is closed; default: 30,000; readers send heartbeats every 10 s
 */

/**
 * @typedef {string | URL | readonly (string | URL)[]} Readers addresses, such as http://127.0.0.1:8080; the others are for failover
 */

/**
 * Ends when `signal` is aborted or the loop is left; reconnects for ever after errors that may pass, and throws a FollowError for others.
 * @type {{
 *   <T = any>(readers: Readers, feed: string | readonly string[], options: FollowOptions<'json'> & { encoding: 'json' }):
 *     AsyncGenerator<LiveEvent<'json', T>, void, void>,
 *   <E extends Encoding = 'base64'>(readers: Readers, feed: string | readonly string[], options?: FollowOptions<E>):
 *     AsyncGenerator<LiveEvent<E>, void, void>
 * }}
 * @throws {FollowError} ARGUMENT_INVALID, at once, with all faults; in the loop the codes of FollowError
 */
export const follow = (/** @type {any} */ readers, /** @type {any} */ feed, /** @type {any} */ options = {}) => {
  const over = new AbortController()
  const events = run(checked(readers, feed, options), over)
  const leave = events.return.bind(events)
  // else a generator first waits for its next event
  events.return = (value) => {
    over.abort()
    return leave(value)
  }
  return events
}

const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 10_000

/**
 * All connections, one after another: what is received, and where and when the next one begins.
 * @param {ReturnType<typeof import('./options.js').checked>} plan @param {AbortController} over
 * @returns {AsyncGenerator<any, void, void>}
 */
async function * run ({ urls, from, signal, onRetry, onWaiting, path, wholePath, ...how }, over) {
  const ended = signal ? AbortSignal.any([signal, over.signal]) : over.signal
  const readers = urls.map((url) => ({ url, notBeforeMs: 0 }))
  let reader = readers[0]
  let position = from
  let retryMs = 0
  let failures = 0
  // a wrong address must not look like a feed without changes
  let isQuiet = false
  /** Feeds that have no items yet; '' is the only one. @type {Set<string>} */
  const waiting = new Set()
  // the only feed was waited for, and it may begin while there is no connection
  let isFirst = false
  try {
    while (!ended.aborted) {
      let lost
      /** @type {string} */
      const where = isFirst && position === null ? wholePath : path
      for await (const received of eventsOf(reader.url, { ...how, path: where, position }, ended)) {
        if (ended.aborted) return
        lost = received.lost
        retryMs = received.retry ?? retryMs
        for (const feed of received.waiting ?? []) {
          if (!waiting.has(feed)) onWaiting(feed || undefined)
          waiting.add(feed)
          isFirst ||= feed === ''
        }
        if (received.event) waiting.delete(received.event.feed ?? '')
        if (typeof received.id === 'string') position = received.id || null
        else if (received.event?.event === 'reset') position = null
        if (position !== null) isFirst = false
        if (received.event || received.id || received.waiting) {
          failures = 0
          isQuiet = true
        }
        if (received.event) yield { ...received.event, position }
      }
      if (ended.aborted) return
      if (lost instanceof FollowError && !lost.retryable) {
        if (lost.code !== 'POSITION_INVALID' || position === null) throw lost
        // of a feed that was dropped and created again
        yield { event: 'reset', reason: 'invalid', position: position = null }
        continue
      }
      const nowMs = performance.now()
      const waitMs = Math.max(retryMs, Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** failures++) * (0.5 + Math.random() / 2))
      reader.notBeforeMs = nowMs + (lost.retryAfterMs ?? 0) * (1 + Math.random() / 4)
      reader = nextOf(readers, reader, nowMs + waitMs)
      const untilMs = Math.max(nowMs + waitMs, reader.notBeforeMs)
      if (onRetry) onRetry(lost, Math.round(untilMs - nowMs))
      else if (!isQuiet) console.warn(`follow: ${lost.message}; trying again until it answers (onRetry gets each failure)`)
      isQuiet = true
      await pause(untilMs - nowMs, reader.notBeforeMs - nowMs, ended)
    }
  } finally {
    over.abort()
  }
}

/**
 * The next reader in turn that may be tried by then, or the one that may be tried soonest.
 * @template {{ notBeforeMs: number }} R @param {R[]} readers @param {R} last @param {number} whenMs @returns {R}
 */
function nextOf (readers, last, whenMs) {
  const at = readers.indexOf(last) + 1
  const inTurn = [...readers.slice(at), ...readers.slice(0, at)]
  return inTurn.find(({ notBeforeMs }) => notBeforeMs <= whenMs) ?? inTurn.sort((a, b) => a.notBeforeMs - b.notBeforeMs)[0]
}
