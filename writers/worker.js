/** One of several writers (feed.js): a process file that receives its settings from its parent. */
import { optionsOf } from '../settings.js'
import { aborted, createLog, listenForStop, tellParent } from '../src/runtime/index.js'
import { emptyTally } from '../src/summary/index.js'
import { writeFeed } from './write-feed.js'

const PROGRESS_MS = 1000

process.once('message', (/** @type {any} */ { settings, redisUrl, index }) => work(settings, redisUrl, index))

/** @param {any} settings @param {string} redisUrl @param {number} index */
async function work (settings, redisUrl, index) {
  const log = createLog({ level: settings.logLevel, role: `writer-${index}` })
  const stopping = listenForStop()
  const go = new Promise((resolve) => {
    process.on('message', (/** @type {any} */ { event }) => { if (event === 'go') resolve(event) })
  })
  /** @type {NodeJS.Timeout | undefined} */
  let progress
  /** @type {import('./metrics-server.js').MetricsServer | null} */
  let metrics = null
  try {
    if (settings.metricsPort !== null) {
      const { serveMetrics } = await import('./metrics-server.js')
      metrics = await serveMetrics({ settings, index, redisUrl, replicaUrls: settings.replicaUrl, log })
    }
    const { error, ...tally } = await writeFeed({
      settings,
      options: optionsOf(settings),
      redisUrl,
      index,
      log,
      signal: stopping.signal,
      metrics: metrics?.metrics,
      async onOpened (writer) {
        progress = setInterval(() => tellParent({ event: 'progress', account: writer.pipeline.account }), PROGRESS_MS)
        tellParent({ event: 'opened', layout: writer.definition.layout })
        await Promise.race([go, aborted(stopping.signal)])
      },
      onMeasuring: (account) => { tellParent({ event: 'measuring', account }) }
    })
    await tellParent({ event: 'done', tally, error: error && plain(error) })
  } catch (error) {
    await tellParent({ event: 'done', tally: emptyTally(), error: plain(error) })
  }
  clearInterval(progress)
  await metrics?.close()
  stopping.done()
}

/** @param {any} error */
const plain = (error) => ({ message: error.message, code: error.code, exitStatus: error.exitStatus })
