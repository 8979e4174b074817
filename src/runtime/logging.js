/**
 * Logs go to standard error: JSON lines, or readable lines on a terminal. Writes are synchronous, so that the last line before
 * an exit is not lost; no per-item code logs.
 */
import { pino } from 'pino'
import pretty from 'pino-pretty'

/**
 * @param {{ level: string, role: string, terminal?: boolean }} options
 * @returns {import('pino').Logger}
 */
export function createLog ({ level, role, terminal = process.stderr.isTTY }) {
  const stream = terminal
    ? pretty({
      destination: 2,
      sync: true,
      singleLine: true,
      ignore: 'pid,hostname,role',
      translateTime: 'SYS:HH:MM:ss',
      messageFormat: `${role}: {msg}`
    })
    : pino.destination({ fd: 2, sync: true })
  return pino({ level, base: { pid: process.pid, role } }, stream)
}
