/** What pushing counts, for /metrics. */
import { counter, gauge, one } from '../metrics/scrape.js'

/** @typedef {{ events: number, bytes: number, skipped: number, resets: number, ended: Record<string, number>, refused: Record<string, number> }} Counts */

/** Why streams end: the client, its socket, the process, its token, or a fault here. */
const ENDS = ['closed', 'stalled', 'stopped', 'revoked', 'failed']
/** Why one is not begun: the caps. */
const REFUSALS = ['process', 'token']

/** @returns {Counts} */
export const createCounts = () => ({
  events: 0,
  bytes: 0,
  skipped: 0,
  resets: 0,
  ended: Object.fromEntries(ENDS.map((why) => [why, 0])),
  refused: Object.fromEntries(REFUSALS.map((why) => [why, 0]))
})

/** @param {import('prom-client').Registry} registry @param {Counts} counts @param {import('./budget.js').Budget} budget */
export function exposeCounts (registry, counts, budget) {
  const byReason = (/** @type {Record<string, number>} */ of) => Object.entries(of).map(([reason, count]) => /** @type {[Record<string, string>, number]} */ ([{ reason }, count]))
  gauge(registry, { name: 'freshet_streams', help: 'Clients that changes are pushed to' }, () => one(budget.streams))
  gauge(registry, { name: 'freshet_stream_waiting_bytes', help: 'Bytes that wait because clients have not taken them' }, () => one(budget.waiting))
  counter(registry, { name: 'freshet_stream_events_total', help: 'Events pushed, snapshots among them' }, () => one(counts.events))
  counter(registry, { name: 'freshet_stream_bytes_total', help: 'Bytes of these events' }, () => one(counts.bytes))
  counter(registry, { name: 'freshet_stream_skipped_total', help: 'Times nothing was made for a client because it had not taken what it was sent' }, () => one(counts.skipped))
  counter(registry, { name: 'freshet_stream_resets_total', help: 'Times a client was told to begin anew' }, () => one(counts.resets))
  counter(registry, { name: 'freshet_streams_ended_total', help: 'Streams that ended, and why', labels: ['reason'] }, () => byReason(counts.ended))
  counter(registry, { name: 'freshet_streams_refused_total', help: 'Streams that were not begun because as many are as may be, of the process or of a token', labels: ['reason'] }, () => byReason(counts.refused))
}
