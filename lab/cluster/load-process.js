/** The load of one measurement of a feed under a disturbance, as a process that its parent controls. */
import { requestSummary, serveLoad } from '../run/serve-load.js'
import { runDisturbed } from './load.js'

serveLoad(runDisturbed, (history) => JSON.stringify(history) + '\n', (result) => {
  const { disturbed, answered, sent, batches, latencyMs } = result
  return {
    disturbed,
    ...requestSummary(result, { answered, sent, failed: 0, latencyMs, calls: batches, cpuSeconds: 0 }),
    batches,
    retried: disturbed.retried
  }
})
