/**
 * Figures of the window of a measurement of orders.
 *
 * @typedef {{ mean: number, p50: number, p95: number, p99: number, max: number }} Latency
 * @typedef {{ seconds: number, planned: number, sent: number, answered: number, errors: number, httpMs: Latency, orderMs: Latency,
 *   placed: number, final: number, stuck: number, tracked: number, timeOuts: number, polls: number | null, polledMs: Latency | null,
 *   pushedMs: Latency | null, serverMs: Latency, inTime: number, cpuSeconds: Record<string, number[]>, memoryBytes: number, kills: number,
 *   cores: number, isLimited: boolean, outcomes: Record<string, number> }} OrderFigures `errors`: no reply, or 5xx; `stuck`: placed in the
 *   window and not final when all had had their time; `polls` of a tracked order, mean; `polledMs`, `pushedMs`: from when an order was due
 *   until its customer saw the end, `serverMs`: from placing to the end; `inTime`: orders that ended before a customer gives up;
 *   `cpuSeconds` of each process that lived at the end, by service; `memoryBytes` of all of them; `cores` of the machine; `isLimited`: the
 *   processor time of each was; `outcomes`: how many orders ended how
 */
import { availableParallelism } from 'node:os'
import { percentilesOf } from '../first-come/figures.js'
import { GIVE_UP_MS } from './customers.js'
import { isFinal } from './history.js'

/** @typedef {Awaited<ReturnType<import('./fleet.js').Fleet['usage']>>} Usage */

/**
 * @param {object} window
 * @param {import('./customers.js').Heard} window.heard @param {import('./history.js').Order[]} window.orders all that are stored
 * @param {number} window.seconds @param {number} window.planned @param {number} window.sent @param {number} window.kills
 * @param {boolean} window.isLimited
 * @param {{ before: Usage, after: Usage }} window.usage
 * @returns {OrderFigures}
 */
export function figuresOf ({ heard, orders, seconds, planned, sent, kills, isLimited, usage: { before, after } }) {
  const requests = heard.requests.filter(({ isWarmUp }) => !isWarmUp)
  const good = requests.filter(({ status }) => status > 0 && status < 500)
  const placed = new Set(heard.placed.flatMap(({ id, isWarmUp }) => isWarmUp ? [] : [id]))
  const ended = orders.filter(({ id, status }) => placed.has(id) && isFinal(status))
  const seen = heard.tracked.filter((one) => one.isFinal)
  const polled = heard.tracked.filter(({ isPolled }) => isPolled)
  const timesOf = (/** @type {boolean} */ isPolled) => {
    // a customer who has given up has waited too
    const ms = heard.tracked.filter((one) => one.isPolled === isPolled).map((one) => one.ms)
    return ms.length > 0 ? percentilesOf(ms) : null
  }
  const cpuSeconds = Object.fromEntries(Object.entries(after).map(([service, those]) => [service, those.map((one) =>
    one.cpuSeconds - (before[service].find(({ pid }) => pid === one.pid)?.cpuSeconds ?? 0))]))
  /** @type {Record<string, number>} */
  const outcomes = {}
  for (const { status, reason } of ended) outcomes[reason || status] = (outcomes[reason || status] ?? 0) + 1
  return {
    seconds,
    planned,
    sent,
    answered: good.length,
    errors: requests.length - good.length,
    httpMs: percentilesOf(good.map(({ ms }) => ms)),
    orderMs: percentilesOf(good.filter(({ kind }) => kind === 'order').map(({ ms }) => ms)),
    placed: placed.size,
    final: ended.length,
    stuck: placed.size - ended.length,
    tracked: heard.tracked.length,
    timeOuts: heard.tracked.length - seen.length,
    polls: polled.length > 0 ? polled.reduce((sum, { polls }) => sum + polls, 0) / polled.length : null,
    polledMs: timesOf(true),
    pushedMs: timesOf(false),
    serverMs: percentilesOf(ended.map(({ ms }) => ms)),
    inTime: ended.filter(({ ms }) => ms < GIVE_UP_MS).length,
    cpuSeconds,
    memoryBytes: Object.values(after).flat().reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
    kills,
    cores: availableParallelism(),
    isLimited,
    outcomes
  }
}
