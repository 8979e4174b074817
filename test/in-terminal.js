/**
 * Commands in a pseudo terminal, which `script` of util-linux provides.
 */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { eventually } from './servers.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const quoted = (/** @type {string} */ word) => `'${word.replaceAll("'", "'\\''")}'`

/** false, or why tests with a terminal are skipped */
export const noTerminal = (() => {
  try {
    return /util-linux/.test(execFileSync('script', ['--version'], { encoding: 'utf8' }))
      ? false
      : 'the script command is not from util-linux'
  } catch {
    return 'no script command (Debian: bsdutils)'
  }
})()

/**
 * @param {import('tap').Test} t
 * @param {string[]} args of node
 * @param {{ columns?: number, rows?: number, env?: Record<string, string> }} [options]
 */
export function inTerminal (t, args, { columns = 100, rows = 30, env = {} } = {}) {
  const command = [process.execPath, ...args].map(quoted).join(' ')
  const lines = `tty; stty rows ${rows} cols ${columns}; sh -c ${quoted(`echo pid $$; exec ${command}`)}; echo status $?; stty -a`
  const { PATH = '', HOME = '' } = process.env
  const child = spawn('script', ['-qec', lines, '/dev/null'], {
    cwd: ROOT,
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH, HOME, SHELL: '/bin/sh', TERM: 'xterm-256color', TZ: 'UTC', ...env }
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => { output += chunk })
  child.stdin.on('error', () => {})
  const ended = new Promise((resolve) => child.once('close', resolve))
  const pid = () => Number(/pid (\d+)/.exec(output)?.[1])
  t.teardown(async () => {
    for (const one of [pid(), -Number(child.pid)]) {
      try {
        if (one) process.kill(one, 'SIGKILL')
      } catch (error) {
        if (error.code !== 'ESRCH') throw error
      }
    }
    await ended
  })

  const terminal = {
    /** all output */
    get output () { return output },
    /** lines of the screen */
    get screen () { return screenOf(output) },
    /** @param {string} keys */
    press: (keys) => { child.stdin.write(keys) },
    /** @param {NodeJS.Signals} signal to the one process */
    kill: (signal) => { process.kill(pid(), signal) },
    /** @param {number} columns @param {number} rows */
    async resize (columns, rows) {
      const [, device] = /** @type {RegExpExecArray} */ (/(\/dev\/\S+)/.exec(output))
      await promisify(execFile)('stty', ['-F', device, 'cols', String(columns), 'rows', String(rows)])
    },
    /** Waits until the screen matches. @param {RegExp} pattern @returns {Promise<string>} the screen */
    until: (pattern) => eventually(async () => {
      const screen = terminal.screen.join('\n')
      if (!pattern.test(screen)) throw new Error(`the screen is without ${pattern}:\n${screen}`)
      return screen
    }, { deadlineMs: 40_000 }),
    /** Waits for the end. @returns {Promise<{ status: number, screen: string, isRestored: boolean }>} `screen`: the primary buffer */
    async ended () {
      await ended
      return { status: Number(/status (\d+)/.exec(output)?.[1]), screen: terminal.screen.join('\n'), isRestored: isRestored(output) }
    }
  }
  return terminal
}

/** Whether cursor, wrapping, buffer and keys are restored. @param {string} output ends with the output of stty */
const isRestored = (output) => ['1049', '25', '7'].every((mode) => {
  const on = mode === '1049' ? 'h' : 'l'
  const off = on === 'h' ? 'l' : 'h'
  return output.includes(`\x1b[?${mode}${on}`) && output.lastIndexOf(`\x1b[?${mode}${off}`) > output.lastIndexOf(`\x1b[?${mode}${on}`)
}) && / icanon/.test(output) && / echo /.test(output)

/** All escape sequences that top writes. */
// eslint-disable-next-line no-control-regex
const SEQUENCE = /\x1b\[(\?\d+[hl]|\d*(?:;\d+)?[HJKGm])/

/** @param {string} output @returns {string} other control characters, without line ends */
export const actingIn = (output) => output.split(SEQUENCE).filter((_, i) => i % 2 === 0).join('').replace(/[\r\n]/g, '')
  .match(/[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu)?.join('') ?? ''

/**
 * The screen after these sequences: two buffers, lines, and columns of plain text.
 * @param {string} output @returns {string[]}
 */
function screenOf (output) {
  /** @type {string[][]} */
  const buffers = [[''], ['']]
  let buffer = 0
  let y = 0
  let x = 0
  const parts = output.split(SEQUENCE)
  for (let i = 0; i < parts.length; i++) {
    const lines = buffers[buffer]
    if (i % 2 === 0) {
      for (const text of parts[i].split(/(\r?\n)/)) {
        if (/\n/.test(text)) {
          y = lines.push('') - 1
          x = 0
        } else if (text !== '') {
          const line = (lines[y] ?? '').padEnd(x)
          lines[y] = line.slice(0, x) + text + line.slice(x + text.length)
          x += text.length
        }
      }
      continue
    }
    const sequence = parts[i]
    if (sequence === '?1049h' || sequence === '?1049l') {
      buffer = sequence === '?1049h' ? 1 : 0
      y = buffer === 0 ? buffers[0].length - 1 : 0
      x = 0
    } else if (sequence === '2J') lines.length = 0
    else if (sequence === '2K') lines[y] = ''
    else if (/^\d+;1H$/.test(sequence)) {
      y = parseInt(sequence) - 1
      x = 0
    } else if (/^\d+G$/.test(sequence)) x = Math.max((lines[y] ?? '').length, parseInt(sequence) - 1)
  }
  return Array.from(buffers[buffer], (line) => (line ?? '').trimEnd())
}
