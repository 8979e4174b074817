/**
 * The load of one measurement of a system, or of a feed whose servers change, in a process that its parent controls; messages as
 * loads/order.js.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { tellParent } from '../../src/runtime/index.js'
import { serveOrder } from '../loads/order.js'

/** of a load that has no batches */
const NONE = Object.freeze({ p50: 0, p95: 0, p99: 0, max: 0 })
const WITHOUT = Object.freeze({
  latencyMsByCode: {}, attemptsPerAccepted: null, refusedBy: {}, dropped: 0, retried: 0, bytes: 0, behindMs: NONE, flushMs: NONE
})

/**
 * @typedef {{ redisUrl: string, keyPrefix: string, rate: number, settings: Record<string, any>, warmUpSeconds: number, seconds: number,
 *   signal: AbortSignal,
 *   onMeasuring: () => Promise<void>, onMeasured: () => Promise<void> }} How
 */

/**
 * @typedef {object} System
 * @property {(load: import('./plan.js').Contention, how: How) => Promise<any>} run one measurement
 * @property {(history: any) => string} historyText
 * @property {(result: any) => { items: number, [name: string]: unknown }} summaryOf what it says in place of WITHOUT, and more
 */

/** by driver; bids have the others @type {Readonly<Record<string, () => Promise<{ SYSTEM: System }>>>} */
const SYSTEMS = Object.freeze({
  sale: () => import('./sales/load.js'),
  prices: () => import('./prices/load.js'),
  storm: () => import('./prices/load.js'),
  orders: () => import('./orders/load.js'),
  own: () => import('./own/load.js'),
  cluster: () => import('../cluster/load.js')
})

serveOrder(async ({ settings, redisUrl }) => {
  const stop = new AbortController()
  const looked = /** @type {Promise<void>} */ (new Promise((resolve) => {
    process.on('message', (/** @type {any} */ { event }) => {
      if (event === 'stop') stop.abort()
      if (event === 'stop' || event === 'looked') resolve()
    })
  }))
  const { contention, warmUp, duration, keyPrefix, rate } = settings
  const { SYSTEM: { run, historyText, summaryOf } } = await (SYSTEMS[contention.driver] ?? (() => import('./auctions/load.js')))()
  const result = await run(contention, {
    redisUrl,
    keyPrefix,
    rate,
    settings,
    warmUpSeconds: warmUp,
    seconds: duration,
    signal: stop.signal,
    onMeasuring: () => tellParent({ event: 'measuring' }),
    async onMeasured () {
      await tellParent({ event: 'measured' })
      await looked
    }
  })
  if (contention.historyFile) {
    await mkdir(dirname(contention.historyFile), { recursive: true })
    await writeFile(contention.historyFile, historyText(result.history))
  }
  const summary = summaryOf(result)
  return { acknowledged: [summary.items], summary: { event: 'summary', ...WITHOUT, ...summary } }
})
