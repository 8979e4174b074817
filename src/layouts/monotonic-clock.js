/**
 * Timestamps of appends: microseconds since 1970, unique within the process and strictly increasing, even if the clock is
 * set back.
 */
let last = 0

/** @param {() => number} clock ms since 1970 @returns {number} */
export function nextStamp (clock) {
  last = Math.max(last + 1, Math.floor(clock() * 1000))
  return last
}
