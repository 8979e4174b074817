/** Tables and text of Markdown. */

/** @param {string} text @returns {string} escaped for one cell */
const cell = (text) => text.replaceAll('|', '\\|').replace(/\s*\n\s*/g, '<br>')

/**
 * @param {string[]} heads those that begin with `>` are right-aligned
 * @param {string[][]} rows
 * @returns {string} with an empty line after it; empty without rows
 */
export function table (heads, rows) {
  if (rows.length === 0) return ''
  const line = (/** @type {string[]} */ cells) => `| ${cells.map(cell).join(' | ')} |\n`
  return line(heads.map((head) => head.replace(/^>/, ''))) + line(heads.map((head) => head.startsWith('>') ? '--:' : '---')) +
    rows.map(line).join('') + '\n'
}

/** @param {string[]} items @returns {string} with an empty line after it; empty without items */
export const list = (items) => items.length ? items.map((item) => `- ${item}\n`).join('') + '\n' : ''

/** @param {string} title @param {string} body @returns {string} empty without a body */
export const section = (title, body) => body === '' ? '' : `## ${title}\n\n${body}`

/** @param {string} name @returns {string} as it is written in plans */
export const code = (name) => '`' + name.replaceAll('`', "'") + '`'
