/**
 * Clients that follow a feed, in a sample: their figures and invariants.
 *
 * @typedef {object} FollowingFigures
 * @property {number} openAtBegin clients that were connected when the window began
 * @property {number} [openAtEnd] the same after the load had ended
 * @property {Record<string, number>} [ended] streams that ended, by reason
 * @property {number} resets received by clients
 * @property {number} events of the window, or responses
 * @property {number} bytes of these
 * @property {number} mostEvents of one client
 * @property {number} readClients whose events were read in the window
 * @property {number} readEvents of these
 * @property {number} items in these that were new to their client
 * @property {number | null} [dueItems] items that these clients would receive if nothing was late; null = polling
 * @property {import('./latencies.js').Percentiles | null} delayMs of each of these items: from its event time until
 *   it was received
 * @property {import('./latencies.js').Percentiles | null} newestMs of the newest in each event
 * @property {import('./latencies.js').Percentiles | null} betweenMs two events of a client
 * @property {number | null} maxRate events a second that a client requested at most; null = no limit, or polling
 * @property {number} [due] ids of clients with an acknowledged version
 * @property {number} [newest] of them, how many the client had the newest version of at the end
 * @property {string | null} [detail] one that it did not have
 * @property {number[]} memoryBytes resident, of the servers, at regular intervals of the window
 * @property {number[]} liveBytes of the servers before and after the window, after garbage collection
 * @property {number} loopDelayMsP99 of the servers' event loops, with a timer of 10 ms
 */
import { linearRegression } from 'simple-statistics'
import { percentilesInOrder } from '../analysis/percentiles.js'
import { CONSTANT } from './plan.js'

/** fewer give no trend */
const LEAST_LOOKS = 5
/** events held up before the window may arrive in it */
const SPARE_SECONDS = 0.5

/**
 * Memory growth over the window, by linear regression: single values vary with garbage collection.
 * @param {number[]} looks at regular intervals @returns {number | null} bytes; null: too few
 */
export const growthOf = (looks) => looks.length < LEAST_LOOKS
  ? null
  : linearRegression(looks.map((bytes, i) => [i / (looks.length - 1), bytes])).m

/**
 * @param {FollowingFigures} following
 * @param {Pick<import('./figures.js').ServingFigures, 'by' | 'asks' | 'connections' | 'seconds' | 'requests'>} serving
 * @returns {import('../analysis/check.js').Invariant[]}
 */
export function followingInvariants ({
  openAtBegin, openAtEnd, ended = {}, resets, events, mostEvents, maxRate, due = 0, newest = 0, detail, delayMs, newestMs, betweenMs
}, { by, asks, connections, seconds, requests }) {
  const why = Object.entries(ended).map(([reason, count]) => `${count}: ${reason}`).join('; ')
  const most = maxRate === null ? Infinity : maxRate * (seconds + SPARE_SECONDS) + 1
  return [
    ...(asks === 'push'
      ? [{
          name: 'every stream began', ok: requests.byStatus[200] === connections, detail: `${requests.byStatus[200] ?? 0} of ${connections}`
        }]
      : []),
    {
      name: 'every client stayed connected, without a reset',
      ok: openAtBegin === connections && openAtEnd === connections && resets === 0,
      detail: `${connections} clients; ${openAtBegin} were connected at the beginning, ${openAtEnd} at the end${why ? ` (${why})` : ''}; ` +
        `${resets} resets`
    },
    { name: 'clients received events', ok: events > 0, detail: `${events} events` },
    {
      name: 'no client received more events than it requested',
      ok: mostEvents <= most,
      detail: `${mostEvents} in ${seconds.toFixed(1)} s; expected at most ${maxRate === null ? 'any number' : `${maxRate} a second`}`
    },
    ...(CONSTANT.includes(by)
      ? []
      : [{
          name: 'every client has the newest version of each of its ids',
          ok: due > 0 && newest === due,
          detail: `${newest} of ${due}${detail ? `: ${detail}` : ''}`
        }]),
    {
      name: 'percentiles of delivery are in order',
      ok: delayMs !== null && [delayMs, newestMs, betweenMs].every(percentilesInOrder),
      detail: JSON.stringify({ delayMs, newestMs, betweenMs })
    }
  ]
}
