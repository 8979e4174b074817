/**
 * How arms are distinguished: by position and name first, then by point shape and dashes, then by colour. The colours are those of
 * Okabe and Ito, which are safe for colour blindness, without the yellow that is too faint on white.
 */

export const INK = '#222222'
export const SOFT = '#595959'
export const GRID = '#e3e3e3'
export const PAPER = '#ffffff'

/** Bars: light enough for the black error bar over them. */
export const BARS = {
  baseline: { fill: '#b0b0b0', stroke: '#595959' },
  repeat: { fill: '#e6e6e6', stroke: '#595959', strokeDash: [3, 2] },
  ceiling: { fill: PAPER, stroke: '#595959' },
  arm: { fill: '#7fb8da', stroke: '#0072b2' }
}

/** Lines of the arms in question. A diamond marks published figures, so none of them uses it. */
const LINES = [
  { color: '#0072b2', shape: 'square', strokeDash: [7, 3] },
  { color: '#d55e00', shape: 'triangle-up', strokeDash: [2, 3] },
  { color: '#009e73', shape: 'cross', strokeDash: [10, 3, 2, 3] },
  { color: '#cc79a7', shape: 'triangle-down', strokeDash: [4, 2] },
  { color: '#e69f00', shape: 'triangle-right', strokeDash: [12, 4] },
  { color: '#56b4e9', shape: 'triangle-left', strokeDash: [2, 2, 6, 2] }
]
const BASELINE = { color: INK, shape: 'circle', fill: INK, strokeDash: [1, 0] }
const CEILING = { color: '#7a7a7a', shape: 'circle', fill: PAPER, strokeDash: [1, 3] }

/**
 * @param {'arm' | 'baseline' | 'repeat' | 'ceiling'} role
 * @param {number} index of the arm among those in question; with more arms than colours, colours repeat with other shapes
 */
export function lineStyle (role, index) {
  if (role === 'baseline') return BASELINE
  if (role === 'ceiling') return CEILING
  const { color } = LINES[index % LINES.length]
  const { shape, strokeDash } = LINES[(index + Math.floor(index / LINES.length)) % LINES.length]
  return { color, shape, fill: color, strokeDash }
}
