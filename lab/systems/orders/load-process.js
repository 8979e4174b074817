/** The load of one measurement of orders, as a process that its parent controls. */
import { requestSummary, serveLoad } from '../../run/serve-load.js'
import { historyText } from './history.js'
import { runOrders } from './load.js'

serveLoad(runOrders, historyText, ({ history: _, ...result }) => {
  const { cpuMicros: _cpu, loopUse: _use, invariants: _all, ...orders } = result
  const { answered, sent, errors, httpMs } = orders
  const cpuSeconds = Object.values(orders.cpuSeconds).flat().reduce((sum, one) => sum + one, 0)
  return { orders, ...requestSummary(result, { answered, sent, failed: errors, latencyMs: httpMs, calls: sent, cpuSeconds }) }
})
