/** Items per second over the last minutes: a uPlot chart, one sentence, and a table by minute. Unknown values are gaps. */
import { at, make, put } from './elements.js'
import { UNKNOWN, duration, number, timeOfDay } from './text.js'

/** minimum span, so that the first seconds do not fill the chart */
const MIN_SPAN_S = 60
const MINUTE_MS = 60_000
const TEXT_EVERY_MS = 5000
/** half the width of a label of the time axis */
const EDGE_PX = 28
/** seconds between labels of the time axis */
const TIME_STEPS = [1, 5, 10, 15, 30, 60, 120, 300]
const OUTAGE_PX = 2
const PADDING = [12, 0, 0, 0]

/** @typedef {{ at: number, itemsPerSecond: number | null, lagMs: number | null, cpu: Record<string, number | null> }} Sample */

const colour = (/** @type {string} */ name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
const font = () => `12px ${getComputedStyle(document.body).fontFamily}`

export function createChart () {
  const element = at('chart')
  const Plot = /** @type {any} */ (globalThis).uPlot
  /** @type {any} */
  let plot = null
  /** @type {Sample[]} */
  let history = []
  /** @type {import('./outages.js').Outage[]} */
  let outages = []
  let textMs = -Infinity

  const size = () => ({ width: element.clientWidth, height: element.clientHeight })
  const create = () => {
    plot?.destroy()
    plot = new Plot({ ...size(), ...plotOptions((/** @type {any} */ u) => drawOutages(u, outages)) }, series(history), element)
  }
  const showMinutes = () => {
    if (at('minutes').open) at('minutes').querySelector('tbody').replaceChildren(...minuteRows(history))
  }

  at('minutes').addEventListener('toggle', showMinutes)
  if (Plot) {
    create()
    new ResizeObserver(() => plot.setSize(size())).observe(element)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', create)
  }

  return {
    /**
     * @param {Sample[]} samples oldest first @param {number} everyMs interval between samples
     * @param {import('./outages.js').Outage[]} marked
     */
    show (samples, everyMs, marked) {
      history = samples
      outages = marked
      plot?.setData(series(samples, everyMs))
      if (performance.now() - textMs < TEXT_EVERY_MS && at('summary').textContent !== '') return
      textMs = performance.now()
      at('minutes').hidden = history.length === 0
      put(at('summary'), summaryOf(history))
      showMinutes()
    }
  }
}

/** @param {(u: any) => void} drawMarks */
function plotOptions (drawMarks) {
  const quiet = colour('--quiet')
  const axis = { stroke: quiet, font: font(), ticks: { show: false } }
  return {
    padding: PADDING,
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { size: 8, width: 2, stroke: colour('--accent'), fill: colour('--ground') }
    },
    scales: {
      x: { range: (/** @type {any} */ _u, /** @type {number} */ min, /** @type {number} */ max) => [Math.min(min, max - MIN_SPAN_S), max] },
      y: {
        range: (/** @type {any} */ _u, /** @type {number} */ _min, /** @type {number} */ max) => [0, max > 0 ? Math.max(1, max * 1.2) : 10]
      }
    },
    axes: [
      { ...axis, size: 28, gap: 6, space: labelSpace, incrs: TIME_STEPS, grid: { show: false }, values: clockTimes },
      {
        ...axis,
        side: 1,
        size: 58,
        gap: 8,
        space: 46,
        grid: { stroke: colour('--line'), width: 1 },
        values: (/** @type {any} */ _u, /** @type {number[]} */ splits) => splits.map(short)
      }
    ],
    series: [{}, { stroke: colour('--accent'), width: 2, fill: area, points: { show: false } }],
    hooks: { setCursor: [showPointed], drawAxes: [drawMarks] }
  }
}

/** Shows the value at the cursor. @param {any} u */
function showPointed ({ cursor: { idx, left }, data: [xs, ys], posToVal }) {
  const isIn = idx !== null && idx !== undefined && posToVal(left, 'x') >= xs[0] - 1
  put(at('pointed'), isIn ? `${timeOfDay(xs[idx] * 1000)}   ${ys[idx] === null ? 'unknown' : `${number(ys[idx])} items/s`}` : '')
}

/** A band while a server is down, and a line where that begins. @param {any} u @param {import('./outages.js').Outage[]} outages */
function drawOutages (u, outages) {
  const { ctx, bbox: { left, top, width, height } } = u
  const xOf = (/** @type {number} */ ms) => Math.min(left + width, Math.max(left, u.valToPos(ms / 1000, 'x', true)))
  for (const { from, to } of outages) {
    const x = xOf(from)
    ctx.fillStyle = colour('--outage')
    ctx.fillRect(x, top, xOf(to ?? Infinity) - x, height)
    ctx.fillStyle = colour('--bad')
    ctx.fillRect(x, top, OUTAGE_PX * window.devicePixelRatio, height)
  }
}

/** The gradient below the line. @param {any} u */
function area ({ ctx, bbox: { top, height } }) {
  const fill = ctx.createLinearGradient(0, top, 0, top + height)
  fill.addColorStop(0, colour('--area-high'))
  fill.addColorStop(1, colour('--area-low'))
  return fill
}

/** @param {Sample[]} history @returns {string} a sentence, '' if there is too little */
function summaryOf (history) {
  const rates = history.map(({ itemsPerSecond }) => itemsPerSecond).filter((rate) => rate !== null)
  if (rates.length < 2) return ''
  const spanMs = history[history.length - 1].at - history[0].at
  const [min, mean, max] = spread(rates).map(number)
  const period = spanMs < 1.5 * MINUTE_MS ? 'Last minute' : `Last ${Math.round(spanMs / MINUTE_MS)} minutes`
  return min === max ? `${period}: constant ${mean} items/s.` : `${period}: ${mean} items/s on average, from ${min} to ${max}.`
}

/** @param {Sample[]} history @returns {Node[]} a row per minute, newest first */
function minuteRows (history) {
  const minutes = Map.groupBy(history, ({ at: ms }) => Math.floor(ms / MINUTE_MS))
  return [...minutes].reverse().map(([minute, samples]) => {
    const rates = samples.map(({ itemsPerSecond }) => itemsPerSecond).filter((rate) => rate !== null)
    const lags = samples.map(({ lagMs }) => lagMs).filter((lag) => lag !== null)
    const cells = [
      ...(rates.length ? spread(rates).map(number) : [UNKNOWN, UNKNOWN, UNKNOWN]),
      lags.length ? duration(Math.max(...lags)) : UNKNOWN
    ]
    const head = make('th', { scope: 'row', textContent: timeOfDay(minute * MINUTE_MS) })
    return make('tr', {}, head, ...cells.map((textContent) => make('td', { textContent })))
  })
}

/**
 * @param {Sample[]} samples
 * @param {number} [everyMs]
 * @returns {[xs: number[], ys: (number | null)[]]} in seconds; null for missing samples
 */
function series (samples, everyMs = 1000) {
  if (samples.length === 0) return [[Date.now() / 1000 - MIN_SPAN_S, Date.now() / 1000], [null, null]]
  const xs = []
  const ys = []
  let before = Infinity
  for (const { at: ms, itemsPerSecond } of samples) {
    if (ms - before > 3 * everyMs) {
      xs.push((before + everyMs) / 1000)
      ys.push(null)
    }
    xs.push(ms / 1000)
    ys.push(itemsPerSecond)
    before = ms
  }
  return [xs, ys]
}

/** @param {number[]} values @returns {[min: number, mean: number, max: number]} */
const spread = (values) => [Math.min(...values), values.reduce((sum, value) => sum + value, 0) / values.length, Math.max(...values)]

/**
 * Labels in seconds up to 2.5 minutes, then in minutes.
 * @param {any} _u @param {number} _axis @param {number} from seconds @param {number} to @param {number} width px
 * @returns {number} minimum px between labels
 */
const labelSpace = (_u, _axis, from, to, width) => to - from > 150 ? Math.max(56, width * 60 / (to - from) - 1) : 90

/**
 * Leaves out labels that the edge would cut.
 * @param {any} u @param {number[]} splits seconds @param {number} _axis @param {number} _space @param {number} step
 */
const clockTimes = (u, splits, _axis, _space, step) => splits.map((second) => {
  if (u.valToPos(second, 'x') < EDGE_PX) return ''
  return timeOfDay(second * 1000).slice(0, step % 60 === 0 ? 5 : 8)
})

/** @param {number} n @returns {string} such as 12 k */
function short (n) {
  if (n >= 1e6) return `${number(n / 1e6)} M`
  return n >= 1e4 ? `${number(n / 1e3)} k` : number(n)
}
