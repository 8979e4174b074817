/**
 * The messages between a load process and the lab, besides those of order.js:
 *
 *     load -> lab   { event: 'measuring' }    the warm-up is over, for all writers
 *     lab -> load   { event: 'stop' }         it ends early, with the same messages as otherwise
 *
 * A batch that is sent again, because its outcome is unknown, may come later than newer versions of its ids, which the writer had sent
 * after it. These items count: the feed holds a newer version of each.
 *
 * With several writers, each is a process of its own (writers/feed.js).
 */
import { listenForStop, tellParent } from '../../src/runtime/index.js'
import { decidedOf } from '../../src/pipeline/index.js'
import { summaryLine } from '../../src/summary/index.js'
import { runLoadCrew } from './crew.js'
import { loadOf } from './index.js'
import { serveOrder } from './order.js'
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
export const serveLoad = (loads, file) => serveOrder(async (/** @type {Order} */ order) => {
  const { signal } = listenForStop()
  const load = loadOf(order.load, loads)
  const settings = settingsOf(load, order.settings)
  const onMeasuring = () => { tellParent({ event: 'measuring' }) }
  if (order.index !== undefined) return workAsMember(load, { ...order, settings, index: order.index, signal, onMeasuring })
  const tallies = settings.writers > 1
    ? await runLoadCrew({ order, writers: settings.writers, file, signal, onMeasuring })
    : [await runLoad(load, { ...order, settings, index: 0, signal, onMeasuring })]
  // the lab measures the nodes itself
  const summary = { ...summaryLine({ role: 'load', settings, engine: tallies[0].engine, tallies }), nodes: [] }
  return { acknowledged: tallies.map(({ account }) => decidedOf(account)), summary }
})

/** @param {import('./index.js').Load} load @param {Parameters<typeof runLoad>[1]} parts @returns {Promise<never>} it exits */
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
  return process.exit(0)
}
