/**
 * What a person may have meant: the known names that are like a name that is not known.
 */

const MOST = 3

/**
 * @param {string} text
 * @param {readonly string[]} known
 * @returns {string[]} at most three, the most alike first
 */
export function nearest (text, known) {
  const wanted = text.toLowerCase()
  const reach = Math.max(1, Math.floor(wanted.length / 3))
  return known
    .map((name) => ({ name, far: distance(wanted, name.toLowerCase()), isPart: isPart(wanted, name.toLowerCase()) }))
    .filter(({ far, isPart }) => far <= reach || isPart)
    .sort((a, b) => a.far - b.far)
    .slice(0, MOST)
    .map(({ name }) => name)
}

/**
 * @param {string} text @param {readonly string[]} known
 * @returns {string} the end of a message about a name that is not known
 */
export function meant (text, known) {
  const near = nearest(text, known)
  if (near.length > 0) return `did you mean ${near.join(' or ')}?`
  return known.length > 0 ? `expected one of: ${known.join(', ')}` : 'there are none'
}

/** @param {string} a @param {string} b @returns {boolean} one is in the other, and long enough to mean something */
const isPart = (a, b) => (a.length > 2 && b.includes(a)) || (b.length > 2 && a.includes(b))

/** Levenshtein distance, one row at a time. @param {string} a @param {string} b @returns {number} */
function distance (a, b) {
  let above = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1))
    }
    above = row
  }
  return above[b.length]
}
