/**
 * The window of a measurement: figures of all nodes and of the machine before and after it, the summary of the load, and marks
 * (L7).
 *
 * @typedef {import('./measurement.js').Cell} Cell
 * @typedef {import('../servers/own.js').LabServers} LabServers
 */
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { decidedOf } from '../../src/pipeline/index.js'
import { loadNamed } from '../plan/cells.js'
import { GENERATOR_BOUND } from '../analysis/limits.js'
import { watchCpu } from './cpu.js'
import { watchLag } from './lag.js'
import { machineUse, useBetween } from './machine.js'
import { marksOf } from '../analysis/marks.js'
import { isDisturbed } from '../cluster/disturbances.js'
import { figuresBetween, hasStayed, takeFigures, untilQuiet } from '../servers/figures.js'
import { shardsOf } from '../servers/shapes.js'

/** limit of the relay of --rtt-ms */
const RELAY_BYTES_A_SECOND = 20e6
const LOCAL = ['127.0.0.1', 'localhost', '[::1]']
const DEADLINE_MS = 20_000
/** within which the end of a server is noticed */
const NOTICED_WITHIN_MS = 500

/**
 * Whether the relay of --rtt-ms may be the limit (L16).
 * @param {{ cpuSeconds: number }} relay @param {{ netInputBytes: number }} primary @param {number} seconds
 */
const isRelayBound = ({ cpuSeconds }, { netInputBytes }, seconds) =>
  cpuSeconds / seconds > GENERATOR_BOUND || netInputBytes / seconds > RELAY_BYTES_A_SECOND

/** @param {LabServers} servers */
const urlsOf = (servers) => shardsOf(servers).flat()

/**
 * From the end of the warm-up until the replicas have what the primary has.
 * @param {Cell} cell
 * @param {{ servers: LabServers, load: import('./child.js').Child, serving: import('../serving/index.js').RunningServing | null,
 *   delay: import('./delay.js').Delay | null }} parts
 * @throws {FreshetError} SERVER_LOST, LOAD_FAILED, LAB_REPLICAS_BEHIND, and errors of the servers and of serving
 */
export async function watchWindow (cell, { servers, load, serving, delay }) {
  const died = Promise.race([
    servers.died.then((how) => {
      throw new FreshetError('SERVER_LOST', `a server ended during the measurement: ${how}`, { outcome: 'over' })
    }),
    ...(delay
      ? [delay.died.then((how) => { throw new FreshetError('SERVER_LOST', how, { outcome: 'over' }) })]
      : [])
  ])
  died.catch(() => {})
  try {
    return await watch(cell, { servers, load, serving, delay, died })
  } catch (error) {
    // prefer the end of a server as the reason
    await Promise.race([died, sleep(NOTICED_WITHIN_MS)])
    throw error
  }
}

/**
 * @param {Cell} cell
 * @param {{ servers: LabServers, load: import('./child.js').Child, serving: import('../serving/index.js').RunningServing | null,
 *   delay: import('./delay.js').Delay | null, died: Promise<never> }} parts
 */
async function watch ({ settings, contention }, { servers, load, serving, delay, died }) {
  const relayCpuSeconds = async () => await delay?.cpuSeconds() ?? 0
  const helpersCpuSeconds = async () => (await serving?.cpuSeconds() ?? 0) + await relayCpuSeconds()
  const filled = serving?.fill(load.measuring)
  filled?.catch(() => {})
  await Promise.race([load.measuring, died])
  const endsMs = performance.now() + settings.duration * 1000
  const [before, useBefore] = [await takeFigures(urlsOf(servers)), machineUse()]
  const [fromMs, windowStartedAt] = [performance.now(), new Date().toISOString()]
  const cpuBefore = process.cpuUsage()
  const [relayBefore, helpersBefore] = [await relayCpuSeconds(), await helpersCpuSeconds()]
  const over = new AbortController()
  // a disturbance may end the primary, and a cluster has several
  const isWatched = !servers.shards && !isDisturbed(contention)
  const watched = isWatched
    ? Promise.all([watchLag(urlsOf(servers), over.signal), watchCpu(urlsOf(servers), { seconds: settings.duration, over: over.signal })])
    : Promise.resolve([null, null])
  watched.catch(() => {})
  const measured = filled?.then(() => serving?.measure((endsMs - performance.now()) / 1000))
  const [, servingFigures] = await Promise.race([Promise.all([load.measured, measured]), died]).finally(() => over.abort())
  const windowSeconds = (performance.now() - fromMs) / 1000
  const [lagMs, cpuOverTime] = await watched
  // bids go on: what they cost after the window is none of its figures
  if (!contention) await Promise.all(shardsOf(servers).map((urls) => untilQuiet(urls, { deadlineMs: DEADLINE_MS })))
  const [after, useAfter] = [await takeFigures(urlsOf(servers)), machineUse()]
  load.looked()
  const { user, system } = process.cpuUsage(cpuBefore)
  const helpers = await helpersCpuSeconds() - helpersBefore
  const relay = delay ? { cpuSeconds: await relayCpuSeconds() - relayBefore } : null
  const ended = await Promise.race([load.ended, died])
  const served = serving && servingFigures ? await Promise.race([serving.settle(servingFigures, ended.acknowledged), died]) : undefined
  return {
    nodes: { before, after },
    use: { before: useBefore, after: useAfter },
    ended,
    relay,
    labCpuSeconds: (user + system) / 1e6 + helpers,
    /** part of a sample as it is */
    figures: { windowStartedAt, windowSeconds, lagMs, ...(cpuOverTime && { cpuOverTime }), ...(served && { serving: served }) }
  }
}

/**
 * @param {Cell} cell @param {Awaited<ReturnType<typeof watchWindow>>} window @param {LabServers} servers
 */
export function figuresOf ({ load, settings, contention }, window, servers) {
  const { nodes: { before, after }, use, ended: { summary }, relay, labCpuSeconds, figures } = window
  const { windowSeconds, serving } = figures
  const { items, seconds, offered, dropped, failed, retried, batches, bytes, behindMs, flushMs } = summary
  const stayed = before.map((node, i) => !isDisturbed(contention) || hasStayed(node, after[i]))
  const refused = summary.refusedBy ?? {}
  const nodes = figuresBetween(before.filter((_, i) => stayed[i]), after.filter((_, i) => stayed[i]),
    { items: decidedOf({ items, refused }), seconds: windowSeconds })
  const writers = settings.writers ?? 1
  const generator = {
    processes: writers * (loadNamed(load).processes ?? 1),
    cpuSeconds: (summary.writerCpuMicrosPerItem ?? 0) * items / 1e6,
    loopUse: summary.loopUse
  }
  const isHere = LOCAL.includes(new URL(servers.primaryUrl).hostname)
  const loadCpuSeconds = generator.cpuSeconds + (summary.gatewayCpuSeconds ?? 0)
  const ownCpuSeconds = labCpuSeconds + loadCpuSeconds + (isHere ? nodes.reduce((sum, node) => sum + node.cpuSeconds, 0) : 0)
  const machine = useBetween(use.before, use.after, { ownCpuSeconds })
  const planned = settings.rate > 0 ? settings.rate * writers * settings.duration : null
  const marks = [
    ...marksOf({ generator, machine, planned, items, refused, seconds, nodes, serving }),
    ...(relay && isRelayBound(relay, nodes[0], windowSeconds) ? ['relay-bound'] : [])
  ]
  const counts = { planned, offered, items, refused, dropped, failed, retried, batches, bytes }
  return { seconds, ...counts, behindMs, flushMs, ...figures, generator, nodes, machine, marks }
}
