/** The message about a name that does not exist: similar names, or else where the names are listed. */

const MAX_SUGGESTED = 3
/** shorter words are part of too many names */
const MIN_PART_CHARS = 3

/**
 * @param {string} name as it was given
 * @param {readonly string[]} known names that exist, written as `name` is
 * @param {string} otherwise the end of the message if no name is similar, such as: --help lists the flags
 * @param {string} [where] it was given
 * @returns {string}
 */
export const unknownName = (name, known, otherwise, where = '') => `${name}${where} is unknown; ${didYouMean(name, known) ?? otherwise}`

/** @param {string} name @param {readonly string[]} known @returns {string | null} null = no name is similar */
export function didYouMean (name, known) {
  const names = nearest(name, known)
  if (names.length === 0) return null
  return `did you mean ${names.length === 1 ? names[0] : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`}?`
}

/** The part that tells names apart. @param {string} name */
const plain = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, '').replace(/^freshet/, '')

/** @param {string} name @param {readonly string[]} known @returns {string[]} at most three, those with the fewest edits */
function nearest (name, known) {
  const wanted = plain(name)
  const rated = known.map((one) => ({ one, bare: plain(one), edits: editsBetween(wanted, plain(one)) }))
  const near = rated.filter(({ bare, edits }) => edits <= Math.floor(Math.min(wanted.length, bare.length) / 3))
  const least = Math.min(...near.map(({ edits }) => edits))
  const isPart = (/** @type {string} */ part, /** @type {string} */ whole) => part.length >= MIN_PART_CHARS && whole.includes(part)
  const chosen = near.length > 0
    ? near.filter(({ edits }) => edits === least)
    : rated.filter(({ bare }) => isPart(wanted, bare) || isPart(bare, wanted))
  return chosen.slice(0, MAX_SUGGESTED).map(({ one }) => one)
}

/** Insertions, deletions, replacements, and swaps of neighbours. @param {string} a @param {string} b @returns {number} */
function editsBetween (a, b) {
  /** by number of characters of a, then of b @type {number[][]} */
  const edits = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    edits.push([i])
    for (let j = 1; j <= b.length; j++) {
      const replaced = edits[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      edits[i][j] = Math.min(edits[i - 1][j] + 1, edits[i][j - 1] + 1, replaced, isSwap ? edits[i - 2][j - 2] + 1 : Infinity)
    }
  }
  return edits[a.length][b.length]
}

/** @param {string[]} words */
export const unexpectedWords = (words) => words.map((word) => `unexpected argument "${word}"; a value follows its flag`)
