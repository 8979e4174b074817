/** Processor time of a program with several processes, such as PostgreSQL, as Linux counts it: in steps of 10 ms. */
import { readdir, readFile } from 'node:fs/promises'

const TICKS_PER_SECOND = 100
const PAGE_BYTES = 4096

/**
 * @param {number} pid @returns {Promise<{ cpuSeconds: number, memoryBytes: number }>} of one process; resident memory
 * @throws {Error} it has ended, or there is no /proc
 */
export async function usageOfProcess (pid) {
  const stat = await statOf(pid)
  if (stat === null) throw new Error(`/proc has no process ${pid}; expected Linux, and a process that runs`)
  return { cpuSeconds: stat.ticks / TICKS_PER_SECOND, memoryBytes: stat.pages * PAGE_BYTES }
}

/**
 * Of all processes with the same parent, of the parent, and of children of it that have ended.
 * @param {number} pid of one of them @returns {Promise<number | null>} seconds since their start; null: there is no /proc
 * @see https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
export async function cpuSecondsBeside (pid) {
  const own = await statOf(pid)
  if (own === null) return null
  const all = await Promise.all((await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map((name) => statOf(Number(name))))
  let ticks = 0
  for (const one of all) {
    if (one?.parent === own.parent) ticks += one.ticks
    if (one?.pid === own.parent) ticks += one.ticks + one.endedTicks
  }
  return ticks / TICKS_PER_SECOND
}

/** @param {number} pid @returns {Promise<{ pid: number, parent: number, ticks: number, endedTicks: number, pages: number } | null>} */
async function statOf (pid) {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  if (text === null) return null
  // its name may have spaces
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [userTicks, systemTicks, endedUser, endedSystem] = fields.slice(11, 15).map(Number)
  return { pid, parent: Number(fields[1]), ticks: userTicks + systemTicks, endedTicks: endedUser + endedSystem, pages: Number(fields[21]) }
}
