/** The load of one measurement of orders, as a process that its parent controls. */
import { serveLoad } from '../serve-load.js'
import { historyText } from './history.js'
import { runOrders } from './load.js'

serveLoad(runOrders, historyText, (orders) => {
  const { answered, sent, errors, httpMs, cpuSeconds: { fixed, replicas } } = orders
  const cpuSeconds = replicas.reduce((sum, one) => sum + one, fixed)
  return { part: { orders }, answered, sent, failed: errors, latencyMs: httpMs, calls: sent, cpuSeconds }
})
