/**
 * Wall clock in ms with fractions: it runs evenly, so that a pace can be kept by it, and is set anew when the machine
 * slept or its time was changed by more than `JUMP_MS`.
 */

const JUMP_MS = 1000

/** @returns {() => number} */
export function createClock ({ wall = Date.now, even = () => performance.now() } = {}) {
  let origin = wall() - even()
  return () => {
    const now = origin + even()
    if (Math.abs(wall() - now) < JUMP_MS) return now
    origin = wall() - even()
    return origin + even()
  }
}
