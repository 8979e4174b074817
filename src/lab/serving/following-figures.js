/**
 * What a sample says of clients that follow a feed, and what must hold of it.
 *
 * @typedef {object} FollowingFigures
 * @property {number} openAtBegin clients that were connected when the window began
 * @property {number} [openAtEnd] of them, when the last acknowledged item should have come
 * @property {Record<string, number>} [ended] streams that ended, by why
 * @property {number} resets times a client was told to begin anew
 * @property {number} events of the window, or answers
 * @property {number} bytes of these
 * @property {number} mostEvents that a client got
 * @property {number} readClients whose events were read in the window
 * @property {number} readEvents of these
 * @property {number} items in these, new to their client
 * @property {import('./figures.js').Percentiles | null} delayMs of each of these items: from its event time until it was heard
 * @property {import('./figures.js').Percentiles | null} newestMs of the newest in each event
 * @property {import('./figures.js').Percentiles | null} betweenMs two events of a client
 * @property {number | null} maxRate events a second that a client asked for at most; null = no limit, or polling
 * @property {number} [due] ids of clients of which something was acknowledged
 * @property {number} [newest] of them, of which the client had the newest version at the end
 * @property {string | null} [detail] one of which it had not
 * @property {number[]} memoryBytes resident, of who serves, at even times of the window
 * @property {number[]} liveBytes in use, of who serves, before the window and behind it, without garbage
 * @property {number} loopDelayMsP99 of who serves: how late its event loop was, by a timer of 10 ms
 */
import { linearRegression } from 'simple-statistics'
import { percentilesInOrder } from '../percentiles.js'

/** fewer tell nothing */
const LEAST_LOOKS = 5
/** a machine that stands still for so long at the beginning of a window lets those of before come in it */
const SPARE_SECONDS = 0.5

/**
 * What memory grew by over the window, by the line through all looks: single ones go up and down with the garbage.
 * @param {number[]} looks at even times @returns {number | null} bytes; null: too few
 */
export const growthOf = (looks) => looks.length < LEAST_LOOKS
  ? null
  : linearRegression(looks.map((bytes, i) => [i / (looks.length - 1), bytes])).m

/**
 * @param {FollowingFigures} following
 * @param {Pick<import('./figures.js').ServingFigures, 'by' | 'asks' | 'connections' | 'seconds' | 'requests'>} serving
 * @returns {import('../check.js').Invariant[]}
 */
export function followingInvariants ({ openAtBegin, openAtEnd, ended = {}, resets, events, mostEvents, maxRate, due = 0, newest = 0, detail, delayMs, newestMs, betweenMs }, { by, asks, connections, seconds, requests }) {
  const why = Object.entries(ended).map(([reason, count]) => `${count}: ${reason}`).join('; ')
  const most = maxRate === null ? Infinity : maxRate * (seconds + SPARE_SECONDS) + 1
  return [
    ...(asks === 'push' ? [{ name: 'every stream was begun', ok: requests.byStatus[200] === connections, detail: `${requests.byStatus[200] ?? 0} of ${connections}` }] : []),
    {
      name: 'every client stayed, and was not told to begin anew',
      ok: openAtBegin === connections && openAtEnd === connections && resets === 0,
      detail: `${connections} clients; ${openAtBegin} were there at the beginning, ${openAtEnd} at the end${why ? ` (${why})` : ''}; ${resets} were told to begin anew`
    },
    { name: 'something was heard', ok: events > 0, detail: `${events} events` },
    { name: 'no client got more events than it asked for', ok: mostEvents <= most, detail: `${mostEvents} in ${seconds.toFixed(1)} s; expected at most ${maxRate === null ? 'any number' : `${maxRate} a second`}` },
    ...(by === 'bare' ? [] : [{ name: 'every client has the newest version of each of its ids', ok: due > 0 && newest === due, detail: `${newest} of ${due}${detail ? `: ${detail}` : ''}` }]),
    { name: 'percentiles of delivery are in order', ok: delayMs !== null && [delayMs, newestMs, betweenMs].every(percentilesInOrder), detail: JSON.stringify({ delayMs, newestMs, betweenMs }) }
  ]
}
