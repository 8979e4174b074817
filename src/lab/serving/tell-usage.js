/**
 * Tells over IPC what the process has used, whenever it is asked. It is loaded (--import) before a program that knows
 * nothing of the lab, so that the reader is measured by the same means as what it is compared with; until asked it does
 * nothing.
 *
 *     parent -> { event: 'usage' }      child -> { event: 'usage', atMs, cpuSeconds, loopBusyMs }
 *
 * Rejected: /metrics of the reader, whose scrape asks every node for its INFO; /proc, which counts in steps of 10 ms.
 */
import { usageNow } from './usage.js'

process.on('message', (/** @type {any} */ message) => {
  if (message?.event === 'usage') process.send?.({ event: 'usage', ...usageNow() }, () => {})
})
// a program that waits for no message ends when its work is done
process.channel?.unref()
