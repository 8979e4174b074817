/**
 * One measurement: an arm at a level, on servers that hold nothing else, from the first connection to the last check.
 *
 *     servers -> empty? -> (serving begins) -> load begins ... warm-up ... | figures | window ... load ends | replicas level |
 *     figures | content of every node against what was acknowledged -> servers end
 *                           (client asks: | window |)
 *
 * Whatever goes wrong on the way is an outcome and part of the sample: the lab goes on with the next (L14).
 *
 * @typedef {import('./measures.js').Sample} Sample
 * @typedef {import('./servers/own.js').LabServers} LabServers
 */
import { performance } from 'node:perf_hooks'
import { FreshetError } from '../errors.js'
import { openConnection } from '../store/connection.js'
import { partitionKey } from '../feeds/keys.js'
import { invariantsOf } from './check.js'
import { startLoad, withoutSettings } from './child.js'
import { startDelay } from './delay.js'
import { readInventory } from './inventory.js'
import { checkLedger } from './ledger.js'
import { storageOf } from './loads/index.js'
import { machineUse, useBetween } from './machine.js'
import { figuresBetween, takeFigures, untilQuiet } from './servers/figures.js'
import { servingMarks } from './serving/figures.js'
import { startServing } from './serving/index.js'

/** Beyond this share of an event loop, or of a core, the load is what was measured (L7). */
const GENERATOR_BOUND = 0.8
/** Cores used by processes that are none of ours, and stolen time in percent, above which a run is marked. */
const NOISY_CORES = 0.15
const NOISY_STEAL_PERCENT = 2
/** A load that reached less of its rate did not keep up. */
const KEPT_UP = 0.98
const FEED = 'lab'
const LOCAL = ['127.0.0.1', 'localhost', '[::1]']
const SPARE_MS = 60_000
const DEADLINE_MS = 20_000

/**
 * @param {{ level: string, arm: string, round: number, load: string, settings: Record<string, any>,
 *   serving?: import('./serving/plan.js').Serving }} cell `settings` of the writer, by name
 * @param {{ openServers: () => Promise<LabServers>, rttMs: number, signal: AbortSignal,
 *   writerCommand: (settings: Record<string, any>) => string[], readerCommand: (settings: Record<string, any>) => string[],
 *   env: Record<string, string | undefined> }} place
 * @returns {Promise<Sample>}
 * @throws {FreshetError} what is no outcome of this arm: servers that cannot be had
 */
export async function measure (cell, { openServers, rttMs, signal, writerCommand, readerCommand, env }) {
  const startedAt = new Date().toISOString()
  const sample = { ...nothingOf(cell), startedAt }
  const servers = await openServers()
  /** @type {{ url: string, close(): Promise<void> } | null} */
  let delay = null
  /** @type {import('./child.js').Child | null} */
  let load = null
  /** @type {import('./serving/index.js').RunningServing | null} */
  let serving = null
  const stop = () => Promise.all([load?.stop(), serving?.close()])
  signal.addEventListener('abort', stop, { once: true })
  try {
    await servers.assertEmpty()
    delay = rttMs > 0 ? await startDelay({ to: servers.primaryUrl, ms: rttMs }) : null
    if (signal.aborted) throw stopped()
    if (cell.serving) {
      const { primaryUrl: redisUrl, replicaUrls, keyPrefix } = servers
      serving = startServing(cell.serving, { redisUrl, replicaUrls, keyPrefix, feed: FEED, liveItems: liveItemsOf(cell), readerCommand, env: withoutSettings(env) })
      await serving.ready
      if (signal.aborted) throw stopped()
    }
    load = startLoad({
      load: cell.load,
      settings: { ...cell.settings, feed: FEED },
      redisUrl: delay?.url ?? servers.primaryUrl,
      replicaUrls: servers.replicaUrls,
      keyPrefix: servers.keyPrefix
    }, { writerCommand, env, deadlineMs: (cell.settings.warmUp + cell.settings.duration) * 1000 + SPARE_MS })
    const window = await watch(cell, servers, load, serving)
    Object.assign(sample, figuresOf(cell, window, servers))
    Object.assign(sample, await contentOf(cell, window.ended, servers))
    sample.invariants = invariantsOf(sample)
    sample.valid = sample.invariants.every(({ ok }) => ok)
  } catch (error) {
    if (signal.aborted) throw stopped()
    if (error.code === undefined) throw error
    sample.error = { code: error.reason ?? error.code, message: error.message }
  } finally {
    signal.removeEventListener('abort', stop)
    await stop()
    await delay?.close()
    await servers.close()
  }
  return sample
}

const stopped = () => new FreshetError('LAB_STOPPED', 'stopped; what was measured is kept, and the next run goes on from there')

/** @param {LabServers} servers */
const urlsOf = (servers) => [servers.primaryUrl, ...servers.replicaUrls]

/** How many items the feed will have, at least. @param {Parameters<typeof measure>[0]} cell */
const liveItemsOf = ({ settings: { ids, maxItems } }) => maxItems ? Math.min(ids, maxItems) : ids

/**
 * From the end of the warm-up until the replicas have what the primary has.
 * @param {Parameters<typeof measure>[0]} cell @param {LabServers} servers @param {import('./child.js').Child} load
 * @param {import('./serving/index.js').RunningServing | null} serving
 */
async function watch ({ settings }, servers, load, serving) {
  const died = servers.died.then((how) => { throw new FreshetError('SERVER_LOST', `a server ended during the measurement: ${how}`, { outcome: 'over' }) })
  died.catch(() => {})
  const filled = serving?.fill(load.measuring)
  filled?.catch(() => {})
  await Promise.race([load.measuring, died])
  const endsMs = performance.now() + settings.duration * 1000
  const [before, useBefore] = [await takeFigures(urlsOf(servers)), machineUse()]
  const fromMs = performance.now()
  const cpuBefore = process.cpuUsage()
  const servingCpuBefore = await serving?.cpuSeconds() ?? 0
  const served = filled?.then(() => serving?.measure((endsMs - performance.now()) / 1000))
  const [ended, servingFigures] = await Promise.race([Promise.all([load.ended, served]), died])
  const windowSeconds = (performance.now() - fromMs) / 1000
  await untilQuiet(urlsOf(servers), { deadlineMs: DEADLINE_MS })
  const [after, useAfter] = [await takeFigures(urlsOf(servers)), machineUse()]
  const { user, system } = process.cpuUsage(cpuBefore)
  const servingCpuSeconds = (await serving?.cpuSeconds() ?? 0) - servingCpuBefore
  return { before, after, useBefore, useAfter, ended, windowSeconds, serving: servingFigures, labCpuSeconds: (user + system) / 1e6 + servingCpuSeconds }
}

/**
 * @param {Parameters<typeof measure>[0]} cell @param {Awaited<ReturnType<typeof watch>>} window @param {LabServers} servers
 */
function figuresOf ({ settings }, { before, after, useBefore, useAfter, ended, windowSeconds, serving, labCpuSeconds }, servers) {
  const { summary } = ended
  const { items, seconds } = summary
  const nodes = figuresBetween(before, after, { items, seconds: windowSeconds })
  const writers = settings.writers ?? 1
  const generator = { processes: writers, cpuSeconds: (summary.writerCpuMicrosPerItem ?? 0) * items / 1e6, loopUse: summary.loopUse }
  const isHere = LOCAL.includes(new URL(servers.primaryUrl).hostname)
  const ownCpuSeconds = labCpuSeconds + generator.cpuSeconds + (isHere ? nodes.reduce((sum, node) => sum + node.cpuSeconds, 0) : 0)
  const machine = useBetween(useBefore, useAfter, { ownCpuSeconds })
  const planned = settings.rate > 0 ? settings.rate * writers * settings.duration : null
  const { offered, refusedBy, dropped, failed, retried, batches, bytes } = summary
  const marks = [
    ...(generator.loopUse > GENERATOR_BOUND || generator.cpuSeconds / writers / seconds > GENERATOR_BOUND ? ['generator-bound'] : servingMarks(serving)),
    ...((machine.otherCores ?? 0) > NOISY_CORES || (machine.stealPercent ?? 0) > NOISY_STEAL_PERCENT ? ['noisy'] : []),
    ...(planned !== null && items < planned * KEPT_UP ? ['behind'] : [])
  ]
  return { seconds, planned, offered, items, refused: refusedBy ?? {}, dropped, failed, retried, batches, bytes, behindMs: summary.behindMs, generator, nodes, machine, marks, ...(serving && { serving }) }
}

/**
 * What the nodes hold, against what was acknowledged.
 * @param {Parameters<typeof measure>[0]} cell @param {import('./child.js').Ended} ended @param {LabServers} servers
 */
async function contentOf ({ load, settings }, { acknowledged }, servers) {
  const storage = storageOf(load, /** @type {any} */ (settings))
  const key = Array.from({ length: settings.partitions ?? 1 }, (_, partition) => partitionKey(servers.keyPrefix, FEED, partition))
  const expected = { storage, acknowledged, distinctIds: settings.ids, valueChange: settings.valueChange ?? 'always', batchItems: settings.batchItems }
  const ledgers = await Promise.all(urlsOf(servers).map(async (url) => {
    const connection = await openConnection(url, { name: 'freshet-lab', deadlineMs: DEADLINE_MS })
    try {
      return checkLedger(expected, await readInventory(connection, { storage, key }))
    } finally {
      connection.close()
    }
  }))
  // the worst of the nodes speaks for all
  const worst = ledgers.reduce((a, b) => b.missing + b.foreign + b.misplaced > a.missing + a.foreign + a.misplaced ? b : a)
  const { digest: _digest, ...ledger } = worst
  const itemsAcknowledged = acknowledged.reduce((sum, n) => sum + n, 0)
  return {
    itemsAcknowledged,
    itemsPresent: itemsAcknowledged - ledger.missing,
    ledger: { ...ledger, nodesEqual: ledgers.every(({ digest }) => digest === ledgers[0].digest) }
  }
}

/** @param {Parameters<typeof measure>[0]} cell @returns {Sample} */
const nothingOf = ({ level, arm, round }) => /** @type {any} */ ({
  arm,
  level,
  round,
  startedAt: '',
  seconds: 0,
  planned: null,
  offered: 0,
  items: 0,
  refused: {},
  dropped: 0,
  failed: 0,
  retried: 0,
  batches: 0,
  bytes: 0,
  itemsAcknowledged: 0,
  itemsPresent: 0,
  ledger: null,
  behindMs: null,
  generator: null,
  nodes: [],
  machine: null,
  marks: [],
  invariants: [],
  valid: false,
  error: null
})
