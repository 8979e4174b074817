/**
 * Text in the cells of a terminal. Ids and values are anybody's: an escape sequence in one could move the cursor, change the
 * title or worse, so whatever is no visible character is replaced before it gets anywhere near a terminal, also the marks that
 * turn the direction of writing.
 *
 * A character as people see it (a grapheme) takes no cell, one or two. Which, is the font's and the terminal's affair where
 * emoji are joined or marks are stacked; what follows such text on a line is therefore put in its column by number (lines.js).
 */

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' })
const ASCII = /^[\x20-\x7e]*$/
/** a cell each, whatever stands beside them: Latin letters, and what we draw with */
const SINGLE = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u024f\u2010-\u2027\u2190-\u2193\u2400-\u2424\u2580-\u259f]*$/
/** control, format, private and unassigned characters, halves of pairs, line and paragraph separators; the two joiners stay */
const UNPRINTABLE = /(?![\u200c\u200d])[\p{C}\p{Zl}\p{Zp}]/gu
/** East Asian wide and fullwidth (Unicode Annex 11), and what is an emoji without being asked to */
const WIDE = /^[\u1100-\u115f\u2329\u232a\u2630-\u2637\u268a-\u268f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d376}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u
/** an emoji because a selector says so, and flags, which are pairs */
const MADE_WIDE = /\ufe0f|^\p{RI}\p{RI}/u
/** marks piled on one character beyond this are not shown */
const MAX_GRAPHEME_CHARS = 32
/** so much of a text is looked at for each cell */
const CHARS_A_CELL = 16

/** @param {string} text @returns {boolean} whether every terminal agrees about its width */
export const isPlain = (text) => ASCII.test(text)

/** @param {string} text anybody's @returns {string} of visible characters alone; C0 as their pictures, such as U+241B for ESC */
export function visible (text) {
  if (SINGLE.test(text)) return text
  return text.replace(UNPRINTABLE, (one) => {
    const code = /** @type {number} */ (one.codePointAt(0))
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd'
  }).replace(/^\p{M}/u, '\u25cc$&')
}

/** @param {string} grapheme @returns {number} its cells */
const cellsOf = (grapheme) => WIDE.test(grapheme) || MADE_WIDE.test(grapheme) ? 2 : /^[\p{M}\u200c\u200d]/u.test(grapheme) ? 0 : 1

/** @param {string} text visible @returns {number} its cells */
export function widthOf (text) {
  if (SINGLE.test(text)) return text.length
  let cells = 0
  for (const { segment } of GRAPHEMES.segment(text)) cells += cellsOf(segment)
  return cells
}

/** @param {string} text visible @param {number} cells at most @returns {string} its beginning, with an ellipsis when that is not all */
export function cut (text, cells) {
  if (cells <= 0) return ''
  if (SINGLE.test(text)) return text.length <= cells ? text : text.slice(0, cells - 1) + '…'
  let kept = ''
  let used = 0
  /** where an ellipsis still has room */
  let before = ''
  const most = cells * CHARS_A_CELL
  for (const { segment } of GRAPHEMES.segment(text.slice(0, most).toWellFormed())) {
    const one = segment.length > MAX_GRAPHEME_CHARS ? String.fromCodePoint(/** @type {number} */ (segment.codePointAt(0))) : segment
    const wide = cellsOf(one)
    if (used + wide > cells) return before + '…'
    kept += one
    used += wide
    if (used < cells) before = kept
  }
  return text.length > most ? before + '…' : kept
}

/** @param {string} text visible @param {number} cells @param {'left' | 'right'} [side] @returns {string} in exactly so many cells */
export function fit (text, cells, side = 'left') {
  const shown = cut(text, cells)
  const gap = ' '.repeat(Math.max(0, cells - widthOf(shown)))
  return side === 'left' ? shown + gap : gap + shown
}

/**
 * What a value says, as text if it is UTF-8, else as base64.
 * @param {string | Uint8Array} value
 * @param {number} cells about so much is needed
 * @returns {string} not yet visible
 */
export function valueText (value, cells) {
  const most = Math.max(1, cells) * CHARS_A_CELL
  if (typeof value === 'string') return value.slice(0, most)
  const part = value.subarray(0, most)
  try {
    // what is cut may end in the middle of a character
    return new TextDecoder('utf-8', { fatal: true }).decode(part, { stream: part.length < value.length })
  } catch {
    return 'base64 ' + Buffer.from(part.subarray(0, 3 * most / 4)).toString('base64')
  }
}
