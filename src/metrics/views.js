/**
 * Metrics of views, by feed. Feeds beyond a hundred share one series: the sum, or the worst value where a sum has no meaning.
 */
import { counter, gauge, unlabelled } from './scrape.js'

const MAX_FEEDS = 100
const OTHER = 'other'

/** @typedef {import('../view/index.js').ViewFigures} ViewFigures */

/** @param {import('prom-client').Registry} registry @param {import('../view/index.js').Views['figures']} read */
export function registerViews (registry, read) {
  /** @type {Set<string>} */
  const named = new Set()

  /** @param {string} feed */
  function labelOf (feed) {
    if (named.size < MAX_FEEDS) named.add(feed)
    return named.has(feed) ? feed : OTHER
  }

  /**
   * @param {[labels: Record<string, string>, value: number][]} samples @param {(a: number, b: number) => number} together
   * @returns {import('./scrape.js').Samples} one per series
   */
  function joined (samples, together) {
    /** @type {Map<string, [Record<string, string>, number]>} */
    const series = new Map()
    for (const [labels, value] of samples) {
      const name = JSON.stringify(labels)
      const before = series.get(name)
      series.set(name, [labels, before ? together(before[1], value) : value])
    }
    return series.values()
  }

  const sum = (/** @type {number} */ a, /** @type {number} */ b) => a + b

  /**
   * @param {string} name
   * @param {string} help
   * @param {(view: ViewFigures) => number | null} value
   * @param {(a: number, b: number) => number} together
   */
  const ofViews = (name, help, value, together) => gauge(registry, { name, help, labels: ['feed'] }, () =>
    joined(read().views.flatMap((view) => {
      const figure = value(view)
      return figure === null ? [] : [([{ feed: labelOf(view.feed) }, figure])]
    }), together))

  ofViews('freshet_view_items', 'Number of live items in the view', ({ items }) => items, sum)
  ofViews('freshet_view_bytes', 'Memory used by the view', ({ bytes }) => bytes, sum)
  ofViews('freshet_view_ready', '1 if the view holds all live items, 0 while it is being built', ({ isComplete }) =>
    Number(isComplete), Math.min)
  ofViews('freshet_view_behind_seconds',
    'Age of the view: how long it may have missed changes, replica lag included; absent while it is being built',
    ({ behindMs }) => behindMs === null ? null : behindMs / 1000, Math.max)
  ofViews('freshet_view_over_bound', '1 if the feed has more live items than the view may hold, else 0',
    ({ isOverBound }) => Number(isOverBound), Math.max)

  counter(registry, {
    name: 'freshet_view_skipped_entries_total',
    help: 'Total log entries skipped, by reason: corrupt, unknown version or duplicate',
    labels: ['feed', 'reason']
  }, () =>
    joined(read().counts.flatMap(([feed, { skipped }]) => Object.entries(skipped).map(([reason, count]) =>
      /** @type {[Record<string, string>, number]} */ ([{ feed: labelOf(feed), reason }, count]))), sum))
  counter(registry, {
    name: 'freshet_view_rebuilds_total',
    help: 'Total rebuilds of the view because log entries were trimmed before they were read',
    labels: ['feed']
  }, () =>
    joined(read().counts.map(([feed, { rebuilt }]) => [{ feed: labelOf(feed) }, rebuilt]), sum))

  counter(registry, { name: 'freshet_views_closed_total', help: 'Total views closed because all views held too much memory' },
    () => unlabelled(read().bound.closed))
  counter(registry, { name: 'freshet_views_refused_total', help: 'Total feeds that got no view because all views held too much memory' },
    () => unlabelled(read().bound.refused))
}
