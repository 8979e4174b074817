/**
 * Figures of the window of a measurement of orders.
 *
 * @typedef {{ mean: number, p50: number, p95: number, p99: number, max: number }} Latency
 * @typedef {{ seconds: number, planned: number, sent: number, answered: number, errors: number, httpMs: Latency, orderMs: Latency,
 *   reservationMs?: Latency, customerMs?: Latency, memoryByService?: Record<string, number>,
 *   placed: number, final: number, stuck: number, tracked: number, timeOuts: number, polls: number | null, polledMs: Latency | null,
 *   pushedMs: Latency | null, seenAfterMs?: Latency | null, serverMs: Latency, inTime: number, cpuSeconds: Record<string, number[]>,
 *   memoryBytes: number, kills: number, handOverMs?: Latency | null, cores: number, isLimited: boolean, hasServers?: boolean,
 *   outcomes: Record<string, number> }} OrderFigures `errors`: no reply, or 5xx; `stuck`: placed in the window and not final when all had
 *   had their time; `polls` of a tracked order, mean; `polledMs`, `pushedMs`: from when an order was due until its customer saw the end,
 *   `seenAfterMs`: from its end until a polling customer saw it, `serverMs`: from placing to the end; `inTime`: orders that ended before a
 *   customer gives up; `cpuSeconds` of each process that lived at the end, by service, provider and database; `memoryBytes` of all of
 *   them; `handOverMs`: from the kill of consumers until each of their partitions went on, by kill; `cores` of the machine; `isLimited`:
 *   the processor time of each was; `hasServers`: orders use Valkey; `outcomes`: how many orders ended how. Absent in older results:
 *   `seenAfterMs`, `handOverMs`, `reservationMs`, `customerMs`, `memoryByService`, `hasServers`
 */
import { availableParallelism } from 'node:os'
import { countEach } from '../../analysis/counts.js'
import { percentilesOf } from '../../analysis/percentiles.js'
import { GIVE_UP_MS } from './customers.js'
import { isFinal } from './history.js'

/** what answers and drives, without the provider and the database */
export const SERVICES = Object.freeze(['gateway', 'reader', 'consumers'])
/** a killed process has a lease of at least 2 s left; what it had sent before takes effect earlier */
const STILL_ITS_OWN_MS = 500
/** steps that no owner makes */
const OF_CLIENTS = Object.freeze(['placed', 'cancel_requested'])

/** @typedef {Awaited<ReturnType<import('./fleet.js').Fleet['usage']>>} Usage */

/** @param {number[]} ms */
const percentilesOrNone = (ms) => ms.length > 0 ? percentilesOf(ms) : null

/**
 * From the end of an order until a polling customer saw it.
 * @param {import('./customers.js').Tracked[]} tracked @param {import('./history.js').Order[]} orders
 */
function seenAfter (tracked, orders) {
  const known = new Map(orders.map((order) => [order.id, order]))
  return tracked.filter((one) => one.isPolled && one.isFinal).flatMap(({ id, seenMs }) => {
    const { placedMs, ms = 0 } = known.get(id) ?? {}
    return placedMs === undefined ? [] : [seenMs - placedMs - ms]
  })
}

/**
 * Of each kill, until the last partition of the killed process went on. One in which nothing waited is left out.
 * @param {import('./fleet.js').Killed[]} killed @param {import('./history.js').Event[]} events
 */
function handOvers (killed, events) {
  /** times of steps by partition @type {Map<number, number[]>} */
  const steps = new Map()
  for (const { type, partition = 0, atMs = 0 } of killed.length > 0 ? events : []) {
    if (OF_CLIENTS.includes(type)) continue
    const times = steps.get(partition)
    if (times) times.push(atMs)
    else steps.set(partition, [atMs])
  }
  return killed.flatMap(({ atMs: killedMs, partitions }) => {
    const waits = partitions.flatMap((partition) => {
      const after = (steps.get(partition) ?? []).filter((atMs) => atMs > killedMs + STILL_ITS_OWN_MS)
      return after.length > 0 ? [after.reduce((least, atMs) => Math.min(least, atMs)) - killedMs] : []
    })
    return waits.length > 0 ? [Math.max(...waits)] : []
  })
}

/**
 * @param {object} window
 * @param {import('./customers.js').Heard} window.heard @param {import('./history.js').Order[]} window.orders all that are stored
 * @param {import('./history.js').Event[]} window.events @param {import('./fleet.js').Killed[]} window.killed
 * @param {number} window.seconds @param {number} window.planned @param {number} window.sent @param {number} window.kills
 * @param {boolean} window.isLimited @param {boolean} [window.hasServers]
 * @param {{ before: Usage, after: Usage }} window.usage
 * @returns {OrderFigures}
 */
export function figuresOf (window) {
  const { heard, orders, events, killed, seconds, planned, sent, kills, isLimited, hasServers = true, usage: { before, after } } = window
  const requests = heard.requests.filter(({ isWarmUp }) => !isWarmUp)
  const good = requests.filter(({ status }) => status > 0 && status < 500)
  const replyMs = (/** @type {string} */ kind) => percentilesOf(good.filter((one) => one.kind === kind).map(({ ms }) => ms))
  const placed = new Set(heard.placed.flatMap(({ id, isWarmUp }) => isWarmUp ? [] : [id]))
  const ended = orders.filter(({ id, status }) => placed.has(id) && isFinal(status))
  const seen = heard.tracked.filter((one) => one.isFinal)
  const polled = heard.tracked.filter(({ isPolled }) => isPolled)
  // a customer who has given up has waited too
  const timesOf = (/** @type {boolean} */ isPolled) =>
    percentilesOrNone(heard.tracked.filter((one) => one.isPolled === isPolled).map((one) => one.ms))
  const cpuSeconds = Object.fromEntries(Object.entries(after).map(([service, those]) => [service, those.map((one) =>
    one.cpuSeconds - (before[service].find(({ pid }) => pid === one.pid)?.cpuSeconds ?? 0))]))
  return {
    seconds,
    planned,
    sent,
    answered: good.length,
    errors: requests.length - good.length,
    httpMs: percentilesOf(good.map(({ ms }) => ms)),
    orderMs: replyMs('order'),
    reservationMs: replyMs('reservation'),
    customerMs: replyMs('customer'),
    placed: placed.size,
    final: ended.length,
    stuck: placed.size - ended.length,
    tracked: heard.tracked.length,
    timeOuts: heard.tracked.length - seen.length,
    polls: polled.length > 0 ? polled.reduce((sum, { polls }) => sum + polls, 0) / polled.length : null,
    polledMs: timesOf(true),
    pushedMs: timesOf(false),
    seenAfterMs: percentilesOrNone(seenAfter(heard.tracked, orders)),
    serverMs: percentilesOf(ended.map(({ ms }) => ms)),
    inTime: ended.filter(({ ms }) => ms < GIVE_UP_MS).length,
    cpuSeconds,
    memoryBytes: SERVICES.flatMap((service) => after[service] ?? []).reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
    memoryByService: Object.fromEntries(Object.entries(after).map(([service, those]) =>
      [service, those.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)])),
    kills,
    handOverMs: percentilesOrNone(handOvers(killed, events)),
    cores: availableParallelism(),
    isLimited,
    hasServers,
    outcomes: countEach(ended.map(({ status, reason }) => reason || status))
  }
}
