/** The load of one measurement of prices, as a process that its parent controls. */
import { serveLoad } from '../serve-load.js'
import { historyText } from './history.js'
import { runPrices } from './load.js'

serveLoad(runPrices, historyText, (prices) => {
  const { answered, sent, missing, latencyMs, cpuSeconds: { gateways, exchanges, consumers }, calls } = prices
  return { part: { prices }, answered, sent, failed: missing, latencyMs, calls, cpuSeconds: gateways + exchanges + (consumers ?? 0) }
})
