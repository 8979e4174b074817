/**
 * Logs go to standard error: JSON lines, or readable lines on a terminal. Writes are synchronous, so that the last line before
 * an exit is not lost; no per-item code logs.
 */
import { createRequire } from 'node:module'
import { cutText } from '../errors.js'
import { visibleLines } from './visible.js'

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
