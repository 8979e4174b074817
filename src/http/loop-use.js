/** How busy the event loop of this process has been of late. */
import { performance } from 'node:perf_hooks'

const LOOK_EVERY_MS = 100

/** @returns {(nowMs: number) => number} 0 to 1, since it was looked at last, a tenth of a second ago or longer; `nowMs` never goes back */
export function createLoopUse () {
  let before = performance.eventLoopUtilization()
  let lookedMs = -Infinity
  let use = 0
  return (nowMs) => {
    if (nowMs - lookedMs >= LOOK_EVERY_MS) {
      const now = performance.eventLoopUtilization()
      use = performance.eventLoopUtilization(now, before).utilization
      before = now
      lookedMs = nowMs
    }
    return use
  }
}
