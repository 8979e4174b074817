/**
 * Two results side by side: the same arms at the same levels, the second against the first. It says what changed between
 * two versions, engines or machines; what else differed stands above the figures.
 *
 * @typedef {import('./analysis.js').Result} Result
 * @typedef {import('./measures.js').Sample} Sample
 */
import { FreshetError } from '../errors.js'
import { MEASURES } from './measures.js'
import { ratioOfMedians, medianWithInterval, verdictOf } from './statistics.js'

/** Told apart in the first lines; what else there is makes little difference. */
const CONDITIONS = /** @type {const} */ (['experiment', 'engine', 'commit', 'node', 'startedAt'])

/**
 * @param {{ name: string, result: Result }} a @param {{ name: string, result: Result }} b
 * @returns {{ measure: string, differences: string[], rows: Row[], onlyA: string[], onlyB: string[] }}
 * @typedef {{ level: string, arm: string, a: number | null, b: number | null, ratio: number | null, low: number | null,
 *   high: number | null, verdict: 'less' | 'more' | 'none' | 'unknown' }} Row
 * @throws {FreshetError} RESULT_INVALID: nothing was measured in both
 */
export function comparisonOf (a, b) {
  const measure = a.result.plan.measures[0]
  const { of } = MEASURES[measure]
  const [cellsA, cellsB] = [a, b].map(({ result }) => cellsOf(result))
  const shared = [...cellsA.keys()].filter((cell) => cellsB.has(cell))
  if (shared.length === 0) throw new FreshetError('RESULT_INVALID', `${a.name} and ${b.name} have no arm at the same level; expected two results of one experiment`)
  const rows = shared.map((cell) => {
    const [valuesA, valuesB] = [cellsA, cellsB].map((cells) => (cells.get(cell) ?? []).map(of).filter((value) => value !== null))
    const { ratio, low, high } = ratioOfMedians(valuesB, valuesA)
    const [level, arm] = JSON.parse(cell)
    return { level, arm, a: medianWithInterval(valuesA).median, b: medianWithInterval(valuesB).median, ratio, low, high, verdict: verdictOf({ low, high }) }
  })
  const only = (/** @type {Map<string, Sample[]>} */ these, /** @type {Map<string, Sample[]>} */ those) =>
    [...these.keys()].filter((cell) => !those.has(cell)).map((cell) => JSON.parse(cell).reverse().join(' at '))
  return { measure, differences: differencesOf(a.result, b.result), rows, onlyA: only(cellsA, cellsB), onlyB: only(cellsB, cellsA) }
}

/** @param {Result} result @returns {Map<string, Sample[]>} valid samples by level and arm */
function cellsOf ({ samples }) {
  /** @type {Map<string, Sample[]>} */
  const cells = new Map()
  for (const sample of samples) {
    if (!sample.valid) continue
    const cell = JSON.stringify([sample.level, sample.arm])
    cells.set(cell, [...cells.get(cell) ?? [], sample])
  }
  return cells
}

/** @param {Result} a @param {Result} b */
function differencesOf (a, b) {
  const tops = CONDITIONS.filter((name) => a[name] !== b[name]).map((name) => `${name}: ${a[name]} / ${b[name]}`)
  const machines = JSON.stringify(a.machine) === JSON.stringify(b.machine) ? [] : [`machine: ${a.machine.cpu}, ${a.machine.cores} cores / ${b.machine.cpu}, ${b.machine.cores} cores`]
  const settings = /** @type {const} */ (['seconds', 'warmUpSeconds', 'rounds', 'timeScale', 'rttMs', 'target', 'quick']).filter((name) => a.settings[name] !== b.settings[name])
    .map((name) => `${name}: ${a.settings[name]} / ${b.settings[name]}`)
  return [...tops, ...machines, ...settings]
}

/**
 * @param {{ name: string, result: Result }} a @param {{ name: string, result: Result }} b
 * @returns {string} for a terminal
 */
export function compareResults (a, b) {
  const { measure, differences, rows, onlyA, onlyB } = comparisonOf(a, b)
  const { title, unit } = MEASURES[measure]
  const cells = rows.map((row) => [row.level, row.arm, shown(row.a), shown(row.b), row.ratio === null ? '-' : `${row.ratio.toFixed(2)} ${intervalOf(row)}`, SAYS[row.verdict]])
  const table = [['level', 'arm', 'A', 'B', 'B / A', ''], ...cells]
  const widths = table[0].map((_, i) => Math.max(...table.map((line) => line[i].length)))
  return [
    `A  ${a.name}`,
    `B  ${b.name}`,
    ...differences.map((line) => `   differs: ${line}`),
    '   Two runs are not interleaved: a machine that was faster that day looks like a difference.',
    '',
    `${title}, ${unit}: medians, ratio and its 95 % interval`,
    '',
    ...table.map((line) => line.map((cell, i) => i > 1 && i < 4 ? cell.padStart(widths[i]) : cell.padEnd(widths[i])).join('  ').trimEnd()),
    ...(onlyA.length ? ['', `only in A: ${onlyA.join(', ')}`] : []),
    ...(onlyB.length ? ['', `only in B: ${onlyB.join(', ')}`] : [])
  ].join('\n')
}

const SAYS = { less: 'less', more: 'more', none: 'no difference shown', unknown: 'too few rounds' }
const shown = (/** @type {number | null} */ value) => value === null ? '-' : value >= 100 ? value.toFixed(0) : value.toPrecision(3)
const intervalOf = (/** @type {Row} */ { low, high }) => low === null || high === null ? '' : `[${low.toFixed(2)}-${high.toFixed(2)}]`
