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
  const ranked = known.map((name) => ({ name, far: distance(wanted, name.toLowerCase()) })).sort((a, b) => a.far - b.far)
  const most = Math.min(reach, ranked.length ? ranked[0].far + 1 : 0)
  const alike = ranked.filter(({ far }) => far <= most)
  const near = alike.length > 0 ? alike : ranked.filter(({ name }) => isPart(wanted, name.toLowerCase()))
  return near.slice(0, MOST).map(({ name }) => name)
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

/** Optimal string alignment: letters added, left out, exchanged, or two in each other's place. @param {string} a @param {string} b @returns {number} */
function distance (a, b) {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], rows[i - 2][j - 2] + 1)
    }
    rows.push(row)
  }
  return rows[a.length][b.length]
}
