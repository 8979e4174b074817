/**
 * Renders a drawing, plain data, as SVG: the content comes from the drawing, the look from here. Vega-Lite does the layout; text
 * is measured with our own table, so that the same drawing gives the same bytes on every machine.
 *
 * Error bars are always drawn: a chart without them would claim more than was measured.
 */
import { compile } from 'vega-lite'
import * as vega from 'vega'
import { barPanels } from './bars.js'
import { linePanel } from './lines.js'
import { FONT, widthOf, wrap } from './text.js'
import { GRID, INK, PAPER, SOFT } from './palette.js'

/** the width at which a README shows images unscaled */
const WIDTH = 800
const PADDING = 16
const INNER = WIDTH - 2 * PADDING

const TITLE = { size: 17, bold: true }
const SUBTITLE = { size: 12.5 }
const CAPTION = { size: 11 }
const LINE = 1.3

/**
 * One arm at one level: one bar, or one point of a line.
 * @typedef {object} Row
 * @property {string} level
 * @property {number | null} x position on the axis, for lines
 * @property {string} arm
 * @property {'arm' | 'baseline' | 'repeat' | 'ceiling'} role repeat: the baseline once more
 * @property {number | null} mid of the main measure; null: no figure, and `mark` says why
 * @property {number | null} low
 * @property {number | null} high
 * @property {number | null} published in the unit of mid: the published ratio times our figure of the other arm; a hollow diamond
 * @property {string} value mid as text
 * @property {string} ratio as text
 * @property {string} mark why there is no figure, or what is wrong with it; a bar is then paler
 */

/**
 * @typedef {object} Drawing
 * @property {'bars' | 'lines'} kind lines need x in every row
 * @property {string} title the finding
 * @property {string} subtitle the question
 * @property {string} axis measure and unit
 * @property {{ value: string, ratio: string }} columns heads of the texts beside the bars
 * @property {string} interval what an error bar is
 * @property {string} published what a diamond is
 * @property {string[]} notes remarks about arms, one paragraph each
 * @property {string[]} caption conditions, one paragraph each
 * @property {Row[]} rows levels and arms in the order in which they are shown
 */

/**
 * @param {Drawing} drawing
 * @returns {Promise<string>} an SVG file
 */
export async function draw (drawing) {
  if (drawing.rows.length === 0) throw new TypeError('the drawing has no rows')
  measureTextOurselves()
  const spec = specOf(drawing)
  const view = new vega.View(vega.parse(compile(spec).spec), { renderer: 'none' })
  const svg = await view.toSVG()
  view.finalize()
  return withWords(svg, drawing)
}

/** @param {Drawing} drawing */
function specOf (drawing) {
  const { left, views } = drawing.kind === 'lines' ? linePanel(drawing, INNER) : barPanels(drawing, INNER)
  return /** @type {any} */ ({
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    background: PAPER,
    padding: PADDING,
    title: {
      text: wrap(drawing.title, INNER, TITLE),
      subtitle: wrap(drawing.subtitle, INNER, SUBTITLE),
      anchor: 'start',
      fontSize: TITLE.size,
      lineHeight: TITLE.size * LINE,
      subtitleFontSize: SUBTITLE.size,
      subtitleLineHeight: SUBTITLE.size * LINE,
      subtitlePadding: 6,
      offset: 10
    },
    spacing: 12,
    vconcat: [key(drawing, left), ...views, caption(drawing, left)],
    config: {
      font: FONT,
      title: { color: INK, subtitleColor: SOFT, font: FONT, subtitleFont: FONT },
      view: { stroke: null },
      axis: {
        labelFont: FONT,
        titleFont: FONT,
        labelColor: INK,
        titleColor: INK,
        labelFontSize: 12,
        titleFontSize: 12,
        titleFontWeight: 'normal',
        gridColor: GRID,
        domainColor: SOFT,
        tickColor: SOFT
      },
      text: { font: FONT, fontSize: 12, fill: INK },
      concat: { spacing: 12 }
    }
  })
}

/** The legend of the signs, in one line. @param {Drawing} drawing @param {number} left of the plots, where views have their origin */
function key ({ interval, published, rows }, left) {
  const signs = [{ text: interval, sign: 'interval' }]
  if (rows.some((row) => row.published !== null)) signs.push({ text: published, sign: 'published' })
  let x = -left
  const layer = signs.flatMap(({ text, sign }) => {
    const from = x
    x += 26 + widthOf(text, { size: 12 }) + 28
    return [...(sign === 'interval' ? intervalSign(from) : [diamond(from + 9)]), {
      mark: { type: 'text', align: 'left', baseline: 'middle', fill: SOFT, text }, encoding: { x: { value: from + 26 }, y: { value: 8 } }
    }]
  })
  return { width: INNER - left, height: 16, data: { values: [{}] }, layer }
}

/** @param {number} from */
const intervalSign = (from) => [
  { mark: { type: 'rule', color: INK, strokeWidth: 1.5 }, encoding: { x: { value: from }, x2: { value: from + 18 }, y: { value: 8 } } },
  ...[from, from + 18]
    .map((x) =>
      ({ mark: { type: 'rule', color: INK, strokeWidth: 1.5 }, encoding: { x: { value: x }, y: { value: 4 }, y2: { value: 12 } } }))
]

/** @param {number} x */
const diamond = (x) => ({
  mark: { type: 'point', shape: 'diamond', size: 80, filled: false, stroke: INK, strokeWidth: 1.5, opacity: 1 },
  encoding: { x: { value: x }, y: { value: 8 } }
})

/** Remarks and conditions, below the plot. @param {Drawing} drawing @param {number} left */
function caption ({ notes, caption }, left) {
  const text = [...notes, ...caption].flatMap((paragraph) => wrap(paragraph, INNER, CAPTION))
  const lineHeight = CAPTION.size * LINE
  return {
    width: INNER - left,
    height: text.length * lineHeight,
    data: { values: [{}] },
    mark: { type: 'text', align: 'left', baseline: 'top', fontSize: CAPTION.size, lineHeight, fill: SOFT, text },
    encoding: { x: { value: -left }, y: { value: 0 } }
  }
}

/**
 * Vega has one text measurer for the whole process; ours replaces it at the first drawing.
 */
function measureTextOurselves () {
  const { textMetrics } = /** @type {any} */ (vega)
  textMetrics.width = (/** @type {any} */ item, /** @type {unknown} */ text) =>
    widthOf(String(text ?? '').trim(), { size: item.fontSize ?? 11, bold: item.fontWeight === 'bold' })
}

/** The finding for screen readers. @param {string} svg @param {Drawing} drawing */
function withWords (svg, { title, subtitle }) {
  return svg.replace(/<svg ([^>]*)>/, `<svg role="img" $1><title>${escape(title)}</title><desc>${escape(subtitle)}</desc>`) + '\n'
}

/** @param {string} text */
const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
