/**
 * Logs go to standard error: JSON lines, or, on a terminal, lines for people. Written at once, so that the last line
 * before an exit is not lost; nothing on a per-item path logs.
 */
import { pino } from 'pino'
import pretty from 'pino-pretty'

/**
 * @param {{ level: string, role: string, terminal?: boolean }} options
 * @returns {import('pino').Logger}
 */
export function createLog ({ level, role, terminal = process.stderr.isTTY }) {
  const stream = terminal
    ? pretty({ destination: 2, sync: true, singleLine: true, ignore: 'pid,hostname,role', translateTime: 'SYS:HH:MM:ss', messageFormat: `${role}: {msg}` })
    : pino.destination({ fd: 2, sync: true })
  return pino({ level, base: { pid: process.pid, role } }, stream)
}
