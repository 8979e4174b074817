/**
 * Lines of a screen, made of spans: text with or without a style. All text is made visible and cut here.
 *
 * @typedef {keyof typeof STYLES} Style
 * @typedef {string | [style: Style | null, text: string]} Span
 * @typedef {{ color: boolean, jumps: boolean }} Means what the terminal can do; `jumps`: the cursor can be moved to a column, which
 *   is done after text whose width terminals disagree about
 */
import { cursorTo } from 'ansi-escapes'
import { visible } from '../../src/runtime/index.js'
import { cut, isPlain, widthOf } from './text.js'

/** Select Graphic Rendition (ECMA-48 8.3.117) */
const STYLES = Object.freeze({ bold: 1, dim: 2, inverse: 7, red: 31, green: 32, yellow: 33, cyan: 36 })

const MAX_LINES = 3

/**
 * @param {Span[]} spans
 * @param {number} columns at most
 * @param {Means} means
 * @returns {string}
 */
export function lineOf (spans, columns, { color, jumps }) {
  let line = ''
  let used = 0
  let isSure = true
  for (const span of spans) {
    const [style, text] = typeof span === 'string' ? [null, span] : span
    const shown = cut(visible(text), columns - used)
    if (shown === '') continue
    if (jumps && !isSure) line += cursorTo(used)
    isSure = isPlain(shown)
    line += color && style ? `\x1b[${STYLES[style]}m${shown}\x1b[0m` : shown
    used += widthOf(shown)
  }
  return jumps || color ? line : line.trimEnd()
}

/**
 * Groups of spans on as few lines as possible; a group is never broken.
 * @param {Span[][]} groups @param {number} columns @param {string} between
 * @returns {Span[][]}
 */
export function flow (groups, columns, between) {
  /** @type {Span[][]} */
  const lines = []
  let used = Infinity
  for (const group of groups) {
    const cells = group.reduce((sum, span) => sum + widthOf(typeof span === 'string' ? span : span[1]), 0)
    if (used + between.length + cells > columns) {
      lines.push([...group])
      used = cells
    } else {
      /** @type {Span[]} */ (lines.at(-1)).push(between, ...group)
      used += between.length + cells
    }
  }
  return lines
}

/** @param {string} text a sentence @param {number} columns @returns {string[]} at most three lines, broken between words */
export function wrapped (text, columns) {
  const lines = ['']
  for (const word of visible(text).split(' ')) {
    const line = lines[lines.length - 1]
    const longer = line === '' ? word : `${line} ${word}`
    if (line === '' || widthOf(longer) <= columns || lines.length === MAX_LINES) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}
