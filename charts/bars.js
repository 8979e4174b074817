/**
 * Arms as bars, one panel for each level, on an axis from zero. Levels share the axis, so that lengths can be compared, unless
 * that would make all bars of one level too short. Figures are printed beside each bar, since short bars are hard to read.
 */
import { BARS, INK, SOFT } from './palette.js'
import { widthOf, wrap } from './text.js'
import { ceilingOf } from './scale.js'

const LABEL = { size: 12 }
const MARK = { size: 11 }
const LABEL_WIDTH = { least: 60, most: 210 }
const LINE_HEIGHT = 14
const ROW_GAP = 12
const GAP = 10
/** of a bar that lacks rounds, or is cut off */
const FAILED_OPACITY = 0.4
/** a limit this many times the other bars is cut off */
const FAR = 3
/** ratio of the largest to the smallest level above which each has its own axis, with a note */
const OWN_AXES_FROM = 4

/** @typedef {import('./draw.js').Drawing} Drawing */
/** @typedef {import('./draw.js').Row} Row */

/**
 * @param {Drawing} drawing
 * @param {number} width of all, labels included
 * @returns {{ left: number, views: object[] }} one view for each level, and the pixels left of the plots
 */
export function barPanels (drawing, width) {
  const levels = [...new Set(drawing.rows.map(({ level }) => level))]
  const rows = levels.map((level) => withinReach(drawing.rows.filter((row) => row.level === level)))
  const columns = columnsOf({ ...drawing, rows: rows.flat() }, width)
  const limits = rows.map((these) => ceilingOf(these))
  const ownAxes = Math.max(...limits) / Math.min(...limits) > OWN_AXES_FROM
  const views = levels.map((level, index) => panel(drawing, {
    level,
    rows: rows[index],
    columns,
    limit: ownAxes ? limits[index] : Math.max(...limits),
    ownAxes,
    isFirst: index === 0,
    isLast: index === levels.length - 1
  }))
  return { left: columns.label + GAP, views }
}

/** @param {Row[]} rows of a level @returns {Row[]} with a limit far beyond the other bars cut off, so that these can be compared */
function withinReach (rows) {
  const most = ceilingOf(rows.filter(({ role }) => role !== 'ceiling'))
  return rows.map((row) => row.role === 'ceiling' && Number(row.mid) > FAR * most
    ? { ...row, mid: most, low: null, high: null, mark: ['bar cut off', row.mark].filter(Boolean).join('; ') }
    : row)
}

/** @typedef {{ label: number, plot: number, value: number, right: number }} Columns widths; value and right: texts beside the bars */

/** @param {Drawing} drawing @param {number} width @returns {Columns} */
function columnsOf ({ rows, columns }, width) {
  const widest = (/** @type {string[]} */ texts, bold = false) =>
    Math.ceil(Math.max(...texts.map((text) => widthOf(text, { ...LABEL, bold }))))
  const label = Math.min(LABEL_WIDTH.most, Math.max(LABEL_WIDTH.least, widest(rows.map(({ arm }) => arm))))
  const value = widest([columns.value, ...rows.map((row) => row.value)], true)
  const ratio = widest([columns.ratio, ...rows.map((row) => row.ratio)])
  const right = value + GAP + ratio
  return { label, value, right, plot: width - label - GAP - right - GAP }
}

/**
 * @param {Drawing} drawing
 * @param {{ level: string, rows: Row[], columns: Columns, limit: number, ownAxes: boolean, isFirst: boolean, isLast: boolean }} options
 */
function panel (drawing, { level, rows, columns, limit, ownAxes, isFirst, isLast }) {
  const values = rows.map((row) => texts(row, columns))
  const step = Math.max(...values.map(({ lines }) => lines)) * LINE_HEIGHT + ROW_GAP
  const y = { field: 'arm', type: 'nominal', axis: null, scale: { domain: rows.map(({ arm }) => arm), paddingInner: 0, paddingOuter: 0 } }
  const x = (/** @type {string} */ field) => ({ field, type: 'quantitative', scale: { domain: [0, limit], nice: false } })
  const beside = columns.plot + GAP
  return {
    width: columns.plot,
    height: { step },
    data: { values },
    encoding: { y },
    layer: [
      ...Object.entries(BARS).map(([role, look]) => ({
        transform: [{ filter: `datum.role === '${role}' && datum.mid !== null` }],
        mark: { type: 'bar', height: 16, strokeWidth: 1, ...look, fillOpacity: { expr: `datum.mark === '' ? 1 : ${FAILED_OPACITY}` } },
        encoding: {
          x: {
            ...x('mid'),
            axis: {
              title: isLast ? drawing.axis + (ownAxes ? ' (each level has its own axis)' : '') : null,
              labels: isLast || ownAxes,
              ticks: isLast || ownAxes,
              domain: false,
              labelFlush: false,
              tickCount: 6,
              titlePadding: 8
            }
          }
        }
      })),
      {
        transform: [{ filter: 'datum.low !== null && datum.high !== null' }],
        mark: { type: 'errorbar', color: INK, thickness: 1.5, ticks: { size: 9, thickness: 1.5, color: INK } },
        encoding: { x: { ...x('low'), title: '' }, x2: { field: 'high' } }
      },
      {
        transform: [{ filter: 'datum.published !== null' }],
        mark: { type: 'point', shape: 'diamond', size: 80, filled: false, stroke: INK, strokeWidth: 1.5, opacity: 1 },
        encoding: { x: x('published') }
      },
      text({ x: -GAP, field: 'name' }, { align: 'right', lineHeight: LINE_HEIGHT, dy: { expr: 'datum.top' } }),
      text({ x: beside + columns.value, field: 'value' }, { align: 'right', fontWeight: 'bold', dy: { expr: 'datum.up' } }),
      text({ x: beside + columns.value + GAP, field: 'ratio' }, { dy: { expr: 'datum.up' } }),
      text({ x: beside, field: 'below' },
        { fontSize: MARK.size, fontStyle: 'italic', lineHeight: LINE_HEIGHT, dy: { expr: 'datum.down' } }),
      text({ x: 6, field: 'instead' }, { fontSize: MARK.size, fontStyle: 'italic', lineHeight: LINE_HEIGHT, dy: { expr: 'datum.down' } }),
      head({ x: -columns.label - GAP, align: 'left', text: level }, { fontSize: 13, fontWeight: 'bold' }),
      ...isFirst
        ? [head({ x: beside + columns.value, align: 'right', text: drawing.columns.value }),
            head({ x: beside + columns.value + GAP, align: 'left', text: drawing.columns.ratio })]
        : []
    ]
  }
}

/**
 * The texts of a row, with their offsets from its middle. Without a bar, the reason takes its place.
 * @param {Row} row @param {Columns} columns
 */
function texts (row, columns) {
  const name = wrap(row.arm, columns.label, LABEL)
  const why = row.mark === '' ? [] : wrap(row.mark, row.mid === null ? columns.plot - GAP : columns.right, MARK)
  const above = row.mid === null ? 0 : 1
  return {
    ...row,
    name,
    below: row.mid === null ? [] : why,
    instead: row.mid === null ? why : [],
    top: -(name.length - 1) * LINE_HEIGHT / 2,
    lines: Math.max(name.length, above + why.length),
    up: row.mid === null ? 0 : -why.length * LINE_HEIGHT / 2,
    down: (above - why.length + 1) * LINE_HEIGHT / 2
  }
}

/** @param {{ x: number, field: string }} place @param {object} [look] */
const text = ({ x, field }, look = {}) =>
  ({ mark: { type: 'text', align: 'left', baseline: 'middle', ...look }, encoding: { x: { value: x }, text: { field } } })

/** @param {{ x: number, align: string, text: string }} what @param {object} [look] */
const head = ({ x, align, text }, look = { fill: SOFT }) => ({
  data: { values: [{}] },
  mark: { type: 'text', baseline: 'bottom', align, text, ...look },
  encoding: { y: { value: -8 }, x: { value: x } }
})
