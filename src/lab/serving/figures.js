/**
 * What a sample says of serving, what must hold of it whatever the figures are, and what a reader of them should know.
 *
 * @typedef {object} ServingFigures
 * @property {'reader' | 'ask' | 'bare'} by
 * @property {number} processes
 * @property {number} connections of the client, spread over the processes
 * @property {number} everyMs 0 = each connection asked again as soon as it was answered
 * @property {number} seconds of the client's window, which lies within the load's
 * @property {import('./asking.js').Requests} requests
 * @property {number} requestsPerSecond answered, whatever the status
 * @property {{ p50: number, p95: number, p99: number, max: number } | null} latencyMs from when a request was due to the end
 *   of its answer; null without answers
 * @property {number | null} bytesPerAnswer of bodies; null without answers
 * @property {number} cpuSeconds of the serving processes
 * @property {number | null} cpuMicrosPerRequest null without answers
 * @property {number} loopUse largest share of an event loop of a serving process, 0 to 1
 * @property {{ looked: number, wrong: number, detail: string | null }} answers that were looked at
 * @property {{ cpuSeconds: number, loopUse: number, connectionsLost: number }} client
 */
import { GENERATOR_BOUND } from '../limits.js'
import { usageBetween } from './usage.js'

/**
 * @param {Pick<import('./plan.js').Serving, 'by' | 'processes' | 'connections' | 'everyMs'>} serving
 * @param {any} asked what the client told
 * @param {import('./usage.js').Usage[]} before of the serving processes @param {import('./usage.js').Usage[]} after
 * @returns {ServingFigures}
 */
export function servingFigures ({ by, processes, connections, everyMs }, asked, before, after) {
  const { requests, latencyMs, bytes, answers, seconds, cpuSeconds: clientCpuSeconds, loopUse: clientLoopUse, connectionsLost } = asked
  const uses = before.map((usage, i) => usageBetween(usage, after[i]))
  const cpuSeconds = uses.reduce((sum, use) => sum + use.cpuSeconds, 0)
  const { answered } = requests
  return {
    by,
    processes,
    connections,
    everyMs,
    seconds,
    requests,
    requestsPerSecond: answered / seconds,
    latencyMs,
    bytesPerAnswer: answered > 0 ? bytes / answered : null,
    cpuSeconds,
    cpuMicrosPerRequest: answered > 0 ? cpuSeconds * 1e6 / answered : null,
    loopUse: Math.max(...uses.map(({ loopUse }) => loopUse)),
    answers,
    client: { cpuSeconds: clientCpuSeconds, loopUse: clientLoopUse, connectionsLost }
  }
}

/** Whether the client is what was measured (L7). @param {ServingFigures | undefined} serving @returns {string[]} */
export const servingMarks = (serving) => serving && serving.client.loopUse > GENERATOR_BOUND ? ['generator-bound'] : []

/**
 * @param {ServingFigures | undefined} serving undefined: nothing was served
 * @returns {import('../check.js').Invariant[]}
 */
export function servingInvariants (serving) {
  if (!serving) return []
  const { requests: { planned, sent, answered, missing, errors, timeouts, byStatus }, answers } = serving
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
    }
  ]
}
