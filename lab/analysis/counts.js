/** Sums by name. */

/** @param {Iterable<string | number>} names @returns {Record<string, number>} how often each is there */
export function countEach (names) {
  /** @type {Record<string, number>} */
  const counts = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/** @param {Record<string, number>[]} those @returns {Record<string, number>} */
export function sumByName (those) {
  /** @type {Record<string, number>} */
  const sums = {}
  for (const one of those) for (const [name, n] of Object.entries(one)) sums[name] = (sums[name] ?? 0) + n
  return sums
}
