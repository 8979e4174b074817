/** A wall clock with fractions of a millisecond. */

const LOOK_MS = 10

/** Start of `performance.now()`, ms since 1970; Date.now() is behind this clock by less than 1 ms. */
export function wallOrigin () {
  const untilMs = performance.now() + LOOK_MS
  let origin = -Infinity
  while (performance.now() < untilMs) origin = Math.max(origin, Date.now() - performance.now())
  return origin
}
