/**
 * Processor time of processes, user and system, from /proc. Where there is none (macOS), it is NaN.
 */
import { readdirSync, readFileSync } from 'node:fs'

const TICKS_PER_SECOND = 100
const SAMPLE_MS = 1000

/** @param {number} pid @returns {{ parent: number, coreSeconds: number, startedAt: string } | null} null when it is gone */
function statOf (pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // fields from the third on; the second is a name in parentheses
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    return { parent: Number(fields[1]), coreSeconds: ticks / TICKS_PER_SECOND, startedAt: fields[19] }
  } catch {
    return null
  }
}

/** @param {number} pid @returns {number[]} its children, theirs and so on, and itself at the end */
export function treeOf (pid) {
  const children = processIds().filter((child) => statOf(child)?.parent === pid)
  return [...children.flatMap(treeOf), pid]
}

/** @param {number} pid @returns {number} of it and of its children that have ended */
export const coreSecondsOf = (pid) => statOf(pid)?.coreSeconds ?? NaN

/**
 * Processor time of this process and all its descendants, also of those that it no longer is an ancestor of: embedded servers,
 * and children of killed processes. Those are read once a second, so the last second of each may be missing.
 */
export function countCoreSeconds () {
  /** @type {Map<string, { pid: number, coreSeconds: number, isOrphan: boolean }>} by pid and start */
  const seen = new Map()

  function sample () {
    const stats = new Map(processIds().map((pid) => [pid, statOf(pid)]))
    const isOurs = (/** @type {number} */ pid, depth = 0) => {
      if (pid === process.pid) return true
      const stat = stats.get(pid)
      return Boolean(stat && depth < 100 && (seen.has(`${pid} ${stat.startedAt}`) || isOurs(stat.parent, depth + 1)))
    }
    for (const [pid, stat] of stats) {
      if (!stat || pid === process.pid || !isOurs(pid)) continue
      const isOrphan = stat.parent !== process.pid && !isOurs(stat.parent)
      seen.set(`${pid} ${stat.startedAt}`, { pid, coreSeconds: stat.coreSeconds, isOrphan })
    }
  }
  const timer = setInterval(sample, SAMPLE_MS).unref()

  return {
    /** Ends the count. @returns {{ coreSeconds: number, processes: number }} `processes`: how many were seen */
    end () {
      clearInterval(timer)
      sample()
      // children that ended are counted by the parent that waited for them
      const running = [...seen.values()].filter(({ pid, isOrphan }) => !isOrphan && statOf(pid) !== null)
      const orphans = [...seen.values()].filter(({ isOrphan }) => isOrphan)
      return {
        coreSeconds: [...running, ...orphans].reduce((sum, one) => sum + one.coreSeconds, coreSecondsOf(process.pid)),
        processes: seen.size
      }
    }
  }
}

const processIds = () => {
  try {
    return readdirSync('/proc').map(Number).filter(Boolean)
  } catch {
    return []
  }
}
