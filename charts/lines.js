/**
 * Arms as lines over the varied quantity (`x`). Their names stand at the right in the order of their ends, each behind its sign,
 * so that nothing has to connect them. Arms at the same position are shifted by a few pixels, so that every error bar is visible.
 */
import { INK, lineStyle, SOFT } from './palette.js'
import { horizontalScale, verticalScale } from './scale.js'
import { widthOf, wrap } from './text.js'

const LABEL = { size: 12 }
const LINE_HEIGHT = 14
const HEIGHT = 340
/** left of the plot: numbers and title of the axis */
const AXIS_WIDTH = 56
/** between plot and names, with the sign of the arm in its middle */
const LEAD = 34
const NAME_WIDTH = { least: 60, most: 190 }
/** pixels between arms at the same position */
const BESIDE = 4
/** names of levels are wrapped to fit between their neighbours, but not narrower than this */
const LEVEL_WIDTH = { least: 44, most: 120 }

/** @typedef {import('./draw.js').Drawing} Drawing */
/** @typedef {import('./draw.js').Row & { x: number }} Row */
/** @typedef {import('./scale.js').Scale} Scale */

/**
 * @param {Drawing} drawing
 * @param {number} width of all, names included
 * @returns {{ left: number, views: object[] }} one view, and the pixels left of its plot
 */
export function linePanel (drawing, width) {
  const rows = /** @type {Row[]} */ (drawing.rows)
  const arms = armsOf(rows)
  const names = Math.ceil(Math.min(NAME_WIDTH.most, Math.max(NAME_WIDTH.least, ...arms.map(({ label }) => widthOf(label, LABEL)))))
  const plot = width - AXIS_WIDTH - LEAD - names
  const x = horizontalScale(rows, plot)
  const y = verticalScale(rows, HEIGHT)
  const axis = {
    domain: false,
    ticks: false,
    ...y.ticks === null ? { tickCount: 6 } : { values: y.ticks, format: '~g' },
    titlePadding: 10,
    labelPadding: 6,
    minExtent: AXIS_WIDTH - 20,
    maxExtent: AXIS_WIDTH - 20
  }
  const view = {
    width: plot,
    height: HEIGHT,
    encoding: {
      x: { field: 'x', type: 'quantitative', scale: x.scale, axis: axisOfLevels(rows, x) },
      y: {
        field: 'mid',
        type: 'quantitative',
        scale: y.scale,
        axis: { ...axis, ...aboveTheAxis, title: drawing.axis + (y.scale.type === 'log' ? ' (logarithmic axis)' : '') }
      }
    },
    layer: [
      ...arms.flatMap((arm) => layersOf(arm, y.scale)),
      ...namesOf(arms, { plot, names, placeY: y.place })
    ]
  }
  return { left: AXIS_WIDTH, views: [view] }
}

/** a title in one horizontal line, which may be longer than the axis */
const aboveTheAxis = { titleAngle: 0, titleAnchor: 'end', titleAlign: 'left', titleBaseline: 'bottom', titleX: -AXIS_WIDTH, titleY: -14 }

/** @param {Row[]} rows */
function armsOf (rows) {
  const arms = [...new Set(rows.map(({ arm }) => arm))]
  const inQuestion = arms.filter((arm) => rows.some((row) => row.arm === arm && row.role === 'arm'))
  const end = Math.max(...rows.map(({ x }) => x))
  return arms.map((arm, index) => {
    const all = rows.filter((row) => row.arm === arm)
    const shown = all.filter(({ mid }) => mid !== null).sort((a, b) => a.x - b.x)
    const last = shown.at(-1)
    return {
      arm,
      rows: shown,
      published: all.filter(({ published }) => published !== null),
      label: arm + (last === undefined ? '' : `: ${last.value}${last.x === end ? '' : ` at ${last.level}`}`),
      marks: marksOf(all),
      xOffset: (index - (arms.length - 1) / 2) * BESIDE,
      ...lineStyle(all[0].role, inQuestion.indexOf(arm))
    }
  })
}

/** The remarks of an arm, with their levels unless they hold for all. @param {Row[]} rows of one arm @returns {string[]} */
function marksOf (rows) {
  const marks = [...new Set(rows.map(({ mark }) => mark).filter((mark) => mark !== ''))]
  return marks.map((mark) => {
    const levels = rows.filter((row) => row.mark === mark).map(({ level }) => level)
    return levels.length === rows.length ? mark : `${mark} at ${levels.join(', ')}`
  })
}

/** @typedef {ReturnType<typeof armsOf>[number]} Arm */

/** @param {Arm} arm @param {object} scale */
function layersOf ({ rows, published, color, shape, fill, strokeDash, xOffset }, scale) {
  const y = (/** @type {string} */ field) => ({ field, type: 'quantitative', scale })
  const bars = { values: rows.filter(({ low, high }) => low !== null && high !== null) }
  const cap = (/** @type {string} */ field) =>
    ({ data: bars, mark: { type: 'tick', orient: 'horizontal', size: 9, thickness: 1.5, color, xOffset }, encoding: { y: y(field) } })
  return [
    { data: { values: rows }, mark: { type: 'line', color, strokeDash, strokeWidth: 2, xOffset } },
    {
      data: bars,
      mark: { type: 'rule', color, strokeWidth: 1.5, xOffset, ariaRoleDescription: 'errorbar' },
      encoding: { y: y('low'), y2: { field: 'high' } }
    },
    cap('low'),
    cap('high'),
    {
      data: { values: rows },
      mark: { type: 'point', shape, stroke: color, fill, filled: true, size: 45, strokeWidth: 1.5, opacity: 1, xOffset }
    },
    {
      data: { values: published },
      mark: { type: 'point', shape: 'diamond', size: 200, filled: false, stroke: color, strokeWidth: 1.8, opacity: 1, xOffset },
      encoding: { y: y('published') }
    }
  ]
}

/**
 * The name of each arm at the height of its last point, moved apart where they would overlap, behind the sign of its points.
 * @param {Arm[]} arms
 * @param {{ plot: number, names: number, placeY: (value: number) => number }} places
 */
function namesOf (arms, { plot, names, placeY }) {
  const labels = arms.map(({ label, marks, rows, color, shape, fill, strokeDash }) => {
    const text = [...wrap(label, names, LABEL), ...marks.flatMap((mark) => wrap(mark, names, LABEL))]
    const last = rows.at(-1)
    return {
      text,
      look: { color, shape, fill, strokeDash },
      height: text.length * LINE_HEIGHT + 4,
      wanted: last === undefined ? HEIGHT : placeY(/** @type {number} */ (last.mid))
    }
  })
  return apart(labels).flatMap(({ text, look: { color, shape, fill, strokeDash }, height, middle }) => {
    const y = { value: middle - (height - 4 - LINE_HEIGHT) / 2 }
    const [from, to] = [plot + 8, plot + LEAD - 6]
    return [
      {
        data: { values: [{}] },
        mark: { type: 'rule', color, strokeDash, strokeWidth: 2 },
        encoding: { x: { value: from }, x2: { value: to }, y }
      },
      {
        data: { values: [{}] },
        mark: { type: 'point', shape, stroke: color, fill, filled: true, size: 45, strokeWidth: 1.5, opacity: 1 },
        encoding: { x: { value: (from + to) / 2 }, y }
      },
      {
        data: { values: [{}] },
        mark: {
          type: 'text',
          align: 'left',
          baseline: 'middle',
          fill: INK,
          lineHeight: LINE_HEIGHT,
          text,
          dy: -(text.length - 1) * LINE_HEIGHT / 2
        },
        encoding: { x: { value: plot + LEAD }, y: { value: middle } }
      }
    ]
  })
}

/**
 * @template {{ wanted: number, height: number }} L
 * @param {L[]} labels
 * @returns {(L & { middle: number })[]} without overlap, each as near as possible to its wanted height
 */
function apart (labels) {
  const sorted = labels.map((label) => ({ ...label, middle: label.wanted })).sort((a, b) => a.wanted - b.wanted)
  const gap = (/** @type {number} */ i) => (sorted[i].height + sorted[i + 1].height) / 2
  for (let i = 0; i < sorted.length - 1; i++) sorted[i + 1].middle = Math.max(sorted[i + 1].middle, sorted[i].middle + gap(i))
  const over = sorted[sorted.length - 1].middle - (HEIGHT - sorted[sorted.length - 1].height / 2)
  if (over > 0) sorted[sorted.length - 1].middle -= over
  for (let i = sorted.length - 2; i >= 0; i--) sorted[i].middle = Math.min(sorted[i].middle, sorted[i + 1].middle - gap(i))
  return sorted
}

/** The axis with the names of the levels. @param {Row[]} rows @param {Scale} scale */
function axisOfLevels (rows, { ticks, place, scale }) {
  const levels = new Map(rows.map((row) => [row.x, row.level]))
  const values = ticks ?? []
  const apart = Math.min(LEVEL_WIDTH.most, ...values.slice(1).map((value, i) => place(value) - place(values[i]) - 8))
  const lines = Object.fromEntries([...levels].map(([x, level]) => [String(x), wrap(level, Math.max(LEVEL_WIDTH.least, apart), LABEL)]))
  return {
    title: scale.type === 'log' ? '(logarithmic axis)' : null,
    values,
    labelExpr: `${JSON.stringify(lines)}[toString(datum.value)]`,
    labelOverlap: 'greedy',
    labelFlush: false,
    labelLineHeight: LINE_HEIGHT,
    grid: false,
    domainColor: SOFT
  }
}
