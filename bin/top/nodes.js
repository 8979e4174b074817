/**
 * The table of nodes, one line each. Columns without room are left out.
 *
 * @typedef {{ role: string, address: string, engine: string | null, state: string, lagMs: number | null, cpu: number | null }} Node
 *   `lagMs`: replicas only; `cpu`: share of a core
 * @typedef {import('./lines.js').Span} Span
 */
import { visible } from '../../src/runtime/index.js'
import { bar } from './blocks.js'
import { spanText, UNKNOWN } from './figures.js'
import { fit, widthOf } from './text.js'

const BAR_CELLS = 10
const GAP = '  '
const HEADS = { role: 'node', address: 'address', engine: 'engine', state: 'state', lag: 'lag', cpu: 'cpu', share: 'of a core' }
/** left out in this order */
const SPARE = Object.freeze(['engine', 'share', 'lag'])
const RIGHT = Object.freeze(['lag', 'cpu'])
const GOOD = Object.freeze(['up', 'connected'])
/** temporary states */
const FAIR = Object.freeze(['lagging', 'sync', 'connect', 'connecting', 'handshake'])

/** @typedef {keyof typeof HEADS} Column */

/** @param {Node} node @returns {Record<Column, string>} */
const cellsOf = ({ role, address, engine, state, lagMs, cpu }) => ({
  role: visible(role),
  address: visible(address),
  engine: visible(engine ?? UNKNOWN),
  state: visible(state),
  lag: role === 'primary' ? '' : lagMs === null ? UNKNOWN : spanText(lagMs),
  cpu: cpu === null ? UNKNOWN : `${(100 * cpu).toFixed(1)} %`,
  share: cpu === null ? '' : bar(cpu, BAR_CELLS)
})

/** @param {Column} column @param {Node} node @returns {import('./lines.js').Style | null} */
function styleOf (column, { state, cpu }) {
  if (column === 'state') return GOOD.includes(state) ? 'green' : FAIR.includes(state) ? 'yellow' : 'red'
  if (column === 'share' && cpu !== null) return cpu < 0.5 ? 'green' : cpu < 0.8 ? 'yellow' : 'red'
  return null
}

/**
 * @param {Node[]} nodes
 * @param {{ columns: number, rows: number }} size `rows`: maximum number of nodes, at least two
 * @returns {Span[][]}
 */
export function nodesOf (nodes, { columns, rows }) {
  const most = Math.max(2, Math.floor(rows))
  const shown = nodes.length > most ? nodes.slice(0, most - 1) : nodes
  const lines = [HEADS, ...shown.map(cellsOf)]
  const width = (/** @type {Column} */ column) => Math.max(...lines.map((cells) => widthOf(cells[column])))
  const cellsFor = (/** @type {Column[]} */ some) => some.reduce((sum, column) => sum + width(column) + GAP.length, -GAP.length)
  let kept = /** @type {Column[]} */ (Object.keys(HEADS))
  for (const spare of SPARE) if (cellsFor(kept) > columns) kept = kept.filter((column) => column !== spare)
  const table = lines.map((cells, y) => kept.flatMap((column, x) => {
    const text = fit(cells[column], width(column), RIGHT.includes(column) ? 'right' : 'left')
    const span = /** @type {Span} */ ([y === 0 ? 'dim' : styleOf(column, shown[y - 1]), text])
    return x > 0 ? [GAP, span] : [span]
  }))
  return nodes.length > shown.length ? [...table, [['dim', `and ${nodes.length - shown.length} more`]]] : table
}
