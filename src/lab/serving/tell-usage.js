/**
 * Tells over IPC what the process has used, whenever it is asked, and how long its event loop was held up. It is loaded
 * (--import) before a program that knows nothing of the lab, so that the reader is measured by the same means as what it is
 * compared with; until asked it does nothing.
 *
 *     parent -> { event: 'usage' }       child -> { event: 'usage', atMs, cpuSeconds, loopBusyMs, memoryBytes }
 *     parent -> { event: 'watch loop', stepMs }   child -> { event: 'watch loop' }   from now on
 *     parent -> { event: 'loop' }        child -> { event: 'loop', delayMsP99, delayMsMax }       since then, and no longer
 *     parent -> { event: 'live memory' } child -> { event: 'live memory', bytes }    all garbage is collected first
 *
 * Rejected: /metrics of the reader, whose scrape asks every node for its INFO; /proc, which counts in steps of 10 ms.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { usageNow } from './usage.js'

/** A timer of so many ms tells the delay, and is in what it tells. */
const STEP_MS = 1
let stepMs = STEP_MS
let delays = monitorEventLoopDelay({ resolution: STEP_MS })

process.on('message', (/** @type {any} */ message) => {
  if (message?.event === 'usage') process.send?.({ event: 'usage', ...usageNow() }, () => {})
  else if (message?.event === 'watch loop') {
    delays.disable()
    stepMs = message.stepMs ?? STEP_MS
    delays = monitorEventLoopDelay({ resolution: stepMs })
    delays.enable()
    process.send?.({ event: 'watch loop' }, () => {})
  } else if (message?.event === 'loop') {
    delays.disable()
    process.send?.({ event: 'loop', delayMsP99: delayMs(delays.percentile(99)), delayMsMax: delayMs(delays.max) }, () => {})
  } else if (message?.event === 'live memory') process.send?.({ event: 'live memory', bytes: liveBytes() }, () => {})
})

/** What is in use: the size of a process has in it what its garbage collector keeps for later. */
function liveBytes () {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  // buffers are let go of by the second
  for (let i = 0; i < 2; i++) collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** @param {number} nanoseconds between two turns of the timer */
const delayMs = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - stepMs)

// a program that waits for no message ends when its work is done
process.channel?.unref()
