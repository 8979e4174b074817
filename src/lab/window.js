/**
 * The window of a measurement: figures of all nodes and of the machine before and after it, what the load says of it, and
 * the marks of what a figure suffers from.
 *
 * @typedef {import('./measurement.js').Cell} Cell
 * @typedef {import('./servers/own.js').LabServers} LabServers
 */
import { performance } from 'node:perf_hooks'
import { FreshetError } from '../errors.js'
import { machineUse, useBetween } from './machine.js'
import { figuresBetween, takeFigures, untilQuiet } from './servers/figures.js'
import { servingMarks } from './serving/figures.js'

/** Beyond this share of an event loop, or of a core, the load is what was measured (L7). */
const GENERATOR_BOUND = 0.8
/** Cores used by processes that are none of ours, and stolen time in percent, above which a run is marked. */
const NOISY_CORES = 0.15
const NOISY_STEAL_PERCENT = 2
/** A load that reached less of its rate did not keep up. */
const KEPT_UP = 0.97
const LOCAL = ['127.0.0.1', 'localhost', '[::1]']
const DEADLINE_MS = 20_000

/** @param {LabServers} servers */
const urlsOf = (servers) => [servers.primaryUrl, ...servers.replicaUrls]

/**
 * From the end of the warm-up until the replicas have what the primary has.
 * @param {Cell} cell
 * @param {{ servers: LabServers, load: import('./child.js').Child, serving: import('./serving/index.js').RunningServing | null,
 *   delay: import('./delay.js').Delay | null }} parts
 * @throws {FreshetError} SERVER_LOST, LOAD_FAILED, LAB_REPLICAS_BEHIND, and what the servers and serving say
 */
export async function watchWindow ({ settings }, { servers, load, serving, delay }) {
  const died = Promise.race([
    servers.died.then((how) => { throw new FreshetError('SERVER_LOST', `a server ended during the measurement: ${how}`, { outcome: 'over' }) }),
    ...(delay ? [delay.died.then((how) => { throw new FreshetError('SERVER_LOST', `the relay that delays ended ${how}`, { outcome: 'over' }) })] : [])
  ])
  died.catch(() => {})
  const helpersCpuSeconds = async () => (await serving?.cpuSeconds() ?? 0) + (await delay?.cpuSeconds() ?? 0)
  const filled = serving?.fill(load.measuring)
  filled?.catch(() => {})
  await Promise.race([load.measuring, died])
  const endsMs = performance.now() + settings.duration * 1000
  const [before, useBefore] = [await takeFigures(urlsOf(servers)), machineUse()]
  const fromMs = performance.now()
  const cpuBefore = process.cpuUsage()
  const helpersBefore = await helpersCpuSeconds()
  const served = filled?.then(() => serving?.measure((endsMs - performance.now()) / 1000))
  const [ended, servingFigures] = await Promise.race([Promise.all([load.ended, served]), died])
  const windowSeconds = (performance.now() - fromMs) / 1000
  await untilQuiet(urlsOf(servers), { deadlineMs: DEADLINE_MS })
  const [after, useAfter] = [await takeFigures(urlsOf(servers)), machineUse()]
  const { user, system } = process.cpuUsage(cpuBefore)
  const helpers = await helpersCpuSeconds() - helpersBefore
  return { before, after, useBefore, useAfter, ended, windowSeconds, serving: servingFigures, labCpuSeconds: (user + system) / 1e6 + helpers }
}

/**
 * @param {Cell} cell @param {Awaited<ReturnType<typeof watchWindow>>} window @param {LabServers} servers
 */
export function figuresOf ({ settings }, { before, after, useBefore, useAfter, ended, windowSeconds, serving, labCpuSeconds }, servers) {
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
    ...(planned !== null && items < planned * KEPT_UP ? ['behind'] : []),
    ...(nodes.some(({ fullSyncs }) => fullSyncs > 0) ? ['full copy'] : []),
    ...(nodes.some(({ evictedKeys }) => evictedKeys > 0) ? ['evicted'] : [])
  ]
  return { seconds, windowSeconds, planned, offered, items, refused: refusedBy ?? {}, dropped, failed, retried, batches, bytes, behindMs: summary.behindMs, generator, nodes, machine, marks, ...(serving && { serving }) }
}
