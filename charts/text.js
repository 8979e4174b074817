/**
 * The width of text without a screen: the widths of Arial, which Helvetica and Liberation Sans share, and room for DejaVu Sans, which
 * a Debian without them has. So lines wrap and columns align in the same way on every machine, and nothing is cut off, whatever fonts
 * it has; Vega alone would assume 0.8 of the size for every character.
 */

/** thousandths of the size, for characters from U+0020 on; from the metrics published for Helvetica */
const ASCII = [
  278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, // space to /
  556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, // 0 to ?
  1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // @ to O
  667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // P to _
  333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // ` to o
  556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584 // p to ~
]
/** Latin letters beyond ASCII, digits above the line, signs */
const OTHER = 600
/** from U+1100 on characters are as wide as high */
const WIDE = 1000
const WIDE_FROM = 0x1100
/** punctuation such as dashes is beyond WIDE_FROM but narrow */
const PUNCTUATION = { from: 0x2000, to: 0x2bff }
const BOLD = 1.08
/** of the widest font, beside Arial */
const ROOM = 1.17

export const FONT = 'Arial, Helvetica, "Liberation Sans", sans-serif'

/** @typedef {{ size: number, bold?: boolean }} Style */

/** @param {string} text @param {Style} style @returns {number} pixels */
export function widthOf (text, { size, bold = false }) {
  let thousandths = 0
  for (const character of text) thousandths += widthOfCharacter(/** @type {number} */ (character.codePointAt(0)))
  return thousandths / 1000 * size * (bold ? BOLD : 1) * ROOM
}

/** @param {number} code */
function widthOfCharacter (code) {
  if (code - 32 < ASCII.length) return ASCII[code - 32] ?? OTHER
  return code >= WIDE_FROM && (code < PUNCTUATION.from || code > PUNCTUATION.to) ? WIDE : OTHER
}

/**
 * @param {string} text
 * @param {number} width of a line, pixels; a wider word is broken
 * @param {Style} style
 * @returns {string[]} at least one line
 */
export function wrap (text, width, style) {
  const lines = ['']
  for (const word of text.split(/\s+/).flatMap((word) => breakWord(word, width, style))) {
    const last = lines[lines.length - 1]
    const longer = last === '' ? word : `${last} ${word}`
    if (widthOf(longer, style) <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

/**
 * @param {string} word
 * @param {number} width
 * @param {Style} style
 * @returns {string[]} the word, broken if it is too wide, after a hyphen or the like if possible
 */
function breakWord (word, width, style) {
  const pieces = ['']
  for (const character of word) {
    const last = pieces[pieces.length - 1]
    if (last === '' || widthOf(last + character, style) <= width) {
      pieces[pieces.length - 1] = last + character
      continue
    }
    const after = /^.*[-_/.,:;](?=.)/u.exec(last)?.[0] ?? last
    pieces.splice(-1, 1, after, last.slice(after.length) + character)
  }
  return pieces
}
