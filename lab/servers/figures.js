/**
 * Figures of the nodes before and after a measurement, and their differences.
 *
 * Everything is a difference of the servers' own counters (INFO), so nothing is sampled. CPU time is that of the whole process
 * with its threads, without child processes (a full sync for a replica); `fullSyncs` shows those.
 *
 * @typedef {{ calls: number, usec: number }} CommandFigures
 * @typedef {import('../../src/store/index.js').NodeFigures & { mainThreadCpuSeconds: number | null, netInputBytes: number,
 *   netOutputBytes: number, connections: number, replicas: number, evictedKeys: number, commands: number,
 *   calls: Record<string, CommandFigures> | null }} LabNodeFigures `calls` by command, as the server names it; null = not
 *   reported
 * @typedef {object} SampleNode
 * @property {'primary' | 'replica'} role
 * @property {string} address
 * @property {string} engine
 * @property {number} cpuSeconds user and system, all threads
 * @property {number | null} mainThreadCpuSeconds null = not reported
 * @property {number | null} cpuMicrosPerItem null = no items
 * @property {number} cpuPercent of one core
 * @property {number} netInputBytes
 * @property {number} netOutputBytes including replication
 * @property {number | null} replicatedBytes growth of the replication offset of a primary with replicas; null = another node
 * @property {number} usedMemoryBytes at the end
 * @property {number} commands run, including those in scripts, without those about connections
 * @property {number | null} scriptSeconds in scripts and functions; null = not reported
 * @property {number} fullSyncs with replicas
 * @property {number} evictedKeys
 * @property {Record<string, number>} calls of commands by name
 */
import { setTimeout as pause } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { figuresIn, readInfo } from '../../src/store/index.js'
import { queryAll, queryNode } from './query.js'

/** A query costs the node CPU time, so polling slows down. */
const FIRST_POLL_MS = 5
const LONGEST_POLL_MS = 100
const SCRIPTS = ['eval', 'eval_ro', 'evalsha', 'evalsha_ro', 'fcall', 'fcall_ro']
/** About connections and replication, not the feed. Names before a `|`. */
const CONNECTION_COMMANDS = ['auth', 'client', 'command', 'config', 'hello', 'info', 'ping', 'psync', 'replconf', 'role', 'select']

/**
 * @param {string[]} urls the primary first
 * @param {{ deadlineMs?: number }} [options]
 * @returns {Promise<LabNodeFigures[]>} in the order of the addresses
 * @throws {FreshetError} SERVER_UNREACHABLE, SERVER_UNTRUSTED, SERVER_REFUSED, SERVER_LOST
 */
export const takeFigures = (urls, options) => queryAll(urls, async (connection) => {
  const { address } = connection
  const [info, stats] = (await connection.sendAll([['INFO'], ['INFO', 'commandstats']])).map((/** @type {unknown} */ reply) =>
    readInfo(reply, address))
  return labFiguresIn(info, stats, address)
}, options)

/** @param {Record<string, string>} info @param {Record<string, string>} stats @param {string} address @returns {LabNodeFigures} */
function labFiguresIn (info, stats, address) {
  const mainThread = Number(info.used_cpu_user_main_thread) + Number(info.used_cpu_sys_main_thread)
  const calls = Object.fromEntries(Object.entries(stats).filter(([name]) => name.startsWith('cmdstat_')).map(([name, text]) =>
    [name.slice('cmdstat_'.length), { calls: numberIn(text, 'calls'), usec: numberIn(text, 'usec') }]))
  return {
    ...figuresIn(info, address),
    mainThreadCpuSeconds: Number.isNaN(mainThread) ? null : mainThread,
    netInputBytes: Number(info.total_net_input_bytes),
    netOutputBytes: Number(info.total_net_output_bytes),
    connections: Number(info.total_connections_received),
    replicas: Number(info.connected_slaves ?? 0),
    evictedKeys: Number(info.evicted_keys ?? 0),
    commands: Number(info.total_commands_processed),
    calls: Object.keys(calls).length ? calls : null
  }
}

/** @param {string} text calls=1,usec=56,usec_per_call=56.00 @param {string} name */
const numberIn = (text, name) => Number(new RegExp(`(?:^|,)${name}=(\\d+)`).exec(text)?.[1] ?? 0)

/**
 * @param {LabNodeFigures[]} before
 * @param {LabNodeFigures[]} after of the same nodes in the same order
 * @param {{ items: number, seconds: number }} window
 * @returns {SampleNode[]}
 * @throws {FreshetError} LAB_SERVERS_CHANGED: another process or role
 */
export const figuresBetween = (before, after, window) => before.map((node, i) => between(node, after[i], window))

/** @param {LabNodeFigures} before @param {LabNodeFigures} after @param {{ items: number, seconds: number }} window @returns {SampleNode} */
function between (before, after, { items, seconds }) {
  const { address, role, engine } = after
  const change = changeOf(before, after)
  if (change) {
    throw new FreshetError('LAB_SERVERS_CHANGED',
      `the node ${address} ${change} during the measurement, so its figures are not usable; repeat the measurement`)
  }
  const cpuSeconds = after.cpuSeconds - before.cpuSeconds
  const calls = callsBetween(before.calls, after.calls)
  const other = sumOf(calls, (name) => CONNECTION_COMMANDS.includes(name.split('|')[0]), ({ calls }) => calls)
  return {
    role,
    address,
    engine,
    cpuSeconds,
    mainThreadCpuSeconds: before.mainThreadCpuSeconds === null || after.mainThreadCpuSeconds === null
      ? null
      : after.mainThreadCpuSeconds - before.mainThreadCpuSeconds,
    cpuMicrosPerItem: items > 0 ? cpuSeconds * 1e6 / items : null,
    cpuPercent: cpuSeconds / seconds * 100,
    netInputBytes: after.netInputBytes - before.netInputBytes,
    netOutputBytes: after.netOutputBytes - before.netOutputBytes,
    replicatedBytes: role === 'primary' && after.replicas > 0 ? after.offset - before.offset : null,
    usedMemoryBytes: after.usedMemoryBytes,
    commands: after.commands - before.commands - other,
    scriptSeconds: after.calls && sumOf(calls, (name) => SCRIPTS.includes(name), ({ usec }) => usec) / 1e6,
    fullSyncs: after.fullSyncs - before.fullSyncs,
    evictedKeys: after.evictedKeys - before.evictedKeys,
    calls: Object.fromEntries(Object.entries(calls).map(([name, { calls }]) => [name, calls]))
  }
}

/**
 * Whether a node neither restarted nor changed its role: others have no figures where a measurement replaces nodes.
 * @param {LabNodeFigures} before @param {LabNodeFigures} after
 */
export const hasStayed = (before, after) => changeOf(before, after) === null

/** @param {LabNodeFigures} before @param {LabNodeFigures} after @returns {string | null} why they cannot be compared */
function changeOf (before, after) {
  if (after.runId !== before.runId) return 'restarted'
  if (after.role !== before.role) return `became a ${after.role}`
  const counters = /** @type {const} */ (['cpuSeconds', 'netInputBytes', 'netOutputBytes', 'commands', 'fullSyncs', 'evictedKeys'])
  const isReset = counters.some((name) => after[name] < before[name]) ||
    Object.entries(before.calls ?? {}).some(([name, { calls }]) => (after.calls?.[name]?.calls ?? 0) < calls)
  return isReset ? 'had its counters reset (CONFIG RESETSTAT)' : null
}

/**
 * @param {LabNodeFigures['calls']} before
 * @param {LabNodeFigures['calls']} after
 * @returns {Record<string, CommandFigures>} of commands that were called
 */
function callsBetween (before, after) {
  const differences = Object.entries(after ?? {}).map(([name, { calls, usec }]) => /** @type {const} */ ([name, {
    calls: calls - (before?.[name]?.calls ?? 0),
    usec: usec - (before?.[name]?.usec ?? 0)
  }]))
  return Object.fromEntries(differences.filter(([, { calls }]) => calls > 0))
}

/**
 * @param {Record<string, CommandFigures>} calls
 * @param {(name: string) => boolean} which
 * @param {(figures: CommandFigures) => number} read
 */
const sumOf = (calls, which, read) => Object.entries(calls).reduce((sum, [name, figures]) => which(name) ? sum + read(figures) : sum, 0)

/**
 * Waits until every replica has reached the primary's current offset.
 * @param {string[]} urls the primary first
 * @param {{ deadlineMs: number }} options
 * @returns {Promise<void>}
 * @throws {FreshetError} LAB_REPLICAS_BEHIND, LAB_SERVERS_CHANGED, and those of takeFigures
 */
export async function untilQuiet ([primaryUrl, ...replicaUrls], { deadlineMs }) {
  const until = performance.now() + deadlineMs
  const { offset } = await queryNode(primaryUrl, positionOf, { deadlineMs })
  await queryAll(replicaUrls, async (connection) => {
    for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(pollMs * 2, LONGEST_POLL_MS)) {
      const at = await positionOf(connection)
      if (at.role !== 'replica') {
        throw new FreshetError('LAB_SERVERS_CHANGED', `the node ${connection.address} is no longer a replica; repeat the measurement`)
      }
      if (at.linkUp && at.offset >= offset) return
      if (performance.now() > until) {
        throw new FreshetError('LAB_REPLICAS_BEHIND', `the replica ${connection.address} is ` +
          `${at.linkUp ? `${offset - at.offset} bytes behind its primary` : 'not linked to its primary'} after ${deadlineMs / 1000} s`)
      }
      await pause(pollMs)
    }
  }, { deadlineMs })
}

/** @param {import('./query.js').Connection} connection */
const positionOf = async (connection) =>
  figuresIn(readInfo(await connection.send('INFO', 'replication'), connection.address), connection.address)
