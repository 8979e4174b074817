/** The load of one measurement of bids, as a process that its parent controls; messages as loads/protocol.js. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { tellParent } from '../../src/runtime/index.js'
import { historyText } from './history.js'
import { openOverHttp } from './http.js'
import { runBids } from './load.js'
import { openTechnique } from './techniques.js'

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
    const { contention, warmUp, duration, keyPrefix } = settings
    const open = contention.driver === 'http' ? openOverHttp : openTechnique
    const technique = await open(contention.technique, { redisUrl, keyPrefix })
    const { history, cpuMicros, ...figures } = await runBids(technique, { ...contention, warmUpSeconds: warmUp, seconds: duration }, {
      onMeasuring: () => { tellParent({ event: 'measuring' }) },
      async onMeasured () {
        await tellParent({ event: 'measured' })
        await looked
      },
      signal: stop.signal
    })
    await technique.close()
    if (contention.historyFile) {
      await mkdir(dirname(contention.historyFile), { recursive: true })
      await writeFile(contention.historyFile, historyText(history))
    }
    await tellParent({ event: 'ended', acknowledged: [figures.items] })
    const none = { p50: 0, p95: 0, p99: 0, max: 0 }
    process.stdout.write(JSON.stringify({
      ...figures,
      event: 'summary',
      offered: figures.items + figures.failed,
      refusedBy: {},
      dropped: 0,
      retried: 0,
      batches: figures.calls,
      bytes: 0,
      behindMs: none,
      flushMs: figures.latencyMs,
      writerCpuMicrosPerItem: cpuMicros / figures.items
    }) + '\n', () => process.exit(0))
  } catch (error) {
    await tellParent({ event: 'failed', code: error.code ?? 'LOAD_FAILED', message: error.message })
    process.exit(1)
  }
})
