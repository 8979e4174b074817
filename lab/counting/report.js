/** Counts as text for a terminal, and as a section of a page. */
import { aligned } from '../report/columns.js'
import { list, table } from '../report/markdown-table.js'
import { countedText } from '../analysis/verdict.js'
import { figure, ratio } from '../report/numbers.js'
import { contradictions, ratioOf } from './compare.js'

/**
 * @typedef {import('./compare.js').CountedCell} CountedCell
 * @typedef {{ format: number, experiment: string, commit: string | null, dirty: boolean | null, source: string, node: string,
 *   startedAt: string, finishedAt: string | null, window: string | null, baseline: string,
 *   keys: Record<string, import('./valgrind.js').Key>, cells: CountedCell[] }} Counts the file of a count; `window`: the result that it is
 *   compared with; `keys` by engine
 */

export const SEEN = Object.freeze([
  'Instructions are those of the server program, without the kernel: how much more work, to about one percent, on a busy machine too.',
  'A count does not see the kernel (sockets, the writes of replication), cache misses, waits, or the client. A window does.',
  'Counted is one connection with one batch after the other. Nothing is trimmed; what is done once a second, and marks of items that a ' +
    'busy writer sent late, are left out.',
  'INVALID: items a batch, or the share of a form of writing, differ by more than 2 % from those of the window.'
])
const HEADS = ['level', 'arm', 'node', 'instructions', 'x baseline', 'commands', 'bytes in', 'bytes out', 'of', 'a batch', 'window: x CPU',
  'a batch', 'commands']

/** @param {number | null} one @returns {string} such as 0.50 x */
const times = (one) => one === null ? '-' : `${countedText(one)} x`

/** @param {Counts} counts @returns {string[][]} */
function rowsOf ({ cells, baseline }) {
  return cells.flatMap((cell) => {
    if (cell.error) return [[cell.level, cell.arm, cell.error.message, ...HEADS.slice(3).map(() => '')]]
    return cell.nodes.map((node, i) => {
      const { window } = cell
      const isFirst = i === 0
      return [
        cell.level,
        cell.arm,
        node.role,
        cell.invalid.length > 0 ? 'INVALID' : figure(node.instructions),
        times(ratioOf(cells, cell, baseline, i)),
        figure(node.commands), figure(node.bytesIn), figure(node.bytesOut), cell.unit, String(cell.batchUnits),
        isFirst && cell.ratio ? `${ratio(cell.ratio.ratio)} [${ratio(cell.ratio.low)}-${ratio(cell.ratio.high)}]` : '',
        isFirst && window && cell.unit !== 'reply' ? figure(window.itemsPerBatch) : '',
        isFirst && window ? figure(window.commandsPerUnit) : ''
      ]
    })
  })
}

/** @param {Counts} counts */
const invalidOf = ({ cells }) => cells.filter(({ invalid }) => invalid.length > 0)
  .map(({ arm, level, invalid }) => `INVALID: ${arm} at ${level}: ${invalid.join('; ')}`)

/** @param {Counts} counts */
const conditionsOf = ({ keys, startedAt, commit, window }) => [
  ...Object.entries(keys).map(([engine, { arch, libc, binary, valgrind }]) =>
    `${engine} (${binary}), ${arch}, ${libc}, valgrind ${valgrind}`),
  `${startedAt}, commit ${commit?.slice(0, 8) ?? 'unknown'}; ` +
    `${window ? `beside the windows of ${window}` : 'there is no window to compare with'}`
]

/** @param {Counts} counts @returns {string} */
export function textOfCounts (counts) {
  return [
    `instructions a unit, counted: ${counts.experiment}`,
    '',
    ...aligned([HEADS, ...rowsOf(counts)], 3),
    '',
    ...[...invalidOf(counts), ...contradictions(counts.cells, counts.baseline), ...SEEN, ...conditionsOf(counts)].map((line) => `  ${line}`)
  ].join('\n')
}

/** @param {Counts} counts @returns {string} Markdown */
export const sectionOfCounts = (counts) =>
  table(HEADS.map((head, i) => i < 3 || head === 'of' ? head : `>${head}`), rowsOf(counts)) +
  list([...invalidOf(counts), ...contradictions(counts.cells, counts.baseline)]) + list([...SEEN, ...conditionsOf(counts)])
