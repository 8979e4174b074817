/** What a reader costs the servers (consumption.js), as a section of a page and as lines in the terminal. */
import { aligned } from './columns.js'
import { count, estimated } from './numbers.js'
import { table } from './markdown-table.js'

/** @typedef {import('../analysis/index.js').Analysis} Analysis */

const HEADS = ['readers', 'items/s each', 'primary', 'replicas', 'us an item', 'fill a core']

/** @param {Analysis} analysis @returns {string[][]} arm, level, then HEADS */
const rowsOf = ({ consumptions }) => consumptions.map((one) => [one.arm, one.level, String(one.readers), count(one.itemsReadPerSecond),
  estimated(one.primaryPercent), estimated(one.replicasPercent), estimated(one.microsPerItemRead), estimated(one.readersPerCore)])

/** @param {Analysis} analysis @returns {string} Markdown; empty if the plan is about something else */
export function consumersSection (analysis) {
  const rows = rowsOf(analysis)
  return rows.length === 0
    ? ''
    : 'CPU time of the servers with readers, less that without any, for each reader: % of a core of the primary and of all replicas ' +
      'together, and microseconds of all nodes for each item read. "Fill a core": so many readers take what writing leaves of a core, if ' +
      'they all read the same node; calculated, not measured. A dash: no measurable cost.\n\n' +
      table(['arm', 'level', ...HEADS.map((head) => `>${head}`)], rows)
}

/** @param {Analysis} analysis @returns {string[]} */
export function consumerLines (analysis) {
  const rows = rowsOf(analysis)
  if (rows.length === 0) return []
  return ['what each reader costs the servers, % of a core', ...aligned([['arm', 'level', ...HEADS], ...rows], 2), '']
}
