/** The figures of one feed, requested each second: rate, live items, age of the newest item, state of the servers. */
import { getJson, pathOf } from './api.js'
import { createChart } from './chart.js'
import { at, pause, put } from './elements.js'
import { createNodes } from './nodes.js'
import { outagesOf, outagesText } from './outages.js'
import { UNKNOWN, ageText, counted, duration, number } from './text.js'

const KEPT_MS = 600_000
const EVERY_MS = 1000
/** maximum drift between two clocks from reply to reply */
const DRIFT_MS = 5
/** a larger difference means that the reader's clock was set */
const CLOCK_SET_MS = 1000
/** how long the time of the newest item in the list is used */
const NEWEST_FOR_MS = 1500
const WHOLE_SECONDS_MS = 10_000

/** @typedef {any} Figures reply of GET /v1/feeds/:feed/figures */

export function createFigures () {
  const chart = createChart()
  const nodes = createNodes()
  const clock = createClock()
  /** @type {import('./chart.js').Sample[]} */
  let history = []
  /** @type {Figures | null} */
  let latest = null
  let stopped = 0
  /** age of the newest item in the list, and when it was known */
  let listed = { ageMs: Infinity, atMs: -Infinity }

  /** @param {Figures} figures */
  function keep ({ history: more, asOf }) {
    const last = history.at(-1)?.at ?? -Infinity
    const fresh = more.filter((/** @type {any} */ sample) => sample.at > last)
      .map((/** @type {any} */ sample) => ({ ...sample, cpu: sample.cpu ?? {} }))
    history = [...history, ...fresh].filter(({ at: ms }) => ms > asOf - KEPT_MS)
  }

  /** @param {Figures} figures */
  function show (figures) {
    const { itemsPerSecond, count, exact, newestTs, asOf, everyMs = EVERY_MS } = figures
    const outages = outagesOf(history)
    put(at('rate'), number(itemsPerSecond))
    put(at('writers'), writersText(figures, history))
    put(at('count'), (count !== null && exact === false ? 'about ' : '') + number(count))
    // the reader refreshes newestTs once a second; the list may know a newer item
    const listedMs = performance.now() - listed.atMs < NEWEST_FOR_MS ? listed.ageMs : Infinity
    put(at('newest-age'), newestTs === null ? UNKNOWN : ageText(Math.min(asOf - newestTs, listedMs)))
    put(at('lag'), lagText(figures.nodes))
    showDefinition(figures)
    stopped = nodes.show(figures.nodes, history, outages, asOf)
    put(at('outages'), outagesText(outages, nodes.roleOf))
    chart.show(history, everyMs, outages)
  }

  return {
    now: clock.now,
    nodes,

    /** The last figures; null = none of this feed yet. */
    get latest () { return latest },

    /** Number of stopped servers. */
    get stopped () { return stopped },

    /** Takes the time of the newest item in the list. @param {number} ts @param {number | null} asOf reader's clock; null = now */
    newestIs (ts, asOf) {
      listed = { ageMs: (asOf ?? clock.now()) - ts, atMs: performance.now() }
    },

    /**
     * Requests figures until `signal` is aborted.
     * @param {string} feed @param {AbortSignal} signal
     * @param {(figures: Figures | null, error: any) => void} onReply
     */
    async watch (feed, signal, onReply) {
      while (!signal.aborted) {
        try {
          const since = history.at(-1)?.at
          const reply = await getJson(pathOf(feed, `/figures${since === undefined ? '' : `?since=${since}`}`), signal)
          if (signal.aborted) return
          const { asOf, nodes, history: samples, reasons } = reply
          latest = { ...reply, asOf: asOf ?? Date.now(), nodes: nodes ?? [], history: samples ?? [], reasons: reasons ?? [] }
          clock.set(latest.asOf)
          keep(latest)
          show(latest)
          onReply(latest, null)
        } catch (error) {
          if (signal.aborted) return
          onReply(null, error)
        }
        await pause(latest?.everyMs ?? EVERY_MS, signal)
      }
    },

    /** Starts with another feed. */
    clear () {
      history = []
      latest = null
      listed = { ageMs: Infinity, atMs: -Infinity }
      nodes.clear()
      for (const id of ['rate', 'count', 'newest-age', 'lag', 'layout', 'kept', 'engine']) put(at(id), UNKNOWN)
      for (const id of ['writers', 'summary', 'outages']) put(at(id), '')
      chart.show(history, EVERY_MS, [])
    }
  }
}

/** The reader's clock. Replies arrive late; the fastest one is the best estimate. */
function createClock () {
  let aheadMs = 0
  return {
    /** @returns {number} ms */
    now: () => Date.now() + aheadMs,
    /** @param {number} asOf reader's clock when it replied */
    set (asOf) {
      const ms = asOf - Date.now()
      aheadMs = Math.abs(ms - aheadMs) > CLOCK_SET_MS ? ms : Math.max(ms, aheadMs - DRIFT_MS)
    }
  }
}

/** The writers, or when the last write was. @param {Figures} figures @param {import('./chart.js').Sample[]} history @returns {string} */
function writersText ({ itemsPerSecond, writers, newestTs, asOf }, history) {
  if (itemsPerSecond === null) return 'unknown'
  if (writers) return `from ${counted(writers, 'writer')}`
  const agoText = (/** @type {number} */ ms) => ageText(Math.floor(ms / 1000) * 1000).replace('.0 ', ' ')
  const last = history.findLast((sample) => Number(sample.itemsPerSecond) > 0)
  if (last) return `last write ${agoText(asOf - last.at)} ago`
  return newestTs === null ? 'no items' : `newest item ${agoText(asOf - newestTs)} old`
}

/** The lag of the slowest replica. @param {import('./nodes.js').Node[]} nodes */
function lagText (nodes) {
  const replicas = nodes.filter(({ role }) => role === 'replica')
  if (replicas.length === 0) return 'no replica'
  const lags = replicas.map(({ lagMs }) => lagMs).filter((lag) => lag !== null)
  return lags.length === 0 ? UNKNOWN : duration(Math.max(...lags))
}

/** The window, and how far back the feed reaches if that is less. @param {number | null} windowMs @param {number | null} keptMs */
function keptText (windowMs, keptMs) {
  const text = (/** @type {number} */ ms) => duration(ms).replace('.0 ', ' ')
  // tenths of a second would change each second
  const kept = keptMs !== null && keptMs > WHOLE_SECONDS_MS ? Math.round(keptMs / 1000) * 1000 : keptMs
  const window = windowMs === null ? UNKNOWN : windowMs > 0 ? text(windowMs) : 'no limit'
  if (kept === null) return window
  return `keeps ${text(kept)}${windowMs === 0 ? '' : ` of ${window}`}`
}

/** @param {Figures} figures */
function showDefinition ({ layout, partitions, windowMs, maxItems, keptMs = null, nodes }) {
  put(at('layout'), layout === null ? UNKNOWN : layout + (partitions > 1 ? ` × ${number(partitions)}` : ''))
  at('layout').title = partitions > 1 ? `in ${counted(partitions, 'partition')}` : ''
  put(at('kept'), keptText(windowMs, keptMs))
  at('kept').title = maxItems > 0 ? `and at most ${number(maxItems)} per partition` : ''
  const engines = new Set(nodes.map((/** @type {any} */ { engine }) => engine).filter(Boolean))
  put(at('engine'), [...engines].join(', ') || UNKNOWN)
}
