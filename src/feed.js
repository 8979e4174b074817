/**
 * A feed opened for writing and reading, as callers of the library see it.
 */
import { invalid, shown } from './arguments.js'
import { Reading } from './reading.js'

/**
 * What a feed of such values takes: text or bytes; with `encoding: 'json'` the values themselves.
 * @template T
 * @typedef {T extends Buffer ? string | ArrayBufferView | ArrayBuffer : T} Written
 */

/**
 * An item to append.
 * @template [T=Buffer]
 * @typedef {object} NewItem
 * @property {string | Uint8Array} id text, or its bytes in UTF-8; 1-128 bytes without control characters
 * @property {number} [ts] event time, integer ms since 1970; default: now
 * @property {Written<T>} value at most 1 MiB; text is stored as UTF-8
 */

/**
 * An item to delete.
 * @typedef {object} Deletion
 * @property {string | Uint8Array} id
 * @property {number} [ts] event time of the deletion; it is then newer than every version of that time. Default: now, in the order
 *   of appends
 */

/**
 * What became of the items. When nothing is in flight: offered = items + refused + dropped + failed.
 * @typedef {object} Account
 * @property {number} offered appended, or refused
 * @property {number} items acknowledged
 * @property {number} dropped at the bound on bytes in flight, with `whenFull: 'drop'`
 * @property {number} failed not acknowledged when the feed was closed
 * @property {number} retried items that were sent again
 * @property {number} batches acknowledged
 * @property {number} bytes of acknowledged values
 * @property {number} full batches that a full server did not accept
 * @property {number} unconfirmed groups of batches that no replica confirmed in time
 * @property {number} blocked connections that ended with the same batch as the two before
 * @property {Readonly<Record<string, number>>} refused items by reason
 */

/** @typedef {{ deadlineMs?: number }} Wait default: 10,000; Infinity = no deadline */

/** @typedef {{ ready: boolean, reasons: string[] }} Status whether items are being acknowledged, and if not, why */

/**
 * A feed opened for writing and reading.
 * @template [T=Buffer] type of its values
 * @extends {Reading<T>}
 */
export class Feed extends Reading {
  #inside

  /** @param {unknown} inside of inside.js */
  constructor (inside) {
    const opened = /** @type {import('./inside.js').WritableFeed} */ (inside)
    super(opened.source)
    this.#inside = opened
  }

  /** Name of the feed. @returns {string} */
  get name () { return this.#inside.name }

  /** As stored on the servers, or as the first accepted item will store it. @returns {Readonly<import('./options.js').Definition>} */
  get definition () { return /** @type {import('./options.js').Definition} */ (this.#inside.definition) }

  /** Counters of all items, which go on counting. @returns {Readonly<Account>} */
  get account () { return this.#inside.account }

  /**
   * Appends an item. Id and value are copied. The item is sent in a batch: at once after a pause, else within `batchMs`.
   *
   * What cannot be appended throws, and nothing of it is appended. Items that are too old or too far ahead of the clock do not
   * throw: they are counted in `account.refused` and reported to `onRefused`. So are, with `whenFull: 'refuse'`, items at the
   * bound on bytes in flight; with `whenFull: 'drop'` they are counted in `account.dropped`.
   * @param {NewItem<T>} item
   * @returns {boolean} whether there is room for more; false = back-pressure: `await ready()` before the next append
   * @throws {import('./errors.js').FreshetError} ITEM_ID_INVALID, ITEM_TS_INVALID, ITEM_VALUE_INVALID, ITEM_VALUE_TOO_LARGE,
   *   ARGUMENT_INVALID (no object); PIPELINE_FULL if false was ignored; PIPELINE_CLOSED; or the permanent refusal of a server
   */
  append = (item) => {
    if (typeof item !== 'object' || item === null) throw noItem(item)
    return this.#inside.put(item.id, item.ts, item.value)
  }

  /**
   * Deletes an item. A deletion is a version that hides its id until a newer version arrives or it leaves the window.
   * @param {Deletion} item
   * @returns {boolean} as `append`
   * @throws {import('./errors.js').FreshetError} as `append`
   */
  delete = (item) => {
    if (typeof item !== 'object' || item === null) throw noItem(item)
    return this.#inside.delete(item)
  }

  /**
   * Waits until there is room for more.
   * @param {Wait} [within]
   * @returns {Promise<void>}
   * @throws {import('./errors.js').FreshetError} DEADLINE_PASSED, ARGUMENT_INVALID, PIPELINE_CLOSED, or the permanent refusal of a
   *   server
   */
  ready = (within) => this.#inside.ready(within)

  /**
   * Waits until everything appended so far is acknowledged, without sending it sooner.
   * @param {Wait} [within]
   * @returns {Promise<void>}
   * @throws {import('./errors.js').FreshetError} as `ready`; appended items are kept and still sent
   */
  acknowledged = (within) => this.#inside.acknowledged(within)

  /**
   * Sends what was appended, and waits until it is acknowledged.
   * @param {Wait} [within]
   * @returns {Promise<void>}
   * @throws {import('./errors.js').FreshetError} as `ready`; appended items are kept and still sent
   */
  flush = (within) => this.#inside.flush(within)

  /**
   * Whether items are being acknowledged.
   * @returns {Status}
   */
  status = () => this.#inside.status()

  /**
   * Ends subscriptions, flushes, and closes all connections. A second call has the same outcome.
   * @param {{ drainMs?: number }} [drain] maximum time to flush; default: the option `drainMs`
   * @returns {Promise<void>}
   * @throws {import('./errors.js').FreshetError} after everything is closed: DEADLINE_PASSED, or the permanent refusal of a server,
   *   each with `failed`: the number of items that were not acknowledged. ARGUMENT_INVALID: nothing is closed
   */
  close = (drain) => this.#inside.close(drain)
}

/** @param {unknown} item */
const noItem = (item) => invalid(`${shown(item)} is not an item; expected an object with id and, to append, value`)
