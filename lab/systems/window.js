/**
 * What the process of a load uses from now on.
 * @returns {() => { seconds: number, cpuMicros: number, loopUse: number }} so far; `loopUse`: share of the time, 0 to 1
 */
export function openWindow () {
  const [beganMs, cpu, loop] = [performance.now(), process.cpuUsage(), performance.eventLoopUtilization()]
  return () => {
    const { user, system } = process.cpuUsage(cpu)
    return {
      seconds: (performance.now() - beganMs) / 1000,
      cpuMicros: user + system,
      loopUse: performance.eventLoopUtilization(loop).utilization
    }
  }
}

/**
 * The summary of a load of requests.
 * @param {{ seconds: number, cpuMicros: number, loopUse: number, invariants: object[] }} result
 * @param {{ answered: number, sent: number, failed: number, latencyMs: object, calls: number, cpuSeconds: number }} figures `cpuSeconds` of
 *   what serves
 */
export const requestSummary = ({ seconds, cpuMicros, loopUse, invariants }, { answered, sent, failed, latencyMs, calls, cpuSeconds }) => ({
  invariants,
  seconds,
  latencyMs,
  items: answered,
  accepted: answered,
  calls,
  failed,
  offered: sent,
  batches: sent,
  gatewayCpuSeconds: cpuSeconds,
  loopUse,
  writerCpuMicrosPerItem: cpuMicros / Math.max(1, answered)
})
