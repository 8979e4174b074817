/** The load of one measurement of a system, in a process that its parent controls; messages as loads/protocol.js. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { tellParent } from '../src/runtime/index.js'

const NONE = Object.freeze({ p50: 0, p95: 0, p99: 0, max: 0 })

/**
 * @template {{ seconds: number }} Figures
 * @template History
 * @param {(load: import('./contention/plan.js').Contention, how: { redisUrl: string, keyPrefix: string, rate: number,
 *   warmUpSeconds: number, seconds: number, signal: AbortSignal, onMeasuring: () => Promise<void>, onMeasured: () => Promise<void> }) =>
 *   Promise<Figures & { history: History, cpuMicros: number, loopUse: number, invariants: object[] }>} run
 * @param {(history: History) => string} historyText
 * @param {(figures: Figures) => { part: object, answered: number, sent: number, failed: number, latencyMs: object, calls: number,
 *   cpuSeconds: number }} summaryOf `part`: the figures by the name of the system; `cpuSeconds` of what serves
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
      const { history, cpuMicros, loopUse, invariants, ...rest } = await run(contention, {
        redisUrl,
        keyPrefix,
        rate,
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
        await writeFile(contention.historyFile, historyText(history))
      }
      const figures = /** @type {Figures} */ (/** @type {unknown} */ (rest))
      const { part, answered, sent, failed, latencyMs, calls, cpuSeconds } = summaryOf(figures)
      await tellParent({ event: 'ended', acknowledged: [answered] })
      process.stdout.write(JSON.stringify({
        event: 'summary',
        ...part,
        invariants,
        seconds: figures.seconds,
        latencyMs,
        latencyMsByCode: {},
        items: answered,
        accepted: answered,
        calls,
        attemptsPerAccepted: null,
        failed,
        offered: sent,
        refusedBy: {},
        dropped: 0,
        retried: 0,
        batches: sent,
        bytes: 0,
        behindMs: NONE,
        flushMs: NONE,
        gatewayCpuSeconds: cpuSeconds,
        loopUse,
        writerCpuMicrosPerItem: cpuMicros / Math.max(1, answered)
      }) + '\n', () => process.exit(0))
    } catch (error) {
      await tellParent({ event: 'failed', code: error.code ?? 'LOAD_FAILED', message: error.message })
      process.exit(1)
    }
  })
}
