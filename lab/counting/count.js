/**
 * Counts one load: its servers run it in two sizes, and the difference is what the units between them cost. Start, connections and first
 * writes are in both.
 *
 *     small   start, first pass over all ids, n batches                  A instructions
 *     large   start, first pass over all ids, n + m batches              B          (B - A - idle seconds) / (m batches of units)
 *
 * @typedef {import('./servers.js').NodeCount} NodeCount
 * @typedef {import('./servers.js').Options} ServerOptions
 * @typedef {{ run: (batches: number) => Promise<void>, close: (drainMs?: number) => Promise<void> }} Counted `run` sends as many
 *   batches, one at a time; `drainMs` for what is not written yet
 * @typedef {object} Load
 * @property {ServerOptions['form']} form
 * @property {number} batchUnits units of a batch
 * @property {number} small batches
 * @property {number} large batches
 * @property {ServerOptions['fill']} [fill] before the replica of form `read`
 * @property {(servers: { primaryUrl: string, replicaUrls: string[] }) => Promise<Counted>} open
 *
 * @typedef {{ role: 'primary' | 'replica', instructions: number, commands: number, bytesIn: number, bytesOut: number,
 *   replicatedBytes: number, calls: Record<string, number> }} PerUnit of a node
 * @typedef {{ nodes: PerUnit[], units: number, batches: number }} Count
 */
import { syncBuiltinESMExports } from 'node:module'
import { performance } from 'node:perf_hooks'
import timers from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { openCountedServers } from './servers.js'

/** A server under valgrind is about so many times slower. */
const SLOWER = 60
const IDLE_SECONDS = 5
const { setTimeout, setInterval } = globalThis
const { setTimeout: pause } = timers
const now = performance.now.bind(performance)
const { now: dateNow } = Date

/**
 * Makes this process as slow as its server. A reply then takes as long as it does without valgrind, which the choice of a form depends on
 * (ids-append.js), deadlines hold, and what is done once a second is done as often per item as in a fast feed.
 * @returns {() => void} ends it
 */
function slowTime () {
  const beganMs = Date.now()
  performance.now = () => now() / SLOWER
  Date.now = () => Math.floor(beganMs + (dateNow() - beganMs) / SLOWER)
  const slow = (/** @type {any} */ timer) => (/** @type {any} */ work, ms = 0, /** @type {any[]} */ ...args) =>
    timer(work, ms * SLOWER, ...args)
  Object.assign(globalThis, { setTimeout: slow(setTimeout), setInterval: slow(setInterval) })
  timers.setTimeout = (ms = 0, value, options) => pause(ms * SLOWER, value, options)
  syncBuiltinESMExports()
  return () => {
    performance.now = now
    Date.now = dateNow
    Object.assign(globalThis, { setTimeout, setInterval })
    timers.setTimeout = pause
    syncBuiltinESMExports()
  }
}

/**
 * @param {Load} load @param {Omit<ServerOptions, 'form'>} options
 * @param {{ idlePerSecond?: number }} [known] instructions of the first node when it is only connected to
 * @returns {Promise<Count>}
 * @throws {import('../errors.js').FreshetError} COUNT_FAILED, LAB_REPLICAS_BEHIND, SERVER_LOST, and errors of the load
 */
export async function count (load, options, { idlePerSecond = 0 } = {}) {
  const restore = slowTime()
  try {
    const [small, large] = await both([load.small, load.large].map((batches) => countSize(load, options, batches)))
    const units = (load.large - load.small) * load.batchUnits
    const idle = idlePerSecond * (large.seconds - small.seconds)
    return {
      units,
      batches: load.large - load.small,
      nodes: large.nodes.map((after, i) => perUnit(small.nodes[i], after, { units, idle: i === 0 ? idle : 0 }))
    }
  } finally {
    restore()
  }
}

/**
 * Fails only after all have ended: until then their servers run, in a folder that the caller removes.
 * @template T @param {Promise<T>[]} sizes @returns {Promise<T[]>}
 */
async function both (sizes) {
  await Promise.allSettled(sizes)
  return Promise.all(sizes)
}

/** @param {Load} load @param {Omit<ServerOptions, 'form'>} options @param {number} batches @param {number} [idleSeconds] */
async function countSize ({ form, fill, open }, options, batches, idleSeconds = 0) {
  const servers = await openCountedServers({ ...options, form, fill })
  try {
    const beganMs = now()
    const load = await Promise.race([servers.lost, open(servers)])
    try {
      await Promise.race([servers.lost, load.run(batches)])
      if (idleSeconds > 0) await pause(idleSeconds * 1000)
    } catch (error) {
      await load.close(0).catch(() => {})
      throw error
    }
    await load.close()
    const seconds = (now() - beganMs) / 1000
    return { seconds, nodes: await servers.end() }
  } finally {
    await servers.close()
  }
}

/**
 * @param {NodeCount} before @param {NodeCount} after @param {{ units: number, idle: number }} of
 * @returns {PerUnit}
 * @throws {FreshetError} SERVER_LOST: a connection was lost in one of the sizes
 */
function perUnit (before, after, { units, idle }) {
  const more = after.connections - before.connections
  if (more !== 0) {
    throw new FreshetError('SERVER_LOST', `the sizes of the load made ${before.connections} and ${after.connections} connections to the ` +
      `${after.role}: one was lost, and what was done for a new one would be counted`)
  }
  const names = [...new Set([...Object.keys(before.calls), ...Object.keys(after.calls)])]
  const calls = names.map((name) => /** @type {const} */ ([name, ((after.calls[name] ?? 0) - (before.calls[name] ?? 0)) / units]))
  return {
    role: after.role,
    instructions: (after.instructions - before.instructions - idle) / units,
    commands: (after.commands - before.commands) / units,
    bytesIn: (after.netInputBytes - before.netInputBytes) / units,
    bytesOut: (after.netOutputBytes - before.netOutputBytes) / units,
    replicatedBytes: (after.offset - before.offset) / units,
    calls: Object.fromEntries(calls.filter(([, perUnit]) => perUnit !== 0))
  }
}

/**
 * Instructions of an idle second of the first node, with the connections of a load.
 * @param {Load} load @param {Omit<ServerOptions, 'form'>} options @returns {Promise<number>}
 */
export async function countIdle (load, options) {
  const restore = slowTime()
  try {
    const [still, idle] = await both([0, IDLE_SECONDS].map((seconds) => countSize(load, options, load.small, seconds)))
    return Math.max(0, (idle.nodes[0].instructions - still.nodes[0].instructions) / (idle.seconds - still.seconds))
  } finally {
    restore()
  }
}
