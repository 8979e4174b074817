/**
 * Metrics of views, by feed. Feeds beyond a hundred are one series: sums of theirs, and the worst of what is no sum.
 */
import { counter, gauge } from './scrape.js'

const MAX_FEEDS = 100
const OTHER = 'other'

/** @typedef {import('../view/views.js').ViewFigures} ViewFigures */

/** @param {import('prom-client').Registry} registry @param {import('../view/views.js').Views['figures']} read */
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
   * @returns {import('./scrape.js').Samples} one of a series
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

  /** @param {string} name @param {string} help @param {(view: ViewFigures) => number | null} value @param {(a: number, b: number) => number} together */
  const ofViews = (name, help, value, together) => gauge(registry, { name, help, labels: ['feed'] }, () =>
    joined(read().views.flatMap((view) => {
      const figure = value(view)
      return figure === null ? [] : [([{ feed: labelOf(view.feed) }, figure])]
    }), together))

  ofViews('freshet_view_items', 'Live items held in memory', ({ items }) => items, sum)
  ofViews('freshet_view_bytes', 'Memory held for them', ({ bytes }) => bytes, sum)
  ofViews('freshet_view_ready', 'Whether the view has all that is live; 0 while it is being made', ({ isIn }) => Number(isIn), Math.min)
  ofViews('freshet_view_behind_seconds', 'Since when the view may lack something, the lag of its replica included; absent while it is being made', ({ behindMs }) => behindMs === null ? null : behindMs / 1000, Math.max)
  ofViews('freshet_view_over_bound', 'Whether more is live than the view may hold', ({ isOverBound }) => Number(isOverBound), Math.max)

  counter(registry, { name: 'freshet_view_passed_over_total', help: 'Entries of the log that could not be read, or came twice', labels: ['feed', 'reason'] }, () =>
    joined(read().counts.flatMap(([feed, { passedOver }]) => Object.entries(passedOver).map(([reason, count]) =>
      /** @type {[Record<string, string>, number]} */ ([{ feed: labelOf(feed), reason }, count]))), sum))
  counter(registry, { name: 'freshet_view_rebuilt_total', help: 'Times the view was made anew, because what came next was trimmed', labels: ['feed'] }, () =>
    joined(read().counts.map(([feed, { rebuilt }]) => [{ feed: labelOf(feed) }, rebuilt]), sum))
}
