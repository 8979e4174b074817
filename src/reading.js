/**
 * Queries of one feed, in the types of a caller: ids as text, values as bytes or as parsed JSON, cursors as text.
 */
import { invalid, optionsIn, shown } from './arguments.js'
import { checkedId, decodeCursor, encodeCursor, MAX_TS, parsedJson } from './item/index.js'
import { createSubscription, subscribe } from './view/index.js'

/**
 * An item as it is read.
 * @template [T=Buffer]
 * @typedef {object} Item
 * @property {string} id
 * @property {number} ts event time, ms since 1970
 * @property {T} value a Buffer; with `encoding: 'json'` the parsed value, whose type is not checked
 * @property {'bytes'} [encoding] with `encoding: 'json'`, of an item whose value is not JSON: `value` is then a Buffer
 */

/**
 * @template [T=Buffer]
 * @typedef {object} Page
 * @property {Item<T>[]} items newest first
 * @property {string | null} next for `after`, to get the next page; null at the end
 * @property {number} asOf time of the answer, ms since 1970, on the clock of this process
 * @property {number | null} lagMs how far the replica that answered was behind; null = unknown
 * @property {string} [position] if asked for: for `from` of `subscribe`, which misses nothing that this page does not have
 */

/**
 * @typedef {object} PageOptions
 * @property {number} [limit] maximum number of items; default: 100
 * @property {number | null} [sinceMs] only items of that event time and newer, ms since 1970
 * @property {string | null} [after] the `next` of the page before
 * @property {boolean} [position] whether the page has one, to subscribe from; without a view it takes one more round trip
 */

/**
 * @typedef {object} Count
 * @property {number} count live items
 * @property {boolean} exact false: an estimate, of a layout that can do no better without a view
 * @property {number} asOf time of the answer, ms since 1970, on the clock of this process
 * @property {number | null} lagMs how far the replica that answered was behind; null = unknown
 */

/**
 * @typedef {object} SubscribeOptions
 * @property {string | null} [from] `position` of an earlier change, to resume after it; default: changes from now on
 * @property {AbortSignal} [signal] ends the iteration, without an error
 * @property {number} [pollMs] time between two looks at the server; default: 100
 * @property {boolean} [wait] whether to wait for a feed that does not exist, and to begin with its first item; default: false, which
 *   fails with FEED_UNKNOWN
 * @property {() => void} [onWaiting] called when it waits for such a feed
 */

/**
 * A version that was written, or a deletion. `position`: for `from`, to resume after this change. `encoding`: as of Item.
 * @template [T=Buffer]
 * @typedef {{ id: string, ts: number, value: T, deleted: false, position: string, encoding?: 'bytes' } |
 *   { id: string, ts: number, value: null, deleted: true, position: string, encoding?: undefined }} Change
 */

const NEWEST = 100
const PAGE_OPTIONS = ['limit', 'sinceMs', 'after', 'position']
const SUBSCRIBE_OPTIONS = ['from', 'signal', 'pollMs', 'wait', 'onWaiting']
/** limit of a timer */
const MAX_TIMER_MS = 2 ** 31

/**
 * A feed opened for reading.
 * @template [T=Buffer] type of its values
 */
export class Reading {
  #source

  /** @param {unknown} source of inside.js */
  constructor (source) {
    this.#source = /** @type {import('./inside.js').Source} */ (source)
  }

  /**
   * The newest items, newest first. A page ends early at 16 MiB; `next` then starts the next page.
   * @param {number | PageOptions} [question] the limit, or options; default: the newest 100
   * @returns {Promise<Page<T>>}
   * @throws {import('./errors.js').FreshetError} ARGUMENT_INVALID, CURSOR_INVALID, FEED_UNKNOWN, PIPELINE_CLOSED, REPLICAS_GONE,
   *   SERVER_LOST, SERVER_REFUSED, SERVER_UNREACHABLE, VIEW_BEHIND, VIEW_NEEDED, VIEW_OVER_BOUND
   */
  latest = async (question) => {
    const options = typeof question === 'number' ? { limit: question } : optionsIn(question, PAGE_OPTIONS)
    const { limit = NEWEST, sinceMs = null, after = null, position: isPlaced = false } = options
    if (!Number.isSafeInteger(limit) || limit < 1) throw invalid(`limit ${shown(limit)}; expected an integer of 1 or more`)
    if (sinceMs !== null) checkSince(sinceMs)
    if (after !== null && typeof after !== 'string') throw invalid(`after ${shown(after)}; expected the "next" of an earlier page`)
    if (typeof isPlaced !== 'boolean') throw invalid(`position ${shown(isPlaced)}; expected true or false`)
    const { feed, views } = this.#source
    const place = after === null ? null : decodeCursor(feed, after)
    const { items, next, asOf, lagMs, node, position } = await (await views()).latest(feed, { limit, sinceMs, after: place, isPlaced })
    const page = { items: items.map((item) => this.#item(item, node)), next: next && encodeCursor(feed, next), asOf, lagMs }
    return position ? { ...page, position } : page
  }

  /**
   * The items of that event time and newer, newest first.
   * @param {number} sinceMs ms since 1970
   * @param {Omit<PageOptions, 'sinceMs'>} [rest]
   * @returns {Promise<Page<T>>}
   * @throws {import('./errors.js').FreshetError} as `latest`
   */
  since = async (sinceMs, rest) => {
    checkSince(sinceMs)
    return this.latest({ ...optionsIn(rest, PAGE_OPTIONS), sinceMs })
  }

  /**
   * One live item.
   * @type {<V extends T = T>(id: string | Uint8Array) => Promise<Item<V> | null>}
   * @returns null: no such item is live
   * @throws {import('./errors.js').FreshetError} ARGUMENT_INVALID; otherwise as `latest`
   */
  get = async (id) => {
    const { feed, views } = this.#source
    const bytes = idOf(id)
    const { items: [item], node } = await (await views()).get(feed, [bytes])
    return item && this.#item(item, node)
  }

  /**
   * How many items are live.
   * @returns {Promise<Count>}
   * @throws {import('./errors.js').FreshetError} as `latest`
   */
  count = async () => {
    const { feed, views } = this.#source
    const { count, exact, asOf, lagMs } = await (await views()).count(feed)
    return { count, exact, asOf, lagMs }
  }

  /**
   * Changes as they come, deletions included, in the order of arrival: of `values`, `stream` and `segments` every version once; of `ids`
   * those that have no newer one by then (docs/library.md). It waits while no server can answer.
   * @param {SubscribeOptions} [options]
   * @returns {AsyncGenerator<Change<T>, void, void>} ends when `signal` is aborted, the feed is closed, or the loop over it is left
   * @throws {import('./errors.js').FreshetError} not at once, but in the loop: ARGUMENT_INVALID, POSITION_INVALID,
   *   POSITION_EXPIRED, FEED_UNKNOWN, REPLICAS_GONE, PIPELINE_CLOSED
   */
  subscribe = (options) => {
    const { views, feed, closing, log, isJson } = this.#source
    const signal = isSignal(options?.signal) ? options?.signal : undefined
    const changes = createSubscription(async function * (over) {
      const how = checkedSubscription(options)
      // fails if the feed is closed
      if (closing.aborted) await views()
      for await (const change of subscribe(views, feed, { ...how, signal: over, log })) {
        yield isJson && !change.deleted ? { ...change, ...decoded(change.value) } : change
      }
    }, signal ? [closing, signal] : [closing])
    return /** @type {AsyncGenerator<Change<any>, void, void>} */ (changes)
  }

  /**
   * Copies the value out of a node's reply, so a caller that keeps it does not keep the whole reply. A view has copied it.
   * @param {import('./view/index.js').Item} item @param {unknown} node that answered, if it was not a view @returns {Item<any>}
   */
  #item ({ id, ts, value }, node) {
    if (this.#source.isJson) return { id: id.toString(), ts, ...decoded(value) }
    return { id: id.toString(), ts, value: node ? Buffer.from(value) : value }
  }
}

/** @param {Buffer} bytes @returns {{ value: any, encoding?: 'bytes' }} */
const decoded = (bytes) => parsedJson(bytes) ?? { value: Buffer.from(bytes), encoding: 'bytes' }

/** @param {unknown} signal @returns {signal is AbortSignal} */
const isSignal = (signal) => signal instanceof AbortSignal

/** @param {unknown} sinceMs */
function checkSince (sinceMs) {
  if (typeof sinceMs === 'number' && Number.isInteger(sinceMs) && sinceMs >= 0 && sinceMs <= MAX_TS) return
  throw invalid(`since ${shown(sinceMs)}; expected integer milliseconds since 1970`)
}

/** @param {string | Uint8Array} id @returns {Buffer} a copy */
function idOf (id) {
  try {
    return Buffer.from(checkedId(id))
  } catch (error) {
    throw invalid(error.message)
  }
}

/** @param {unknown} options @returns {SubscribeOptions} */
function checkedSubscription (options) {
  const { from, signal, pollMs, wait, onWaiting } = optionsIn(options, SUBSCRIBE_OPTIONS)
  if (from !== undefined && from !== null && typeof from !== 'string') {
    throw invalid(`from ${shown(from)}; expected the "position" of an earlier change`)
  }
  if (signal !== undefined && !isSignal(signal)) throw invalid(`signal ${shown(signal)}; expected an AbortSignal`)
  if (pollMs !== undefined && !(typeof pollMs === 'number' && pollMs >= 0 && pollMs < MAX_TIMER_MS)) {
    throw invalid(`pollMs ${shown(pollMs)}; expected milliseconds, 0 or more`)
  }
  if (wait !== undefined && typeof wait !== 'boolean') throw invalid(`wait ${shown(wait)}; expected true or false`)
  if (onWaiting !== undefined && typeof onWaiting !== 'function') throw invalid(`onWaiting ${shown(onWaiting)}; expected a function`)
  return { from, pollMs, wait, onWaiting }
}
