/**
 * The messages between a load process and the lab:
 *
 *     lab -> load   { event: 'start', load, settings, redisUrl, replicaUrls, gateway }
 *     load -> lab   { event: 'measuring' }                        the warm-up is over, for all writers
 *     load -> lab   { event: 'ended', acknowledged: [n, ...] }    since it began, of each writer
 *     load -> lab   one JSON line on standard output; exit 0
 *     or            { event: 'failed', code, message }, one line on standard error; exit 1
 *     lab -> load   { event: 'stop' }                             it ends early, with the messages above
 *
 * A batch that is sent again, because its outcome is unknown, may come later than newer versions of its ids, which the writer had sent
 * after it. These items count: the feed holds a newer version of each.
 *
 * With several writers, each is a process of its own (crew.js). A load ends with its parent and after its summary; what it
 * has not written by then is dropped.
 */
import { listenForStop, tellParent } from '../../src/runtime/index.js'
import { decidedOf, summaryLine } from '../../src/pipeline/index.js'
import { runLoadCrew } from './crew.js'
import { loadOf } from './index.js'
import { runLoad, settingsOf } from './run.js'

/**
 * @typedef {{ load: string, settings: Record<string, any>, redisUrl: string, replicaUrls: string[] | null, index?: number,
 *   gateway?: string[] }} Order `index`: one writer of several, and its parent is the load; `gateway`: arguments of node for
 *   `npm start gateway` with its settings
 */

/**
 * Waits for its order and runs it.
 * @param {Readonly<Record<string, import('./index.js').Load>>} loads
 * @param {string} file of this process, which several writers start again
 */
export function serveLoad (loads, file) {
  if (!process.connected) {
    process.stderr.write('this process is started by the lab: npm run experiment -- list\n')
    process.exitCode = 2
    return
  }
  process.once('disconnect', () => process.exit(1))
  process.once('message', (/** @type {any} */ order) => work(loads, file, order))
}

/** @param {Readonly<Record<string, import('./index.js').Load>>} loads @param {string} file @param {Order} order */
async function work (loads, file, order) {
  const { signal } = listenForStop()
  try {
    const load = loadOf(order.load, loads)
    const settings = settingsOf(load, order.settings)
    const onMeasuring = () => { tellParent({ event: 'measuring' }) }
    if (order.index !== undefined) return await workAsMember(load, { ...order, settings, index: order.index, signal, onMeasuring })
    const tallies = settings.writers > 1
      ? await runLoadCrew({ order, writers: settings.writers, file, signal, onMeasuring })
      : [await runLoad(load, { ...order, settings, index: 0, signal, onMeasuring })]
    await tellParent({ event: 'ended', acknowledged: tallies.map(({ account }) => decidedOf(account)) })
    // the lab measures the nodes itself
    const summary = { ...summaryLine({ role: 'load', settings, engine: tallies[0].engine, tallies }), nodes: [] }
    process.stdout.write(JSON.stringify(summary) + '\n', () => process.exit(0))
  } catch (error) {
    const { code = 'LOAD_FAILED', message } = error
    process.stderr.write(`${code}: ${message}\n`)
    await tellParent({ event: 'failed', code, message })
    process.exit(1)
  }
}

/** @param {import('./index.js').Load} load @param {Parameters<typeof runLoad>[1]} parts */
async function workAsMember (load, parts) {
  const go = /** @type {Promise<void>} */ (new Promise((resolve) => {
    process.on('message', (/** @type {any} */ { event }) => { if (event === 'go' || event === 'stop') resolve() })
  }))
  const tally = await runLoad(load, {
    ...parts,
    async onOpened () {
      await tellParent({ event: 'opened' })
      await go
    }
  })
  await tellParent({ event: 'done', tally })
  process.exit(0)
}
