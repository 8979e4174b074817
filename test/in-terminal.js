/**
 * Commands in a pseudo terminal, which `script` of util-linux provides.
 */
import { execFileSync, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { NODE } from './node.js'
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
 * @param {{ env?: Record<string, string> }} [options]
 */
export function inTerminal (t, args, { env = {} } = {}) {
  const command = [...NODE, ...args].map(quoted).join(' ')
  const lines = `stty rows 30 cols 100; sh -c ${quoted(`echo pid $$; exec ${command}`)}; echo status $?`
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
    /** Waits until the screen matches. @param {RegExp} pattern @returns {Promise<string>} the screen */
    until: (pattern) => eventually(async () => {
      const screen = terminal.screen.join('\n')
      if (!pattern.test(screen)) throw new Error(`the screen is without ${pattern}:\n${screen}`)
      return screen
    }, { deadlineMs: 40_000 }),
    /** Waits for the end. @returns {Promise<{ status: number, screen: string }>} */
    async ended () {
      await ended
      return { status: Number(/status (\d+)/.exec(output)?.[1]), screen: terminal.screen.join('\n') }
    }
  }
  return terminal
}

/** Colors, and the end of a line that is overwritten. */
// eslint-disable-next-line no-control-regex
const SEQUENCE = /\x1b\[\d*(?:;\d+)?[Km]/g

/** @param {string} output @returns {string} other control characters, without line ends */
export const actingIn = (output) => output.replace(SEQUENCE, '').replace(/[\r\n]/g, '')
  .match(/[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu)?.join('') ?? ''

/** @param {string} output @returns {string[]} its lines as they are in the end */
const screenOf = (output) => output.replace(SEQUENCE, '').split(/\r?\n/)
  .map((line) => line.slice(line.trimEnd().lastIndexOf('\r') + 1).trimEnd())
