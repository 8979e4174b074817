/**
 * Items a second over the last minutes: drawn by uPlot, said in a sentence, and as a table by minute for whoever wants
 * the numbers. What is not known is a gap, never a zero.
 */
import { at, make, put } from './elements.js'
import { UNKNOWN, duration, number, timeOfDay } from './text.js'

/** the least that is drawn, so that the first seconds are no wall */
const LEAST_SPAN_S = 60
const MINUTE_MS = 60_000
const SAY_EVERY_MS = 5000
/** half of a label of the time axis */
const EDGE_PX = 28
/** seconds between labels of the time axis */
const TIME_STEPS = [1, 5, 10, 15, 30, 60, 120, 300]
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
  let saidMs = -Infinity

  /** @param {any} u */
  function point ({ cursor: { idx, left }, data: [xs, ys], posToVal }) {
    const isIn = idx !== null && idx !== undefined && posToVal(left, 'x') >= xs[0] - 1
    put(at('pointed'), isIn ? `${timeOfDay(xs[idx] * 1000)}   ${ys[idx] === null ? 'not known' : `${number(ys[idx])} a second`}` : '')
  }

  /** A soft area below the line. @param {any} u */
  function area ({ ctx, bbox: { top, height } }) {
    const fill = ctx.createLinearGradient(0, top, 0, top + height)
    fill.addColorStop(0, colour('--area-high'))
    fill.addColorStop(1, colour('--area-low'))
    return fill
  }

  function create () {
    plot?.destroy()
    const quiet = colour('--quiet')
    plot = new Plot({
      ...size(),
      padding: PADDING,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 8, width: 2, stroke: colour('--accent'), fill: colour('--ground') } },
      scales: {
        x: { range: (/** @type {any} */ _u, /** @type {number} */ min, /** @type {number} */ max) => [Math.min(min, max - LEAST_SPAN_S), max] },
        y: { range: (/** @type {any} */ _u, /** @type {number} */ _min, /** @type {number} */ max) => [0, max > 0 ? Math.max(1, max * 1.2) : 10] }
      },
      axes: [
        { stroke: quiet, font: font(), size: 28, gap: 6, space: labelSpace, incrs: TIME_STEPS, grid: { show: false }, ticks: { show: false }, values: clockTimes },
        { side: 1, stroke: quiet, font: font(), size: 58, gap: 8, space: 46, grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false }, values: (/** @type {any} */ _u, /** @type {number[]} */ splits) => splits.map(short) }
      ],
      series: [{}, { stroke: colour('--accent'), width: 2, fill: area, points: { show: false } }],
      hooks: { setCursor: [point] }
    }, series(history), element)
  }

  const size = () => ({ width: element.clientWidth, height: element.clientHeight })

  function say () {
    at('minutes').hidden = history.length === 0
    const told = history.map(({ itemsPerSecond }) => itemsPerSecond).filter((rate) => rate !== null)
    if (told.length < 2) return put(at('summary'), '')
    const spanMs = history[history.length - 1].at - history[0].at
    const [least, mean, most] = spread(told)
    const period = spanMs < 1.5 * MINUTE_MS ? 'In the last minute' : `In the last ${Math.round(spanMs / MINUTE_MS)} minutes`
    put(at('summary'), number(least) === number(most)
      ? `${period}: ${number(mean)} items a second all the time.`
      : `${period}: ${number(mean)} items a second on average, ${number(least)} at least, ${number(most)} at most.`)
  }

  function tabulate () {
    if (!at('minutes').open) return
    const minutes = Map.groupBy(history, ({ at: ms }) => Math.floor(ms / MINUTE_MS))
    const rows = [...minutes].reverse().map(([minute, samples]) => {
      const rates = samples.map(({ itemsPerSecond }) => itemsPerSecond).filter((rate) => rate !== null)
      const lags = samples.map(({ lagMs }) => lagMs).filter((lag) => lag !== null)
      const cells = [...(rates.length ? spread(rates).map(number) : [UNKNOWN, UNKNOWN, UNKNOWN]), lags.length ? duration(Math.max(...lags)) : UNKNOWN]
      return make('tr', {}, make('th', { scope: 'row', textContent: timeOfDay(minute * MINUTE_MS) }), ...cells.map((textContent) => make('td', { textContent })))
    })
    at('minutes').querySelector('tbody').replaceChildren(...rows)
  }

  at('minutes').addEventListener('toggle', tabulate)
  if (Plot) {
    create()
    new ResizeObserver(() => plot.setSize(size())).observe(element)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', create)
  }

  return {
    /** @param {Sample[]} samples oldest first @param {number} everyMs how far apart they are */
    show (samples, everyMs) {
      history = samples
      plot?.setData(series(samples, everyMs))
      if (performance.now() - saidMs < SAY_EVERY_MS && at('summary').textContent !== '') return
      saidMs = performance.now()
      say()
      tabulate()
    }
  }
}

/** @param {Sample[]} samples @param {number} [everyMs] @returns {[xs: number[], ys: (number | null)[]]} seconds, and a null where samples are missing */
function series (samples, everyMs = 1000) {
  if (samples.length === 0) return [[Date.now() / 1000 - LEAST_SPAN_S, Date.now() / 1000], [null, null]]
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

/** @param {number[]} values @returns {[least: number, mean: number, most: number]} */
const spread = (values) => [Math.min(...values), values.reduce((sum, value) => sum + value, 0) / values.length, Math.max(...values)]

/** Seconds for two minutes and a half, then minutes. @param {any} _u @param {number} _axis @param {number} from seconds @param {number} to @param {number} width px @returns {number} px between labels at least */
const labelSpace = (_u, _axis, from, to, width) => to - from > 150 ? Math.max(56, width * 60 / (to - from) - 1) : 90

/** None that would be cut at the edge. @param {any} u @param {number[]} splits seconds @param {number} _axis @param {number} _space @param {number} step */
const clockTimes = (u, splits, _axis, _space, step) => splits.map((second) => {
  if (u.valToPos(second, 'x') < EDGE_PX) return ''
  return timeOfDay(second * 1000).slice(0, step % 60 === 0 ? 5 : 8)
})

/** @param {number} n @returns {string} 12 k */
function short (n) {
  if (n >= 1e6) return `${number(n / 1e6)} M`
  return n >= 1e4 ? `${number(n / 1e3)} k` : number(n)
}
