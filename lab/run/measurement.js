/**
 * One measurement: an arm at a level, on empty servers, from the first connection to the last check.
 *
 *     servers -> empty? -> (serving starts) -> load starts ... warm-up ... | figures | window ... load ends | replicas catch up |
 *     figures | contents of every node against what was acknowledged -> servers end
 *                           (client: | window |)
 *
 * An error is an outcome and part of the sample; the lab continues with the next measurement (L14).
 *
 * @typedef {import('./sample.js').Sample} Sample
 * @typedef {import('../servers/own.js').LabServers} LabServers
 */
import { join } from 'node:path'
import { FreshetError } from '../errors.js'
import { ROOT } from '../../src/embedded/index.js'
import { leastValueBytes } from '../loads/source.js'
import { invariantsOf, notBelowZero } from '../analysis/check.js'
import { startLoad, withoutSettings } from './child.js'
import { isDisturbed } from '../cluster/disturbances.js'
import { contentOf } from '../content/index.js'
import { decidedOf } from '../systems/auctions/sample.js'
import { startDelay } from './delay.js'
import { startServing } from '../serving/index.js'
import { figuresOf, watchWindow } from './window.js'

/** The feed that is measured. */
const FEED = 'lab'
/** after warm-up and window, until a load counts as hung; a disturbance may outlast the window */
const SPARE_MS = { still: 60_000, disturbed: 240_000 }

/**
 * @typedef {{ level: string, arm: string, round: number, load: string, settings: Record<string, any>,
 *   serving?: import('../serving/plan.js').Serving, contention?: import('../systems/plan.js').Contention,
 *   isBlock?: boolean }} Cell
 *   `settings` of the writer, by name; `isBlock`: only figures, because it lasts so long that items leave the feed meanwhile
 */

/**
 * @param {Cell} cell
 * @param {{ openServers: () => Promise<LabServers>, rttMs: number, signal: AbortSignal,
 *   writerCommand: (settings: Record<string, any>) => string[], readerCommand: (settings: Record<string, any>) => string[],
 *   gatewayCommand: (settings: Record<string, any>) => string[],
 *   env: Record<string, string | undefined> }} place
 * @returns {Promise<Sample>}
 * @throws {FreshetError} errors that are no outcome of this arm: servers that cannot be started
 */
export async function measure (cell, { openServers, rttMs, signal, writerCommand, readerCommand, gatewayCommand, env }) {
  const startedAt = new Date().toISOString()
  const sample = { ...emptySample(cell), startedAt }
  if (signal.aborted) throw stopped()
  const servers = await openServers().catch((error) => { throw signal.aborted ? stopped() : isOfSystem(error) ? unopened(error) : error })
  if (servers.notes.length) sample.notes = servers.notes
  /** @type {import('./delay.js').Delay | null} */
  let delay = null
  /** @type {import('./child.js').Child | null} */
  let load = null
  /** @type {import('../serving/index.js').RunningServing | null} */
  let serving = null
  const stop = () => Promise.all([load?.stop(), serving?.close()])
  /** @type {(reason: Error) => void} */
  let rejectStopping = () => {}
  const stopping = /** @type {Promise<never>} */ (new Promise((resolve, reject) => { rejectStopping = reject }))
  stopping.catch(() => {})
  const onAbort = () => rejectStopping(stopped())
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    await servers.assertEmpty()
    delay = rttMs > 0 ? await startDelay({ to: servers.primaryUrl, ms: rttMs }) : null
    if (signal.aborted) throw stopped()
    if (cell.serving) {
      const { primaryUrl: redisUrl, replicaUrls, keyPrefix } = servers
      serving = startServing(cell.serving, {
        redisUrl,
        replicaUrls,
        keyPrefix,
        feed: FEED,
        layout: cell.settings.layout ?? 'ids',
        workload: workloadOf(cell),
        ratePerSecond: cell.settings.rate,
        isSteady: isSteady(cell.settings),
        liveItems: liveItemsOf(cell),
        writtenItems: writtenItemsOf(cell),
        readerCommand,
        env: withoutSettings(env)
      })
      await Promise.race([serving.ready, stopping])
    }
    const spareMs = SPARE_MS[isDisturbed(cell.contention) ? 'disturbed' : 'still']
    load = startLoad({
      load: cell.load,
      settings: { ...cell.settings, feed: FEED, contention: cell.contention && { ...cell.contention, historyFile: historyFile(cell) } },
      redisUrl: delay?.url ?? servers.url ?? servers.primaryUrl,
      replicaUrls: servers.shards ? [] : servers.replicaUrls,
      keyPrefix: servers.keyPrefix
    }, { writerCommand, gatewayCommand, env, deadlineMs: (cell.settings.warmUp + cell.settings.duration) * 1000 + spareMs })
    const window = await Promise.race([watchWindow(cell, { servers, load, serving, delay }), stopping])
    Object.assign(sample, figuresOf(cell, window, servers))
    if (cell.contention) {
      Object.assign(sample, decidedOf(window.ended))
      sample.invariants = [...sample.invariants, notBelowZero(sample)]
    }
    if (!cell.contention && !cell.isBlock) {
      Object.assign(sample, await Promise.race([contentOf({ ...cell, feed: FEED }, window.ended.acknowledged, servers), stopping]))
      sample.invariants = invariantsOf(sample)
    }
    sample.valid = sample.invariants.every(({ ok }) => ok)
  } catch (error) {
    if (signal.aborted) throw stopped()
    if (error.code === undefined) throw error
    sample.error = { code: error.reason ?? error.code, message: error.message }
  } finally {
    signal.removeEventListener('abort', onAbort)
    await stop()
    await delay?.close()
    // the caller records the sample, then stops, because keys are left on the servers
    await servers.close().catch((error) => { throw Object.assign(error, { sample }) })
  }
  return sample
}

/** For `check`. @param {Cell} cell */
const historyFile = ({ arm }) => join(ROOT, '.freshet/lab/histories', `${arm.replace(/[^\w+-]/g, '_')}.ndjson`)

/** Whether items arrive steadily. @param {Record<string, any>} settings */
const isSteady = ({ pace, rate }) => pace !== 'burst' && rate > 0

const stopped = () => new FreshetError('LAB_STOPPED', 'stopped; completed measurements are kept, and the next run resumes there')

/** An error of folders, files or processes. @param {Error & { syscall?: string }} error */
const isOfSystem = ({ syscall }) => syscall !== undefined

/** @param {Error} error */
const unopened = (error) => new FreshetError('SERVERS_FAILED', `the servers of the measurement could not be started: ${error.message}; ` +
  'completed measurements are kept, and the next run resumes there', { cause: error })

/**
 * What responses are checked against; null where values do not identify items.
 * @param {Cell} cell @returns {import('../serving/workload.js').Workload | null}
 */
function workloadOf ({ settings: { ids, writers = 1, valueBytes, valueChange = 'always', layout, partitions = 1, rate } }) {
  const isIdentified = valueChange === 'always' && valueBytes >= leastValueBytes(writers)
  // the newest of an id may be overwritten while a response is built, and partitions are read one by one
  return isIdentified ? { ids, writers, valueBytes, isWhole: layout !== 'ids' && partitions === 1 && rate > 0 } : null
}

/** How many items the feed will have, at least. @param {Cell} cell */
const liveItemsOf = ({ settings: { ids, maxItems } }) => maxItems ? Math.min(ids, maxItems) : ids

/** How many of these were due when the window began. @param {Cell} cell */
const writtenItemsOf = ({ settings: { rate, writers = 1, warmUp } }) => rate > 0 ? Math.floor(rate * writers * warmUp) : Infinity

/** @param {Cell} cell @returns {Sample} */
const emptySample = ({ level, arm, round }) => {
  const counts = { offered: 0, items: 0, refused: {}, dropped: 0, failed: 0, retried: 0, batches: 0, bytes: 0 }
  const content = { itemsAcknowledged: 0, itemsPresent: 0, ledger: null }
  const figures = { behindMs: null, flushMs: null, generator: null, nodes: [], machine: null, marks: [] }
  const outcome = { invariants: [], valid: false, error: null }
  return /** @type {any} */ ({ arm, level, round, startedAt: '', seconds: 0, planned: null, ...counts, ...content, ...figures, ...outcome })
}
