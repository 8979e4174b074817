/**
 * Reports over IPC what the process has used, and how long its event loop was delayed. It is loaded with --import before a
 * program that does not know the lab, so that the reader is measured in the same way as the servers that it is compared with.
 *
 *     parent -> { event: 'usage' }       child -> { event: 'usage', atMs, cpuSeconds, loopBusyMs, memoryBytes }
 *     parent -> { event: 'watch loop', stepMs }   child -> { event: 'watch loop' }   begins to measure
 *     parent -> { event: 'loop' }        child -> { event: 'loop', delayMsP99, delayMsMax }       since then; stops measuring
 *     parent -> { event: 'live memory' } child -> { event: 'live memory', bytes }    all garbage is collected first
 *
 * Rejected: /metrics of the reader, which requests INFO from every node; /proc, which counts in steps of 10 ms.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { usageNow } from './usage.js'

let usageOf = () => Promise.resolve(usageNow())

/** Another process is measured in place of this one. @param {() => Promise<import('./usage.js').Usage>} other */
export function reportUsageOf (other) { usageOf = other }

/** Interval of the timer; measured delays include it. */
const STEP_MS = 1
let stepMs = STEP_MS
let delays = monitorEventLoopDelay({ resolution: STEP_MS })

process.on('message', (/** @type {any} */ message) => {
  if (message?.event === 'usage') usageOf().then((usage) => process.send?.({ event: 'usage', ...usage }, () => {}))
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

/** Bytes in use after garbage collection; the process size includes memory that the collector keeps. */
function liveBytes () {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  // the second run frees buffers
  for (let i = 0; i < 2; i++) collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** @param {number} nanoseconds between two ticks of the timer */
const delayMs = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - stepMs)

// does not keep the program running
process.channel?.unref()
