/** The load of one measurement of a system, in a process that its parent controls; messages as loads/protocol.js. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { tellParent } from '../../src/runtime/index.js'

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
 * @template {{ history: any }} Run
 * @param {(load: import('../systems/auctions/plan.js').Contention, how: How) => Promise<Run>} run
 * @param {(history: Run['history']) => string} historyText
 * @param {(result: Run) => { items: number, [name: string]: unknown }} summaryOf what it says in place of WITHOUT, and more
 */
export function serveLoad (run, historyText, summaryOf) {
  process.once('disconnect', () => process.exit(1))
  process.once('message', async (/** @type {any} */ { settings, redisUrl }) => {
    const stop = new AbortController()
    const looked = /** @type {Promise<void>} */ (new Promise((resolve) => {
      process.on('message', (/** @type {any} */ { event }) => {
        if (event === 'stop') stop.abort()
        if (event === 'stop' || event === 'looked') resolve()
      })
    }))
    try {
      const { contention, warmUp, duration, keyPrefix, rate } = settings
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
      await tellParent({ event: 'ended', acknowledged: [summary.items] })
      process.stdout.write(JSON.stringify({ event: 'summary', ...WITHOUT, ...summary }) + '\n', () => process.exit(0))
    } catch (error) {
      await tellParent({ event: 'failed', code: error.code ?? 'LOAD_FAILED', message: error.message })
      process.exit(1)
    }
  })
}

/**
 * The summary of a load of requests.
 * @param {{ seconds: number, cpuMicros: number, loopUse: number, invariants: object[] }} result
 * @param {{ answered: number, sent: number, failed: number, latencyMs: object, calls: number, cpuSeconds: number }} figures `cpuSeconds` of
 *   what serves
 */
export const requestSummary = ({ seconds, cpuMicros, loopUse, invariants }, { answered, sent, failed, latencyMs, calls, cpuSeconds }) => ({
  invariants,
  seconds,
  latencyMs,
  items: answered,
  accepted: answered,
  calls,
  failed,
  offered: sent,
  batches: sent,
  gatewayCpuSeconds: cpuSeconds,
  loopUse,
  writerCpuMicrosPerItem: cpuMicros / Math.max(1, answered)
})
