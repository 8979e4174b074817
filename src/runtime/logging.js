/**
 * Logs go to standard error: JSON lines, or readable lines on a terminal. Writes are synchronous, so that the last line before
 * an exit is not lost; no per-item code logs.
 */
import { createRequire } from 'node:module'
import { cutText } from '../errors.js'

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
  return text.replace(UNPRINTABLE, (character) => {
    const code = /** @type {number} */ (character.codePointAt(0))
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd'
  }).replace(/^\p{M}/u, '\u25cc$&')
}

/** @param {string} text of any number of lines @returns {string} */
export const visibleLines = (text) => text.split('\n').map(visible).join('\n')

/** @param {unknown} value @returns {string} JSON of the same value on one line, with escapes for what `visible` replaces */
export const visibleJson = (value) => JSON.stringify(value).replace(UNPRINTABLE, (character) =>
  character.split('').map((unit) => '\\u' + unit.charCodeAt(0).toString(16).padStart(4, '0')).join(''))

const require = createRequire(import.meta.url)
/** Loaded with the first log, because users of the library bring their own. @returns {typeof import('pino')} */
const loadPino = () => require('pino')
/** @returns {typeof import('pino-pretty')} */
const loadPretty = () => require('pino-pretty')

/**
 * @param {{ level: string, role: string, terminal?: boolean }} options
 * @returns {import('pino').Logger}
 */
export function createLog ({ level, role, terminal = process.stderr.isTTY }) {
  const { pino } = loadPino()
  const stream = terminal
    ? loadPretty()({
      destination: 2,
      sync: true,
      singleLine: true,
      ignore: 'pid,hostname,role',
      translateTime: 'SYS:HH:MM:ss',
      messageFormat: `${role}: {msg}`
    })
    : pino.destination({ fd: 2, sync: true })
  return pino({ level, base: { pid: process.pid, role }, hooks: { streamWrite: terminal ? visibleLog : shortLog } }, stream)
}

/** A line has texts of at most 4 KiB, whatever server or handler they are from. @param {string} line of JSON @returns {string} */
const shortLog = (line) => cutText(line) === line ? line : rewritten(line, cutText)

/** Messages of servers, with visible characters only. @param {string} line of JSON @returns {string} */
const visibleLog = (line) => rewritten(line, (text) => visibleLines(cutText(text)))

/** @param {string} line of JSON @param {(text: string) => string} change */
const rewritten = (line, change) => JSON.stringify(JSON.parse(line, (_, value) => typeof value === 'string' ? change(value) : value)) + '\n'
