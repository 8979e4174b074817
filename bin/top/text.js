/**
 * Visible text (src/runtime/visible.js) in the cells of a terminal.
 *
 * A grapheme takes no cell, one or two (string-width). Terminals disagree about joined emoji and stacked marks; lines.js therefore
 * moves the cursor to the column of the text that follows such text.
 */
import stringWidth from 'string-width'

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' })
const ASCII = /^[\x20-\x7e]*$/
/** of a grapheme with more characters only the first is shown */
const MAX_GRAPHEME_CHARS = 32
/** limits the part of a long text that is examined */
const CHARS_PER_CELL = 16

/** @param {string} text @returns {boolean} whether all terminals agree about its width */
export const isPlain = (text) => ASCII.test(text)

/** @param {string} text visible @returns {number} its cells */
export const widthOf = (text) => stringWidth(text)

/** @param {string} text visible @param {number} cells at most @returns {string} its beginning, with an ellipsis if it was cut */
export function cut (text, cells) {
  if (cells <= 0) return ''
  if (ASCII.test(text)) return text.length <= cells ? text : text.slice(0, cells - 1) + '…'
  let kept = ''
  let used = 0
  /** the part that leaves room for an ellipsis */
  let before = ''
  const most = cells * CHARS_PER_CELL
  for (const { segment } of GRAPHEMES.segment(text.slice(0, most).toWellFormed())) {
    const one = segment.length > MAX_GRAPHEME_CHARS ? String.fromCodePoint(/** @type {number} */ (segment.codePointAt(0))) : segment
    const wide = widthOf(one)
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
 * @param {string | Uint8Array} value
 * @param {number} cells that will be shown
 * @returns {string} the beginning of the value as text, or as base64 if it is not UTF-8; not yet visible
 */
export function valueText (value, cells) {
  const most = Math.max(1, cells) * CHARS_PER_CELL
  if (typeof value === 'string') return value.slice(0, most)
  const part = value.subarray(0, most)
  try {
    // the part may end in the middle of a character
    return new TextDecoder('utf-8', { fatal: true }).decode(part, { stream: part.length < value.length })
  } catch {
    return 'base64 ' + Buffer.from(part.subarray(0, 3 * most / 4)).toString('base64')
  }
}
