/** Recent utilization of the event loop. */
import { performance } from 'node:perf_hooks'

const MEASURE_EVERY_MS = 100

/** @returns {(nowMs: number) => number} 0 to 1, over the last 100 ms or longer; `nowMs` is monotonic */
export function createLoopUse () {
  let before = performance.eventLoopUtilization()
  let measuredMs = -Infinity
  let use = 0
  return (nowMs) => {
    if (nowMs - measuredMs >= MEASURE_EVERY_MS) {
      const now = performance.eventLoopUtilization()
      use = performance.eventLoopUtilization(now, before).utilization
      before = now
      measuredMs = nowMs
    }
    return use
  }
}
