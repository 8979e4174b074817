/**
 * The circuit breaker of one source.
 *
 *     closed     calls run. Opens when half of the last WINDOW results, and at least MIN_FAILURES, were failures
 *     open       no calls, for the reset period, or as long as a reply with 429 demands
 *     half-open  one call, the probe; its success closes the breaker, its failure opens it again
 *
 * Results count only in the period in which their call started. After a failure fewer calls may be in flight, so that those which run when
 * the breaker opens are not too many: a source that dies gets at most max(limit, MIN_FAILURES) calls before that.
 *
 * docs/decisions/025-prices-sources.md says why it is not a library.
 */

const WINDOW = 20
export const MIN_FAILURES = 10
/** How long a breaker stays open, unless a reply says otherwise. */
export const RESET_MS = 10_000

/** @typedef {'closed' | 'open' | 'half-open'} BreakerState */
/** The best first; its index is the value of metrics. */
export const BREAKERS = Object.freeze(['closed', 'half-open', 'open'])

/**
 * @param {{ limit: number, resetMs?: number, now?: () => number }} options `limit`: calls in flight; `now`: monotonic, ms
 */
export function createBreaker ({ limit, resetMs = RESET_MS, now = () => performance.now() }) {
  /** @type {boolean[]} whether each was a failure, newest last */
  let results = []
  let failuresInRow = 0
  /** When it may be half-open; null: it is closed. */
  let openUntil = /** @type {number | null} */ (null)
  let isProbing = false
  let period = 0

  /** @param {number} ms */
  function open (ms) {
    openUntil = Math.max(openUntil ?? 0, now() + ms)
    isProbing = false
    period++
  }

  function close () {
    openUntil = null
    isProbing = false
    period++
    results = []
    failuresInRow = 0
  }

  /** @param {boolean} isFailure */
  function add (isFailure) {
    results.push(isFailure)
    if (results.length > WINDOW) results.shift()
    failuresInRow = isFailure ? failuresInRow + 1 : 0
    const failures = results.filter(Boolean).length
    if (failures >= MIN_FAILURES && failures >= results.length / 2) open(resetMs)
  }

  return {
    /** @returns {BreakerState} */
    state: () => openUntil === null ? 'closed' : isProbing || now() >= openUntil ? 'half-open' : 'open',

    /** Whether a call has to be refused, instead of waiting for its turn. */
    isRefusing: () => openUntil !== null && (isProbing || now() < openUntil),

    /** @param {number} inFlight @returns {boolean} whether one more call may start, if it is not refused */
    hasRoom: (inFlight) => openUntil !== null || inFlight < (failuresInRow === 0 ? limit : MIN_FAILURES - failuresInRow),

    /** A call starts. @returns {(isFailure: boolean) => void} to be called when it ended */
    start () {
      const startedIn = period
      const isProbe = openUntil !== null
      if (isProbe) isProbing = true
      return (isFailure) => {
        if (startedIn !== period) return
        if (!isProbe) add(isFailure)
        else if (isFailure) open(resetMs)
        else close()
      }
    },

    /** The source asked for a pause. @param {number} ms */
    pause: open
  }
}
