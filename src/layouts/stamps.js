/**
 * When something was appended: microseconds since 1970, of which no two appends of a process share one, and none goes back
 * with the clock.
 */
let last = 0

/** @param {() => number} clock ms since 1970 @returns {number} */
export function nextStamp (clock) {
  last = Math.max(last + 1, Math.floor(clock() * 1000))
  return last
}
