/** The figures of one feed, asked for each second: how many items, how new, how the servers are. */
import { ask, pathOf, pause } from './api.js'
import { createChart } from './chart.js'
import { at, put } from './elements.js'
import { createNodes } from './nodes.js'
import { UNKNOWN, ageText, counted, duration, number } from './text.js'

const KEPT_MS = 600_000
const EVERY_MS = 1000
/** clocks may run apart by so much from answer to answer */
const DRIFT_MS = 5
/** and are others' from so much on */
const OTHER_MS = 1000
const HEARD_MS = 1500

/** @typedef {any} Figures as GET /v1/feeds/:feed/figures answers */

export function createFigures () {
  const chart = createChart()
  const nodes = createNodes()
  /** @type {import('./chart.js').Sample[]} */
  let history = []
  /** reader's clock minus ours */
  let aheadMs = 0
  /** @type {Figures | null} */
  let newest = null
  let stopped = 0
  /** what items said of the newest, and when */
  let heard = { ageMs: Infinity, atMs: -Infinity }

  /** An answer is on its way for a while: the quickest says it best, unless the clock is another. @param {number} saidMs */
  function setClock (saidMs) {
    aheadMs = Math.abs(saidMs - aheadMs) > OTHER_MS ? saidMs : Math.max(saidMs, aheadMs - DRIFT_MS)
  }

  /** @param {Figures} figures */
  function keep ({ history: more, asOf }) {
    const last = history.at(-1)?.at ?? -Infinity
    const fresh = more.filter((/** @type {any} */ sample) => sample.at > last).map((/** @type {any} */ sample) => ({ ...sample, cpu: sample.cpu ?? {} }))
    history = [...history, ...fresh].filter(({ at: ms }) => ms > asOf - KEPT_MS)
  }

  /** @param {Figures} figures */
  function show (figures) {
    const { itemsPerSecond, writers, count, exact, newestTs, asOf, everyMs = EVERY_MS } = figures
    put(at('rate'), number(itemsPerSecond))
    put(at('writers'), writersText(itemsPerSecond, writers))
    put(at('count'), (count !== null && exact === false ? 'about ' : '') + number(count))
    // the reader asks for it once a second, for all who watch: items that came are closer to now
    const heardMs = performance.now() - heard.atMs < HEARD_MS ? heard.ageMs : Infinity
    put(at('newest-age'), newestTs === null ? UNKNOWN : ageText(Math.min(asOf - newestTs, heardMs)))
    put(at('lag'), lagText(figures.nodes))
    showStored(figures)
    stopped = nodes.show(figures.nodes, history, asOf)
    chart.show(history, everyMs)
  }

  return {
    /** The reader's clock, ms. */
    now: () => Date.now() + aheadMs,

    /** What was answered last, null = nothing of this feed yet. */
    get newest () { return newest },

    /** Hears of the newest item. @param {number} ts @param {number | null} asOf reader's clock; null = now */
    hear (ts, asOf) {
      heard = { ageMs: (asOf ?? Date.now() + aheadMs) - ts, atMs: performance.now() }
    },

    /** How many servers are stopped. */
    get stopped () { return stopped },

    /**
     * Asks until `signal` is aborted.
     * @param {string} feed @param {AbortSignal} signal
     * @param {(figures: Figures | null, error: any) => void} onAnswer
     */
    async watch (feed, signal, onAnswer) {
      while (!signal.aborted) {
        try {
          const since = history.at(-1)?.at
          const told = await ask(pathOf(feed, `/figures${since === undefined ? '' : `?since=${since}`}`), signal)
          const figures = { ...told, asOf: told.asOf ?? Date.now(), nodes: told.nodes ?? [], history: told.history ?? [], reasons: told.reasons ?? [] }
          if (signal.aborted) return
          setClock(figures.asOf - Date.now())
          newest = figures
          keep(figures)
          show(figures)
          onAnswer(figures, null)
        } catch (error) {
          if (signal.aborted) return
          onAnswer(null, error)
        }
        await pause(newest?.everyMs ?? EVERY_MS, signal)
      }
    },

    /** Of another feed. */
    clear () {
      history = []
      newest = null
      heard = { ageMs: Infinity, atMs: -Infinity }
      nodes.clear()
      for (const id of ['rate', 'count', 'newest-age', 'lag', 'layout', 'kept', 'engine']) put(at(id), UNKNOWN)
      for (const id of ['writers', 'summary']) put(at(id), '')
      chart.show(history, EVERY_MS)
    },

    nodes
  }
}

/** @param {number | null} rate @param {number | null} writers */
function writersText (rate, writers) {
  if (rate === null) return 'not known now'
  return writers ? `from ${counted(writers, 'writer')}` : 'nobody writes now'
}

/** The worst replica's. @param {import('./nodes.js').Node[]} nodes */
function lagText (nodes) {
  const replicas = nodes.filter(({ role }) => role === 'replica')
  if (replicas.length === 0) return 'no replica'
  const lags = replicas.map(({ lagMs }) => lagMs).filter((lag) => lag !== null)
  return lags.length === 0 ? UNKNOWN : duration(Math.max(...lags))
}

/** @param {Figures} figures */
function showStored ({ layout, partitions, windowMs, maxItems, nodes }) {
  put(at('layout'), layout === null ? UNKNOWN : layout + (partitions > 1 ? ` × ${number(partitions)}` : ''))
  at('layout').title = partitions > 1 ? `in ${counted(partitions, 'partition')}` : ''
  put(at('kept'), windowMs > 0 ? duration(windowMs).replace('.0 ', ' ') : windowMs === 0 ? 'ever' : UNKNOWN)
  at('kept').title = maxItems > 0 ? `and at most ${number(maxItems)} in a partition` : ''
  const engines = new Set(nodes.map((/** @type {any} */ { engine }) => engine).filter(Boolean))
  put(at('engine'), [...engines].join(', ') || UNKNOWN)
}
