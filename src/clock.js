/**
 * Wall clock in ms with fractions. It runs on the monotonic clock, for pacing, and is set again when the machine slept or its
 * time changed by more than `JUMP_MS`.
 */

const JUMP_MS = 1000

/** @returns {() => number} */
export function createClock ({ wall = Date.now, monotonic = () => performance.now() } = {}) {
  let origin = wall() - monotonic()
  return () => {
    const now = origin + monotonic()
    if (Math.abs(wall() - now) < JUMP_MS) return now
    origin = wall() - monotonic()
    return origin + monotonic()
  }
}
