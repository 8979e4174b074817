/**
 * Processor time, memory and event loop utilization of a process.
 *
 * @typedef {{ atMs: number, cpuSeconds: number, loopBusyMs: number, memoryBytes: number }} Usage processor and loop since the start
 *   of the process; `atMs` on its own clock; `memoryBytes` resident now
 */

/** @returns {Usage} of this process */
export function usageNow () {
  const { user, system } = process.cpuUsage()
  return {
    atMs: performance.now(),
    cpuSeconds: (user + system) / 1e6,
    loopBusyMs: performance.eventLoopUtilization().active,
    memoryBytes: process.memoryUsage.rss()
  }
}

/** @param {Usage} before @param {Usage} after @returns {{ cpuSeconds: number, loopUse: number }} `loopUse`: share of the time, 0 to 1 */
export const usageBetween = (before, after) => ({
  cpuSeconds: after.cpuSeconds - before.cpuSeconds,
  loopUse: Math.min(1, (after.loopBusyMs - before.loopBusyMs) / (after.atMs - before.atMs))
})
