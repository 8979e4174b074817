/**
 * The load of one measurement: users who bid in a closed loop; then what was heard is compared with what is stored.
 *
 * @typedef {{ technique: string, driver?: string, users: number, thinkMs?: number, lots?: number, reads?: boolean, warmUpSeconds: number,
 *   seconds: number, closeInMs?: number, softCloseMs?: number, softCloseMaxMs?: number }} Load as Contention of plan.js
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createBidding } from './bidding.js'
import { merged } from '../invariants.js'
import { openWindow } from '../window.js'
import { figuresOf } from './figures.js'
import { checkHistory, historyText } from './history.js'
import { openOverHttp } from './http.js'
import { openTechnique } from './techniques.js'

const [START, INCREMENT] = [1000, 50]
const HOUR_MS = 3_600_000

/**
 * @param {import('./techniques.js').Technique} technique @param {Load} load
 * @param {{ onMeasuring?: () => void, onMeasured?: () => Promise<void>, untilQuiet?: () => Promise<void>, signal?: AbortSignal }} [options]
 *   `onMeasured`: at the end of the window, the load goes on until it is done; `untilQuiet`: before the stored events are read
 */
export async function runBids (technique, load, {
  onMeasuring = () => {}, onMeasured = async () => {}, untilQuiet = async () => {}, signal
} = {}) {
  const { users, thinkMs = 0, lots = 1, reads, warmUpSeconds, seconds } = load
  const { closeInMs = HOUR_MS, softCloseMs = 0, softCloseMaxMs = 0 } = load
  const clockMs = performance.timeOrigin
  const terms = { start: START, increment: INCREMENT, closeAt: Date.now() + closeInMs, softCloseMs, softCloseMaxMs, clockMs }
  const bidding = createBidding(technique, { lots, terms, isOverHttp: load.driver === 'http', reads })
  await bidding.create()
  const over = new AbortController()
  const stop = () => over.abort()
  signal?.addEventListener('abort', stop, { once: true })

  const using = Promise.all(Array.from({ length: users }, (_, user) => bidding.use(`u${user}`, thinkMs, over.signal)))
  await sleep(warmUpSeconds * 1000)
  onMeasuring()
  const window = openWindow()
  const from = bidding.bids.length
  const before = await countsOf(technique)
  await sleep(seconds * 1000, undefined, { signal }).catch(() => {})
  const use = window()
  const to = bidding.bids.length
  const after = await countsOf(technique)
  await onMeasured()
  stop()
  await using
  await untilQuiet()
  await bidding.resolve()
  const histories = await bidding.histories()
  return {
    ...use,
    ...figuresOf(bidding.bids.slice(from, to), before, after),
    /** of the most contested auction */
    history: histories[0],
    invariants: load.technique === 'noop' ? [] : merged(histories.map(checkHistory))
  }
}

/** Now. @param {import('./techniques.js').Technique} technique */
async function countsOf (technique) {
  await technique.look?.()
  return { ...technique.counts }
}

/** @type {import('../load-process.js').System} */
export const SYSTEM = Object.freeze({
  async run (load, { redisUrl, keyPrefix, warmUpSeconds, seconds, onMeasuring, onMeasured, signal }) {
    const technique = await (load.driver === 'http' ? openOverHttp : openTechnique)(load.technique, { redisUrl, keyPrefix }, load.gateways)
    const result = await runBids(technique, { ...load, warmUpSeconds, seconds }, { onMeasuring, onMeasured, signal })
    await technique.close()
    return result
  },
  historyText,
  summaryOf: ({ history: _, cpuMicros, ...figures }) => ({
    ...figures,
    offered: figures.items + figures.failed,
    batches: figures.calls,
    flushMs: figures.latencyMs,
    writerCpuMicrosPerItem: cpuMicros / figures.items
  })
})
