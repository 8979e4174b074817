/** The load of one measurement of bids, as a process that its parent controls. */
import { serveLoad } from '../../run/serve-load.js'
import { historyText } from './history.js'
import { openOverHttp } from './http.js'
import { runBids } from './load.js'
import { openTechnique } from './techniques.js'

/** @param {import('./plan.js').Contention} load @param {import('../../run/serve-load.js').How} how */
async function run (load, { redisUrl, keyPrefix, warmUpSeconds, seconds, onMeasuring, onMeasured, signal }) {
  const technique = await (load.driver === 'http' ? openOverHttp : openTechnique)(load.technique, { redisUrl, keyPrefix }, load.gateways)
  const result = await runBids(technique, { ...load, warmUpSeconds, seconds }, { onMeasuring, onMeasured, signal })
  await technique.close()
  return result
}

serveLoad(run, historyText, ({ history: _, cpuMicros, ...figures }) => ({
  ...figures,
  offered: figures.items + figures.failed,
  batches: figures.calls,
  flushMs: figures.latencyMs,
  writerCpuMicrosPerItem: cpuMicros / figures.items
}))
