/** The load of one measurement of prices, as a process that its parent controls. */
import { requestSummary, serveLoad } from '../../run/serve-load.js'
import { historyText } from './history.js'
import { runPrices } from './load.js'

serveLoad(runPrices, historyText, ({ history: _, ...result }) => {
  const { cpuMicros: _cpu, loopUse: _use, invariants: _all, ...prices } = result
  const { answered, sent, missing, latencyMs, cpuSeconds: { gateways, exchanges, consumers }, calls } = prices
  const cpuSeconds = gateways + exchanges + (consumers ?? 0)
  return { prices, ...requestSummary(result, { answered, sent, failed: missing, latencyMs, calls, cpuSeconds }) }
})
