/** A wall clock with fractions of a millisecond. */

const LOOK_MS = 10
/** these take some milliseconds; on a busy machine the time above may pass between two looks */
const LOOKS = 10_000

/** Start of `performance.now()`, ms since 1970; Date.now() is behind this clock by less than 1 ms. */
export function wallOrigin () {
  const untilMs = performance.now() + LOOK_MS
  let origin = -Infinity
  for (let n = 0; n < LOOKS || performance.now() < untilMs; n++) origin = Math.max(origin, Date.now() - performance.now())
  return origin
}
