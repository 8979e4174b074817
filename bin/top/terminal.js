/**
 * A terminal as a screen: the alternate buffer, no cursor, no wrapping, keys as they are pressed. However the process ends, but by
 * SIGKILL, the terminal is as it was before.
 */
import { writeSync } from 'node:fs'
import { emitKeypressEvents } from 'node:readline'

const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J'
const LEAVE = '\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l'
/** what follows ESC later than this is not of its sequence */
const ESCAPE_MS = 50
/** of terminals that do not say */
const USUAL = { columns: 80, rows: 24 }

/** @typedef {{ name?: string, ctrl?: boolean, shift?: boolean, sequence: string }} Key */

/**
 * @param {{ input: NodeJS.ReadStream, output: NodeJS.WriteStream, onKey: (key: Key) => void, onResize: () => void, onGone: () => void }} options
 *   `onGone`: nobody is there any more
 */
export function openTerminal ({ input, output, onKey, onResize, onGone }) {
  /** as they stand there @type {string[]} */
  let shown = []
  let isOpen = true

  function enter () {
    if (input.isTTY) input.setRawMode(true)
    shown = []
    output.write(ENTER)
  }

  /** Also while the process ends, when nothing is waited for any more. */
  function leave () {
    if (!isOpen) return
    isOpen = false
    try {
      writeSync(/** @type {any} */ (output).fd, LEAVE)
      if (input.isTTY) input.setRawMode(false)
    } catch {} // the terminal is gone
  }

  const keyPressed = (/** @type {string | undefined} */ _text, /** @type {Key} */ key) => onKey(key)
  const resized = () => {
    shown = []
    output.write('\x1b[2J')
    onResize()
  }
  // after a stop the shell has set the terminal its own way
  const goneOn = () => {
    enter()
    onResize()
  }

  // what an error says belongs behind the screen
  process.on('uncaughtExceptionMonitor', leave).on('exit', leave).on('SIGCONT', goneOn)
  output.on('resize', resized)
  if (input.isTTY) {
    emitKeypressEvents(input, /** @type {any} */ ({ escapeCodeTimeout: ESCAPE_MS }))
    input.on('keypress', keyPressed).on('error', onGone).on('end', onGone).resume()
  }
  enter()

  return {
    /** @returns {{ columns: number, rows: number }} */
    size: () => ({ columns: output.columns || USUAL.columns, rows: output.rows || USUAL.rows }),

    /** Writes the lines that have changed. @param {string[]} lines not wider than the terminal */
    show (lines) {
      if (!isOpen || output.writableNeedDrain) return
      let text = ''
      for (let y = 0; y < Math.max(lines.length, shown.length); y++) {
        if (lines[y] !== shown[y]) text += `\x1b[${y + 1};1H\x1b[2K${lines[y] ?? ''}`
      }
      shown = lines
      if (text !== '') output.write(text)
    },

    close () {
      process.off('uncaughtExceptionMonitor', leave).off('exit', leave).off('SIGCONT', goneOn)
      output.off('resize', resized)
      input.off('keypress', keyPressed).off('error', onGone).off('end', onGone).pause()
      leave()
    }
  }
}
