/** Metrics of push streams. */
import { counter, gauge, unlabelled } from '../metrics/index.js'

/**
 * @typedef {{ events: number, bytes: number, skipped: number, resets: number, ended: Record<string, number>,
 *   refused: Record<string, number> }} Counts
 */

/** Why streams end: disconnect, no reading, shutdown, revoked token, error here. */
const ENDS = ['closed', 'stalled', 'stopped', 'revoked', 'failed']
/** Which cap refused a stream. */
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

/** @param {import('prom-client').Registry} registry @param {Counts} counts @param {import('./caps.js').Budget} budget */
export function exposeCounts (registry, counts, budget) {
  const byReason = (/** @type {Record<string, number>} */ of) =>
    Object.entries(of).map(([reason, count]) => /** @type {[Record<string, string>, number]} */ ([{ reason }, count]))
  gauge(registry, { name: 'freshet_streams', help: 'Number of open push streams' }, () => unlabelled(budget.streams))
  gauge(registry, { name: 'freshet_stream_buffered_bytes', help: 'Bytes buffered for clients that have not read them yet' },
    () => unlabelled(budget.waiting))
  counter(registry, { name: 'freshet_stream_events_total', help: 'Total events sent, snapshots included' }, () => unlabelled(counts.events))
  counter(registry, { name: 'freshet_stream_bytes_total', help: 'Total bytes of events sent' }, () => unlabelled(counts.bytes))
  counter(registry,
    { name: 'freshet_stream_skipped_total', help: 'Total deliveries skipped because the client had not read earlier events' },
    () => unlabelled(counts.skipped))
  counter(registry, { name: 'freshet_stream_resets_total', help: 'Total reset events sent' }, () => unlabelled(counts.resets))
  counter(registry, { name: 'freshet_streams_ended_total', help: 'Total streams ended, by reason', labels: ['reason'] },
    () => byReason(counts.ended))
  counter(registry,
    { name: 'freshet_streams_refused_total', help: 'Total streams refused, by exhausted limit: process or token', labels: ['reason'] },
    () => byReason(counts.refused))
}
