/**
 * Serving in a sample: its figures, invariants and marks.
 *
 * @typedef {import('./latencies.js').Percentiles} Percentiles
 *
 * @typedef {object} ServingFigures
 * @property {import('./plan.js').Serving['by']} by
 * @property {import('./plan.js').Serving['asks']} [asks] absent = pages
 * @property {number} processes
 * @property {number} connections of the client, spread over the processes
 * @property {number} everyMs 0 = closed loop
 * @property {number} seconds of the client's window, which lies within the load's
 * @property {import('./request-loop.js').Requests} requests
 * @property {number | null} requestsPerSecond responses, whatever the status; null for push, where a request is a stream
 * @property {Percentiles | null} latencyMs from when a request was due to the end of its response, or to the first event of a stream;
 *   null without responses
 * @property {number | null} bytesPerAnswer of bodies; null without responses, and for push
 * @property {number} [itemsPerAnswer] of pages that were read; absent: none was, or asks is not pages
 * @property {Percentiles | null} [newestAgeMs] of the newest item when its page arrived, since its intended append; null: items do not
 *   arrive steadily
 * @property {number} cpuSeconds of the serving processes
 * @property {number | null} cpuMicrosPerRequest null without responses, and for push
 * @property {number} loopUse largest share of an event loop of a serving process, 0 to 1
 * @property {number} [memoryBytes] resident, of the serving processes at the end of the window
 * @property {{ looked: number, wrong: number, detail: string | null, newest?: number[] }} answers responses that were checked;
 *   `newest`: the greatest number of each writer in any of them
 * @property {import('./freshness.js').Freshness | null} [freshness] with asks freshness; null: nothing was seen
 * @property {import('./exports.js').Everything} [everything] with asks everything
 * @property {import('./following-figures.js').FollowingFigures} [following] with asks push or poll
 * @property {{ cpuSeconds: number, loopUse: number, connectionsLost: number }} client
 */
import { GENERATOR_BOUND, KEPT_UP } from '../analysis/limits.js'
import { percentilesInOrder } from '../analysis/percentiles.js'
import { followingInvariants } from './following-figures.js'
import { SEEN_WITHIN_MS } from './freshness.js'
import { usageBetween } from './usage.js'

/**
 * @param {Pick<import('./plan.js').Serving, 'by' | 'asks' | 'processes' | 'connections' | 'everyMs'>} serving
 * @param {any} outcomes as the client reports them
 * @param {import('./usage.js').Usage[]} before of the serving processes @param {import('./usage.js').Usage[]} after
 * @returns {ServingFigures}
 */
export function servingFigures ({ by, asks, processes, connections, everyMs }, outcomes, before, after) {
  const {
    requests, latencyMs, bytes, answers, itemsPerAnswer, newestAgeMs, freshness, seconds,
    cpuSeconds: clientCpuSeconds, loopUse: clientLoopUse, connectionsLost
  } = outcomes
  const uses = before.map((usage, i) => usageBetween(usage, after[i]))
  const cpuSeconds = uses.reduce((sum, use) => sum + use.cpuSeconds, 0)
  const { answered } = requests
  const hasResponses = answered > 0 && asks !== 'push'
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
    bytesPerAnswer: hasResponses ? bytes / answered : null,
    ...(itemsPerAnswer !== undefined && { itemsPerAnswer, newestAgeMs }),
    cpuSeconds,
    cpuMicrosPerRequest: hasResponses ? cpuSeconds * 1e6 / answered : null,
    loopUse: Math.max(...uses.map(({ loopUse }) => loopUse)),
    memoryBytes: after.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
    answers,
    ...(asks === 'freshness' && { freshness }),
    client: { cpuSeconds: clientCpuSeconds, loopUse: clientLoopUse, connectionsLost }
  }
}

/**
 * Whether the client was the limit (L7), or freshness was measured too rarely; whether fewer pages were read than planned.
 * @param {ServingFigures | undefined} serving
 * @returns {string[]}
 */
export const servingMarks = (serving) => serving
  ? [
      ...(serving.client.loopUse > GENERATOR_BOUND || isRare(serving.freshness) ? ['generator-bound'] : []),
      ...(isBehind(serving) ? ['reads behind'] : [])
    ]
  : []

/** @param {ServingFigures} serving pages of earlier results were not counted */
const isBehind = ({ itemsPerAnswer, requests: { planned, answered } }) =>
  itemsPerAnswer !== undefined && planned !== null && answered < planned * KEPT_UP

/** @param {import('./freshness.js').Freshness | null} [freshness] */
const isRare = (freshness) => !!freshness && freshness.betweenMs.p99 > freshness.p99 / 2

/**
 * @param {ServingFigures | undefined} serving undefined: nothing was served
 * @returns {import('../analysis/check.js').Invariant[]}
 */
export function servingInvariants (serving) {
  if (!serving) return []
  const { requests, answers, freshness, everything, following } = serving
  const { planned, sent, answered, missing, errors, timeouts, byStatus } = requests
  const counted = Object.values(byStatus).reduce((sum, n) => sum + n, 0)
  return [
    {
      name: 'responses are correct',
      ok: answers.looked > 0 && answers.wrong === 0,
      detail: `${answers.looked} checked, ${answers.wrong} wrong${answers.detail ? `: ${answers.detail}` : ''}`
    },
    {
      name: 'requests add up',
      ok: sent === answered + missing && missing === errors + timeouts && answered === counted && (planned === null || sent <= planned),
      detail: `${planned === null ? '' : `${planned} planned; `}${sent} sent; ${answered} answered + ${missing} missing (${errors} ` +
        `errors + ${timeouts} timeouts)`
    },
    ...(freshness === undefined ? [] : freshnessInvariants(freshness)),
    ...(everything ? everythingInvariants(everything, requests) : []),
    ...(following ? followingInvariants(following, serving) : [])
  ]
}

/** @param {import('./freshness.js').Freshness | null} freshness @returns {import('../analysis/check.js').Invariant[]} */
const freshnessInvariants = (freshness) => [
  {
    name: 'due items became visible',
    ok: freshness !== null && freshness.seen === freshness.due && freshness.due > 0,
    detail: freshness
      ? `items of ${freshness.due} ms were due, those of ${freshness.seen} ms became visible within ${SEEN_WITHIN_MS} ms of the last`
      : 'nothing became visible'
  },
  {
    name: 'percentiles of freshness are in order',
    ok: freshness === null || (percentilesInOrder(freshness) && percentilesInOrder(freshness.betweenMs)),
    detail: JSON.stringify(freshness)
  }
]

/**
 * @param {import('./exports.js').Everything} everything
 * @param {import('./request-loop.js').Requests} requests
 * @returns {import('../analysis/check.js').Invariant[]}
 */
const everythingInvariants = ({ dueItems, mostItems, liveItems, lastMs, firstMs, delayMs, items }, { answered }) => [
  {
    name: 'the process was ready with all items',
    ok: liveItems >= dueItems && liveItems <= mostItems,
    detail: `${liveItems}; expected ${dueItems === mostItems ? dueItems : `${dueItems} to ${mostItems}`}`
  },
  {
    name: 'every response was timed',
    ok: answered > 0 && [lastMs, firstMs, delayMs, items].every((values) => values.length === answered) &&
      firstMs.every((ms, i) => ms > 0 && ms <= lastMs[i]),
    detail: `${answered} responses; ${lastMs.length} times to the last byte`
  }
]
