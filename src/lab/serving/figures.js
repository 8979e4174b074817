/**
 * What a sample says of serving, what must hold of it whatever the figures are, and what a reader of them should know.
 *
 * @typedef {{ p50: number, p95: number, p99: number, max: number }} Percentiles
 *
 * @typedef {object} ServingFigures
 * @property {'reader' | 'ask' | 'bare'} by
 * @property {import('./plan.js').Serving['asks']} [asks] absent: pages
 * @property {number} processes
 * @property {number} connections of the client, spread over the processes
 * @property {number} everyMs 0 = each connection asked again as soon as it was answered
 * @property {number} seconds of the client's window, which lies within the load's
 * @property {import('./asking.js').Requests} requests
 * @property {number | null} requestsPerSecond answered, whatever the status; null where they are pushed to: a request is a stream then
 * @property {Percentiles | null} latencyMs from when a request was due to the end of its answer, or to the first event of a stream;
 *   null without answers
 * @property {number | null} bytesPerAnswer of bodies; null without answers, and of streams
 * @property {number} cpuSeconds of the serving processes
 * @property {number | null} cpuMicrosPerRequest null without answers, and of streams
 * @property {number} loopUse largest share of an event loop of a serving process, 0 to 1
 * @property {number} [memoryBytes] resident, of the serving processes at the end of the window
 * @property {{ looked: number, wrong: number, detail: string | null, newest?: number[] }} answers that were looked at;
 *   `newest`: the greatest number of each writer in any of them
 * @property {import('./freshness.js').Freshness | null} [freshness] where that was asked; null: nothing was seen
 * @property {import('./exports.js').Everything} [everything] where that was asked
 * @property {import('./following-figures.js').FollowingFigures} [following] where clients follow a feed
 * @property {{ cpuSeconds: number, loopUse: number, connectionsLost: number }} client
 */
import { GENERATOR_BOUND } from '../limits.js'
import { percentilesInOrder } from '../percentiles.js'
import { followingInvariants } from './following-figures.js'
import { SEEN_WITHIN_MS } from './freshness.js'
import { usageBetween } from './usage.js'

/**
 * @param {Pick<import('./plan.js').Serving, 'by' | 'asks' | 'processes' | 'connections' | 'everyMs'>} serving
 * @param {any} asked what the client told
 * @param {import('./usage.js').Usage[]} before of the serving processes @param {import('./usage.js').Usage[]} after
 * @returns {ServingFigures}
 */
export function servingFigures ({ by, asks, processes, connections, everyMs }, asked, before, after) {
  const { requests, latencyMs, bytes, answers, freshness, seconds, cpuSeconds: clientCpuSeconds, loopUse: clientLoopUse, connectionsLost } = asked
  const uses = before.map((usage, i) => usageBetween(usage, after[i]))
  const cpuSeconds = uses.reduce((sum, use) => sum + use.cpuSeconds, 0)
  const { answered } = requests
  const isAnswers = answered > 0 && asks !== 'push'
  return {
    by,
    asks,
    processes,
    connections,
    everyMs,
    seconds,
    requests,
    requestsPerSecond: asks === 'push' ? null : answered / seconds,
    latencyMs,
    bytesPerAnswer: isAnswers ? bytes / answered : null,
    cpuSeconds,
    cpuMicrosPerRequest: isAnswers ? cpuSeconds * 1e6 / answered : null,
    loopUse: Math.max(...uses.map(({ loopUse }) => loopUse)),
    memoryBytes: after.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
    answers,
    ...(asks === 'freshness' && { freshness }),
    client: { cpuSeconds: clientCpuSeconds, loopUse: clientLoopUse, connectionsLost }
  }
}

/** Whether the client is what was measured (L7), or how seldom it looked. @param {ServingFigures | undefined} serving @returns {string[]} */
export const servingMarks = (serving) => serving && (serving.client.loopUse > GENERATOR_BOUND || isSeldom(serving.freshness)) ? ['generator-bound'] : []

/** @param {import('./freshness.js').Freshness | null} [freshness] */
const isSeldom = (freshness) => !!freshness && freshness.betweenMs.p99 > freshness.p99 / 2

/**
 * @param {ServingFigures | undefined} serving undefined: nothing was served
 * @returns {import('../check.js').Invariant[]}
 */
export function servingInvariants (serving) {
  if (!serving) return []
  const { requests, answers, freshness, everything, following } = serving
  const { planned, sent, answered, missing, errors, timeouts, byStatus } = requests
  const counted = Object.values(byStatus).reduce((sum, n) => sum + n, 0)
  return [
    {
      name: 'answers are right',
      ok: answers.looked > 0 && answers.wrong === 0,
      detail: `${answers.looked} looked at, ${answers.wrong} wrong${answers.detail ? `: ${answers.detail}` : ''}`
    },
    {
      name: 'requests add up',
      ok: sent === answered + missing && missing === errors + timeouts && answered === counted && (planned === null || sent <= planned),
      detail: `${planned === null ? '' : `${planned} planned; `}${sent} sent; ${answered} answered + ${missing} missing (${errors} errors + ${timeouts} timeouts)`
    },
    ...(freshness === undefined ? [] : freshnessInvariants(freshness)),
    ...(everything ? everythingInvariants(everything, requests) : []),
    ...(following ? followingInvariants(following, serving) : [])
  ]
}

/** @param {import('./freshness.js').Freshness | null} freshness @returns {import('../check.js').Invariant[]} */
const freshnessInvariants = (freshness) => [
  {
    name: 'what was due was seen',
    ok: freshness !== null && freshness.seen === freshness.due && freshness.due > 0,
    detail: freshness ? `items of ${freshness.due} ms were due, those of ${freshness.seen} ms were seen within ${SEEN_WITHIN_MS} ms of the last` : 'nothing was seen'
  },
  {
    name: 'percentiles of freshness are in order',
    ok: freshness === null || (percentilesInOrder(freshness) && percentilesInOrder(freshness.betweenMs)),
    detail: JSON.stringify(freshness)
  }
]

/** @param {import('./exports.js').Everything} everything @param {import('./asking.js').Requests} requests @returns {import('../check.js').Invariant[]} */
const everythingInvariants = ({ dueItems, mostItems, liveItems, lastMs, firstMs, delayMs, items }, { answered }) => [
  {
    name: 'it was ready with all items',
    ok: liveItems >= dueItems && liveItems <= mostItems,
    detail: `${liveItems}; expected ${dueItems === mostItems ? dueItems : `${dueItems} to ${mostItems}`}`
  },
  {
    name: 'every answer was timed',
    ok: answered > 0 && [lastMs, firstMs, delayMs, items].every((values) => values.length === answered) && firstMs.every((ms, i) => ms > 0 && ms <= lastMs[i]),
    detail: `${answered} answers; ${lastMs.length} times to the last byte`
  }
]
