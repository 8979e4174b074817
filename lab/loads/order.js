/**
 * How a load process gets its order from the lab, and what it says of the end:
 *
 *     lab -> load   { event: 'start', load, settings, redisUrl, replicaUrls, gateway }
 *     load -> lab   { event: 'ended', acknowledged: [n, ...] }    since it began, of each writer
 *     load -> lab   one JSON line on standard output, the summary; exit 0
 *     or            { event: 'failed', code, message }, one line on standard error; exit 1
 *
 * A load ends with its parent and after its summary; what it has not written by then is dropped.
 */
import { tellParent } from '../../src/runtime/index.js'

/** @param {(order: any) => Promise<{ acknowledged: number[], summary: object }>} work */
export function serveOrder (work) {
  if (!process.connected) {
    process.stderr.write('this process is started by the lab: npm run experiment -- list\n')
    process.exitCode = 2
    return
  }
  process.once('disconnect', () => process.exit(1))
  process.once('message', async (order) => {
    try {
      const { acknowledged, summary } = await work(order)
      await tellParent({ event: 'ended', acknowledged })
      process.stdout.write(JSON.stringify(summary) + '\n', () => process.exit(0))
    } catch (error) {
      const { code = 'LOAD_FAILED', message } = error
      process.stderr.write(`${code}: ${message}\n`)
      await tellParent({ event: 'failed', code, message })
      process.exit(1)
    }
  })
}
