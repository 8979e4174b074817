/**
 * Text from outside (ids, values, names, replies of servers) on a terminal. An escape sequence could move the cursor or change the
 * title, and marks of the writing direction could make a line read as another; visible characters replace them.
 */

const ASCII = /^[\x20-\x7e]*$/
/** control, format, private and unassigned characters, lone surrogates, line and paragraph separators; the two joiners stay */
const UNPRINTABLE = /(?![\u200c\u200d])[\p{C}\p{Zl}\p{Zp}]/gu

/** @param {string} text of one line @returns {string} visible characters only; C0 as control pictures, such as U+241B for ESC */
export function visible (text) {
  if (ASCII.test(text)) return text
  return text.replace(UNPRINTABLE, (one) => {
    const code = /** @type {number} */ (one.codePointAt(0))
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd'
  }).replace(/^\p{M}/u, '\u25cc$&')
}

/** @param {string} text of any number of lines @returns {string} */
export const visibleLines = (text) => text.split('\n').map(visible).join('\n')

/** @param {unknown} value @returns {string} JSON of the same value on one line, with escapes for what `visible` replaces */
export const visibleJson = (value) => JSON.stringify(value).replace(UNPRINTABLE, (one) =>
  one.split('').map((unit) => '\\u' + unit.charCodeAt(0).toString(16).padStart(4, '0')).join(''))
