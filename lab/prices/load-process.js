/** The load of one measurement of prices, as a process that its parent controls; messages as loads/protocol.js. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { tellParent } from '../../src/runtime/index.js'
import { historyText } from './history.js'
import { runPrices } from './load.js'

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
    const { history, cpuMicros, loopUse, invariants, ...prices } = await runPrices(contention, {
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
    const { answered, sent, missing, latencyMs, cpuSeconds, calls } = prices
    await tellParent({ event: 'ended', acknowledged: [answered] })
    const none = { p50: 0, p95: 0, p99: 0, max: 0 }
    process.stdout.write(JSON.stringify({
      event: 'summary',
      prices,
      invariants,
      seconds: prices.seconds,
      latencyMs,
      latencyMsByCode: {},
      items: answered,
      accepted: answered,
      calls,
      attemptsPerAccepted: null,
      failed: missing,
      offered: sent,
      refusedBy: {},
      dropped: 0,
      retried: 0,
      batches: sent,
      bytes: 0,
      behindMs: none,
      flushMs: none,
      gatewayCpuSeconds: cpuSeconds.gateways + cpuSeconds.exchanges + (cpuSeconds.consumers ?? 0),
      loopUse,
      writerCpuMicrosPerItem: cpuMicros / Math.max(1, answered)
    }) + '\n', () => process.exit(0))
  } catch (error) {
    await tellParent({ event: 'failed', code: error.code ?? 'LOAD_FAILED', message: error.message })
    process.exit(1)
  }
})
