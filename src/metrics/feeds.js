/**
 * Metrics of the feeds that a process writes: one in a writer, up to hundreds in a gateway.
 *
 * Nothing is counted here: each writer keeps an account, and a scrape adds them up. Only the two histograms are updated, once
 * per batch. The last account of a closed feed is kept, so that counters never decrease.
 *
 *     label "positions"   account of the open writer + those of closed ones
 *     label "other"       the same over every feed beyond the first MAX_FEEDS
 *
 * A feed keeps its label for the life of the process, so memory and series are bounded.
 */
import { Histogram } from 'prom-client'
import { ERRORS } from '../errors.js'
import { addAccounts, countRefused, newAccount } from '../pipeline/index.js'
import { oneAtATime, within } from '../runtime/index.js'
import { counter, gauge, unlabelled } from './scrape.js'

/**
 * Metrics of views, by feed. Feeds beyond a hundred share one series: the sum, or the worst value where a sum has no meaning.
 */

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

/**
 * Metrics of the servers, read once per scrape for all of them together.
 *
 * A scrape never waits long for a server: figures that miss the deadline are absent, not zero. While a reply is pending, no
 * second request is sent.
 */

/** above the usual deadline of a connection, so that one silent node does not hide the others; well below a scrape's 10 s */
const WAIT_MS = 2000

/** @typedef {import('../store/index.js').NodeFigures} NodeFigures */
/** @typedef {() => Promise<NodeFigures[]>} Figures of the nodes that answer */

/** @param {import('prom-client').Registry} registry @param {Figures} figures */
export function registerNodes (registry, figures) {
  const readFigures = oneAtATime(figures)
  /**
   * @param {typeof counter} kind @param {string} name @param {string} help @param {(node: NodeFigures) => number} read
   * @param {{ labels?: (node: NodeFigures) => Record<string, string>, only?: (node: NodeFigures) => boolean }} [which]
   */
  const ofNodes = (kind, name, help, read, { labels = () => ({}), only = () => true } = {}) =>
    kind(registry, { name, help, labels: ['role', 'node', ...Object.keys(labels(/** @type {any} */ ({})))] }, async () =>
      ((await within(readFigures(), WAIT_MS)) ?? []).filter(only)
        .map((node) => [{ role: node.role, node: node.address, ...labels(node) }, read(node)]))

  ofNodes(counter, 'freshet_node_cpu_seconds_total', 'Total CPU time of the server process, user and system',
    ({ cpuSeconds }) => cpuSeconds)
  ofNodes(counter, 'freshet_node_full_syncs_total', 'Total full synchronizations that replicas made from this node',
    ({ fullSyncs }) => fullSyncs)
  ofNodes(gauge, 'freshet_node_memory_used_bytes', 'Memory used by the server (used_memory)', ({ usedMemoryBytes }) => usedMemoryBytes)
  ofNodes(gauge, 'freshet_node_link_up', '1 if the replica is linked to its primary, else 0', ({ linkUp }) => Number(linkUp),
    { only: ({ role }) => role === 'replica' })
  ofNodes(gauge, 'freshet_node_info', 'Always 1; the labels carry engine and version of the node', () => 1,
    { labels: ({ engine }) => ({ engine }) })
}

const MAX_FEEDS = 100
const OTHER = 'other'
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30]

/** @typedef {import('../pipeline/index.js').FeedWriter} FeedWriter */
/**
 * @typedef {{ pipeline: { account: import('../pipeline/index.js').Account }, trimmed: number,
 *   sessions: number }} Counted a writer, or the sum of closed ones
 */
/** @typedef {{ label: string, left: Counted, open: Map<string, FeedWriter> }} Entry */

/** @param {import('prom-client').Registry} registry */
export function registerFeeds (registry) {
  /** @type {Map<string, Entry>} by label */
  const entries = new Map()
  const flushSeconds = new Histogram({
    name: 'freshet_flush_seconds',
    help: 'Time from sending a batch to its acknowledgement, retries included',
    labelNames: ['feed'],
    buckets: SECONDS,
    registers: [registry]
  })
  const behindSeconds = new Histogram({
    name: 'freshet_behind_seconds',
    help: 'Delay of a flush against its intended start time',
    labelNames: ['feed'],
    buckets: SECONDS,
    registers: [registry]
  })
  registerCounters(registry, entries)
  registerGauges(registry, entries)

  /** @param {string} feed @returns {Entry} */
  function entryOf (feed) {
    const entry = entries.get(feed)
    if (entry) return entry
    const named = entries.size - (entries.has(OTHER) ? 1 : 0)
    return named < MAX_FEEDS ? begin(feed) : entries.get(OTHER) ?? begin(OTHER)
  }

  /** @param {string} label */
  function begin (label) {
    const entry = { label, left: { pipeline: { account: newAccount() }, trimmed: 0, sessions: 0 }, open: new Map() }
    entries.set(label, entry)
    return entry
  }

  /** Keeps the account of a closed writer. @param {string} feed */
  function unfollow (feed) {
    const entry = entryOf(feed)
    const writer = entry.open.get(feed)
    if (!writer) return
    const { left } = entry
    left.pipeline.account = addAccounts([left.pipeline.account, writer.pipeline.account])
    left.trimmed += writer.trimmed
    left.sessions += writer.sessions
    entry.open.delete(feed)
  }

  return {
    unfollow,
    /** Reads this writer of a feed from now on. @param {string} feed @param {FeedWriter} writer */
    follow (feed, writer) {
      unfollow(feed)
      entryOf(feed).open.set(feed, writer)
    },
    /** @param {string} feed @param {number} seconds */
    flush: (feed, seconds) => flushSeconds.observe({ feed: entryOf(feed).label }, seconds),
    /** @param {string} feed @param {number} behindMs */
    behind: (feed, behindMs) => behindSeconds.observe({ feed: entryOf(feed).label }, behindMs / 1000),
    /** @returns {[feed: string, writer: FeedWriter][]} */
    open: () => [...entries.values()].flatMap(({ open }) => [...open])
  }
}

/** @param {Entry} entry @returns {Counted[]} */
const counted = ({ left, open }) => [left, ...open.values()]

/** @template T @param {T[]} list @param {(element: T) => number} read */
const sum = (list, read) => list.reduce((total, element) => total + read(element), 0)

/** @param {import('prom-client').Registry} registry @param {Map<string, Entry>} entries */
function registerCounters (registry, entries) {
  /** @param {string} name @param {string} help @param {(counted: Counted) => number} read */
  const total = (name, help, read) => counter(registry, { name, help, labels: ['feed'] }, () =>
    [...entries.values()].map((entry) => [{ feed: entry.label }, sum(counted(entry), read)]))

  total('freshet_items_total', 'Total items acknowledged', ({ pipeline }) => pipeline.account.items)
  total('freshet_value_bytes_total', 'Total value bytes of acknowledged items', ({ pipeline }) => pipeline.account.bytes)
  total('freshet_dropped_total', 'Total items dropped at the in-flight bound or skipped by --catch-up no',
    ({ pipeline }) => pipeline.account.dropped)
  total('freshet_failed_total', 'Total items not acknowledged when the feed was closed', ({ pipeline }) => pipeline.account.failed)
  total('freshet_retried_total', 'Total items sent again after a lost connection or a full server',
    ({ pipeline }) => pipeline.account.retried)
  total('freshet_server_full_total', 'Total batches that a full server did not accept', ({ pipeline }) => pipeline.account.full)
  total('freshet_unconfirmed_waits_total', 'Total groups of batches that too few replicas confirmed in time (--ack)',
    ({ pipeline }) => pipeline.account.unconfirmed)
  total('freshet_blocked_connections_total', 'Total connections that ended with the same batch unanswered as the two before',
    ({ pipeline }) => pipeline.account.blocked)
  total('freshet_trimmed_total', 'Total expired items or log entries removed by this process', ({ trimmed }) => trimmed)
  total('freshet_connections_total', 'Total write connections opened to the primary', ({ sessions }) => sessions)

  counter(registry, {
    name: 'freshet_batches_total',
    help: 'Total batches acknowledged, by form',
    labels: ['feed', 'form']
  }, () => [...entries.values()].flatMap((entry) => {
    const { batches, watched, scripts } = addAccounts(counted(entry).map(({ pipeline }) => pipeline.account))
    return Object.entries({ watched, script: scripts, plain: batches - watched - scripts })
      .map(([form, n]) => /** @type {[Record<string, string>, number]} */ ([{ feed: entry.label, form }, n]))
  }))
  counter(registry, { name: 'freshet_refused_total', help: 'Total items refused, by reason', labels: ['feed', 'reason'] }, () =>
    [...entries.values()].flatMap((entry) => {
      const { refused } = addAccounts([noneRefused, ...counted(entry).map(({ pipeline }) => pipeline.account)])
      return Object.entries(refused)
        .map(([reason, n]) => /** @type {[Record<string, string>, number]} */ ([{ feed: entry.label, reason }, n]))
    }))
}

/** Every reason at zero: without it a rate misses the first increment of a counter. */
const noneRefused = newAccount()
for (const code of [...Object.keys(ERRORS).filter((name) => name.startsWith('ITEM_')), 'full', 'late']) countRefused(noneRefused, code, 0)

/** @param {import('prom-client').Registry} registry @param {Map<string, Entry>} entries */
function registerGauges (registry, entries) {
  /** @param {string} name @param {string} help @param {(writers: FeedWriter[]) => number} read */
  const ofOpen = (name, help, read) => gauge(registry, { name, help, labels: ['feed'] }, () =>
    [...entries.values()].filter(({ open }) => open.size > 0).map(({ label, open }) => [{ feed: label }, read([...open.values()])]))

  ofOpen('freshet_inflight_bytes', 'Bytes appended but not yet acknowledged',
    (writers) => sum(writers, ({ pipeline }) => pipeline.heldBytes))
  ofOpen('freshet_inflight_bound_bytes', 'Limit of freshet_inflight_bytes: per feed in a writer, for all feeds together in a gateway',
    (writers) =>
      Math.max(...writers.map(({ pipeline }) => pipeline.inFlightBytes)))
  ofOpen('freshet_connected', '1 if all write connections of the feed are open, else 0',
    (writers) => Number(writers.every(({ connected }) => connected)))
  gauge(registry, { name: 'freshet_open_feeds', help: 'Number of feeds open for writing' },
    () => unlabelled(sum([...entries.values()], ({ open }) => open.size)))
}
