/**
 * What one viewer of a feed has and lacks: a stream (stream.js), or a part of a stream of several feeds (part.js).
 *
 * Classes, because a turn looks at thousands of them: objects of literals with getters and functions of their own have a shape each, and
 * every look at a field is then a search.
 *
 * @typedef {import('./stream.js').Stream | import('./part.js').Part} Viewer
 */

/** Deliveries that are due within this time are made now, since the caller runs in ticks. */
const EARLY_MS = 3
/** There may be thousands of streams. @type {Set<string>} */
const NONE = new Set()
/** @type {readonly string[]} */
const NO_IDS = Object.freeze([])

/**
 * @typedef {{ name: 'items' | 'snapshot', ids: readonly string[], at: number, isCut?: boolean }} List ids to send, from index `at` on;
 *   `name`: of the next event; `isCut`: the scan for it ended at its bound
 */

/** The state that encoders read and change. */
export class ViewerState {
  /** Changed ids of `ids` and `beginnings` that were not sent yet; of a stream of all ids it stays empty. @type {Set<string>} */
  changed
  /** Of a stream of all ids the changes up to here were sent, or are in `list`. */
  seq = 0
  /** What is sent before further changes: a snapshot, or changes. @type {List | null} */
  list = null
  /** What was sent of the last list of a stream of all ids. @type {import('./sent-parts.js').Sent | null} */
  sent = null
  needsSnapshot = false
  /** Whether its first snapshot has no items, so that the changes since the head of the response follow it. */
  isFromHead = false
  /** Whether it waited for its feed: its first snapshot has all items. */
  isFirst = false
  /** The reason in the reset event before the snapshot. @type {string | null} */
  resetReason = null
  /** Everything up to here was sent, null = unknown. @type {import('./sealed-positions.js').Sealing | null} */
  reached = null
  /** The first member of the data of its events, as JSON; such events have no position. @type {string | undefined} */
  label
  /** Whether the changes since its position, or the items of its snapshot, are being looked up. */
  isResuming = false
  #periodMs
  /** When changes were last delivered. */
  #deliveredMs = -Infinity

  /**
   * @param {Pick<import('./index.js').Wanted, 'ids' | 'beginnings' | 'limit' | 'encoding' | 'periodMs' | 'seal' | 'start'>} wanted
   *   `periodMs`: minimum between deliveries of changes
   */
  constructor ({ ids, beginnings = NO_IDS, limit, encoding, periodMs, seal = null, start = null }) {
    this.changed = ids === null ? NONE : new Set()
    this.ids = ids
    this.beginnings = beginnings
    this.limit = limit
    this.encoding = encoding
    this.#periodMs = periodMs
    /** Of a client that may see some ids only; null: its positions are plain. */
    this.seal = seal
    /** Where it begins in place of a snapshot. */
    this.start = start
  }

  /** @param {number} nowMs */
  isDue (nowMs) { return nowMs - this.#deliveredMs >= this.#periodMs - EARLY_MS }

  /** Changes are delivered now. @param {number} nowMs */
  delivered (nowMs) {
    // early deliveries do not add up
    this.#deliveredMs = Math.max(nowMs - EARLY_MS, Math.min(nowMs, this.#deliveredMs + this.#periodMs))
  }
}
