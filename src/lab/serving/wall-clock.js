/** A clock of fractions of a millisecond that agrees with the one by which items are timed. */

const LOOK_MS = 10

/** What `performance.now()` of this process is counted from, ms since 1970: Date.now() lies behind it by less than 1 ms. */
export function wallOrigin () {
  const untilMs = performance.now() + LOOK_MS
  let origin = -Infinity
  while (performance.now() < untilMs) origin = Math.max(origin, Date.now() - performance.now())
  return origin
}
