/**
 * The terminal as a screen: alternate buffer, hidden cursor, no line wrapping, raw keys. The terminal is restored whenever the
 * process ends, except by SIGKILL.
 */
import { writeSync } from 'node:fs'
import { emitKeypressEvents } from 'node:readline'
import { cursorHide, cursorShow, cursorTo, enterAlternativeScreen, eraseLine, eraseScreen, exitAlternativeScreen } from 'ansi-escapes'

/** DEC private mode 7, which ansi-escapes does not have */
const WRAP_OFF = '\x1b[?7l'
const WRAP_ON = '\x1b[?7h'
const RESET_STYLE = '\x1b[0m'
/** an ESC that nothing follows for so long is the Escape key */
const ESCAPE_MS = 50
/** for terminals that do not report a size */
const DEFAULT_SIZE = { columns: 80, rows: 24 }

/** @typedef {{ name?: string, ctrl?: boolean, shift?: boolean, sequence: string }} Key */

/**
 * @param {object} options
 * @param {NodeJS.ReadStream} options.input
 * @param {NodeJS.WriteStream} options.output
 * @param {(key: Key) => void} options.onKey
 * @param {() => void} options.onResize
 * @param {() => void} options.onGone the terminal was closed
 */
export function openTerminal ({ input, output, onKey, onResize, onGone }) {
  /** lines on the screen @type {string[]} */
  let shown = []
  let isOpen = true

  function enter () {
    if (input.isTTY) input.setRawMode(true)
    shown = []
    output.write(enterAlternativeScreen + cursorHide + WRAP_OFF + eraseScreen)
  }

  /** Synchronous, because it also runs while the process exits. */
  function leave () {
    if (!isOpen) return
    isOpen = false
    try {
      writeSync(/** @type {any} */ (output).fd, RESET_STYLE + WRAP_ON + cursorShow + exitAlternativeScreen)
      if (input.isTTY) input.setRawMode(false)
    } catch {} // the terminal is gone
  }

  const keyPressed = (/** @type {string | undefined} */ _text, /** @type {Key} */ key) => onKey(key)
  const resized = () => {
    shown = []
    output.write(eraseScreen)
    onResize()
  }
  // after SIGSTOP the shell has changed the mode of the terminal
  const continued = () => {
    enter()
    onResize()
  }

  // an uncaught error is printed after the screen is left
  process.on('uncaughtExceptionMonitor', leave).on('exit', leave).on('SIGCONT', continued)
  output.on('resize', resized)
  if (input.isTTY) {
    emitKeypressEvents(input, /** @type {any} */ ({ escapeCodeTimeout: ESCAPE_MS }))
    input.on('keypress', keyPressed).on('error', onGone).on('end', onGone).resume()
  }
  enter()

  return {
    /** @returns {{ columns: number, rows: number }} */
    size: () => ({ columns: output.columns || DEFAULT_SIZE.columns, rows: output.rows || DEFAULT_SIZE.rows }),

    /** Writes the lines that have changed. @param {string[]} lines not wider than the terminal */
    show (lines) {
      if (!isOpen || output.writableNeedDrain) return
      let text = ''
      for (let y = 0; y < Math.max(lines.length, shown.length); y++) {
        if (lines[y] !== shown[y]) text += cursorTo(0, y) + eraseLine + (lines[y] ?? '')
      }
      shown = lines
      if (text !== '') output.write(text)
    },

    close () {
      process.off('uncaughtExceptionMonitor', leave).off('exit', leave).off('SIGCONT', continued)
      output.off('resize', resized)
      input.off('keypress', keyPressed).off('error', onGone).off('end', onGone).pause()
      leave()
    }
  }
}
