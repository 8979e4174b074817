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
