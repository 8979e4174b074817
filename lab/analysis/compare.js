/**
 * Compares two results: the same arms at the same levels, the second against the first. It shows what changed between two
 * versions, engines or machines; other differences are listed above the figures.
 *
 * @typedef {import('./index.js').Result} Result
 * @typedef {import('./groups.js').Group} Group
 * @typedef {{ name: string, result: Result }} Named
 * @typedef {{ level: string, arm: string, a: number | null, b: number | null, ratio: number | null, low: number | null,
 *   high: number | null, verdict: import('./verdict.js').Verdict, remarks: string[] }} Row `remarks`: marks, and
 *   samples that are not in the figures
 */
import { FreshetError } from '../errors.js'
import { countsOf, groupsOf } from './groups.js'
import { MEASURES } from './measures.js'
import { aligned } from '../report/columns.js'
import { titleOf } from '../report/figures.js'
import { figure, ratioWithInterval } from '../report/numbers.js'
import { countsTexts } from '../report/remarks.js'
import { ratioOfMedians, medianWithInterval, verdictOf } from './statistics.js'

/** Conditions whose differences are listed. */
const CONDITIONS = /** @type {const} */ (['experiment', 'engine', 'commit', 'node', 'startedAt'])
const SETTINGS = /** @type {const} */ (['seconds', 'warmUpSeconds', 'rounds', 'rttMs', 'target', 'quick'])
const VERDICTS = { less: 'less', more: 'more', none: 'no measurable difference', unknown: 'too few valid rounds' }

/**
 * @param {Named} a @param {Named} b
 * @returns {{ measure: string, differences: string[], rows: Row[], onlyA: string[], onlyB: string[] }}
 * @throws {FreshetError} RESULT_INVALID: no common arm and level, or an unknown measure
 */
export function comparisonOf (a, b) {
  const measure = a.result.plan.measures[0]
  if (!Object.hasOwn(MEASURES, measure)) {
    throw new FreshetError('RESULT_INVALID',
      `${a.name} has the measure ${measure}, unknown to this version; known are ${Object.keys(MEASURES).join(', ')}`)
  }
  const [groupsA, groupsB] = [a, b].map(({ result }) => groupsOf(result))
  const shared = groupsA.flatMap((one) => groupsB.filter((other) => isSameCell(one, other)).map((other) => ({ one, other })))
  if (shared.length === 0) {
    throw new FreshetError('RESULT_INVALID',
      `${a.name} and ${b.name} have no arm at the same level; expected two results of one experiment`)
  }
  const only = (/** @type {Group[]} */ these, /** @type {Group[]} */ those) =>
    these.filter((one) => !those.some((other) => isSameCell(one, other))).map(({ level, arm }) => `${arm} at ${level}`)
  return {
    measure,
    differences: differencesOf(a.result, b.result),
    rows: shared.map(({ one, other }) => rowOf(measure, one, other)),
    onlyA: only(groupsA, groupsB),
    onlyB: only(groupsB, groupsA)
  }
}

/** @param {Group} one @param {Group} other */
const isSameCell = (one, other) => one.level === other.level && one.arm === other.arm

/** @param {string} measure @param {Group} a @param {Group} b @returns {Row} */
function rowOf (measure, a, b) {
  const [valuesA, valuesB] = [a, b].map(({ valid }) => valid.map(MEASURES[measure].of).filter((value) => value !== null))
  const ratio = ratioOfMedians(valuesB, valuesA)
  const remarks = [a, b].flatMap((group, i) => countsTexts(countsOf(group)).map((text) => `${i === 0 ? 'A' : 'B'}: ${text}`))
  return {
    level: a.level,
    arm: a.arm,
    a: medianWithInterval(valuesA).median,
    b: medianWithInterval(valuesB).median,
    ...ratio,
    verdict: verdictOf(ratio),
    remarks
  }
}

/** @param {Result} a @param {Result} b */
function differencesOf (a, b) {
  const tops = CONDITIONS.filter((name) => a[name] !== b[name]).map((name) => `${name}: ${a[name] ?? 'unknown'} / ${b[name] ?? 'unknown'}`)
  const machines = JSON.stringify(a.machine) === JSON.stringify(b.machine)
    ? []
    : [`machine: ${a.machine.cpu}, ${a.machine.cores} cores / ${b.machine.cpu}, ${b.machine.cores} cores`]
  const settings = SETTINGS.filter((name) => a.settings[name] !== b.settings[name]).map((name) =>
    `${name}: ${a.settings[name]} / ${b.settings[name]}`)
  return [...tops, ...machines, ...settings]
}

/**
 * @param {Named} a @param {Named} b
 * @returns {string} for a terminal
 * @throws {FreshetError} as comparisonOf
 */
export function compareResults (a, b) {
  const { measure, differences, rows, onlyA, onlyB } = comparisonOf(a, b)
  const [heads, ...lines] = aligned([['level', 'arm', 'A', 'B', 'B / A', ''],
    ...rows.map((row) => [row.level, row.arm, figure(row.a), figure(row.b), ratioWithInterval(row), VERDICTS[row.verdict]])], 2)
  return [
    `A  ${a.name}`,
    `B  ${b.name}`,
    ...differences.map((line) => `   differs: ${line}`),
    '   Two runs are not interleaved: a machine that was faster on one day looks like a difference.',
    '',
    `${titleOf(measure)}: medians of the valid rounds, ratio and its 95 % interval`,
    '',
    heads,
    ...lines.flatMap((line, i) => [line, ...rows[i].remarks.map((remark) => `    ${remark}`)]),
    ...(onlyA.length ? ['', `only in A: ${onlyA.join(', ')}`] : []),
    ...(onlyB.length ? ['', `only in B: ${onlyB.join(', ')}`] : [])
  ].join('\n')
}
