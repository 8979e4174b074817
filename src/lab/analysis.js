/**
 * What a result says: figures of each arm at each level, arms against each other, the noise floor, costs, and what is
 * wrong with it. Pure: the same result always gives the same numbers and words.
 *
 *     samples -> valid | invalid -> groups (level, arm) -> cells: medians
 *                                                       -> noise: the A/A pair
 *                                                       -> comparisons: verdict.js
 *                                                       -> costs: cost.js
 *
 * Only valid samples enter figures; the others are listed with what is wrong with them (L5). Arms are compared within a
 * level, by the first measure of the plan: each with the baseline, and each pair that the plan expects something of, or
 * that was published.
 *
 * @typedef {import('./measures.js').Sample} Sample
 * @typedef {import('./plan.js').Plan} Plan
 * @typedef {import('./verdict.js').Comparison} Comparison
 * @typedef {import('./verdict.js').RatioWithInterval} RatioWithInterval
 *
 * @typedef {object} Result the file of a run (result.js)
 * @property {number} format
 * @property {string} experiment
 * @property {string | null} commit
 * @property {boolean} dirty something was not committed
 * @property {string} engine all that were measured
 * @property {string} node
 * @property {{ cpu: string, cores: number, memoryBytes: number, platform: string }} machine
 * @property {string} startedAt ISO time
 * @property {string | null} finishedAt null = it goes on, or was interrupted
 * @property {import('./runner.js').Options & { aaSeed?: number }} settings
 * @property {Plan} plan
 * @property {Sample[]} samples
 * @property {string[]} [notes] what a reader should know of servers that are not ours
 *
 * @typedef {{ level: string, arm: string, valid: Sample[], invalid: Sample[] }} Group
 * @typedef {{ median: number | null, low: number | null, high: number | null, min: number | null, max: number | null, n: number }} Figure
 *   `low`, `high`: 95 % interval of the median
 * @typedef {{ level: string, arm: string, n: number, invalid: number, marks: Record<string, number>, figures: Record<string, Figure> }} Cell
 *   `n`: valid samples; `marks`: how many of them have it; `figures` by measure
 * @typedef {{ level: string, measure: string } & RatioWithInterval} Noise the baseline against itself
 *
 * @typedef {object} Analysis
 * @property {string} main name of the measure that arms are compared by
 * @property {Cell[]} cells levels and arms in the order of the plan, the A/A arm last
 * @property {Comparison[]} comparisons one for each published ratio of a pair, else one for the pair
 * @property {Noise[]} noise
 * @property {import('./cost.js').Cost[]} costs
 * @property {{ arm: string, level: string, round: number, why: string[] }[]} invalid
 * @property {string[]} warnings
 */
import { FreshetError } from '../errors.js'
import { costOf } from './cost.js'
import { MEASURES } from './measures.js'
import { AA_SUFFIX } from './plan.js'
import { medianWithInterval, ratioOfMedians } from './statistics.js'
import { compare } from './verdict.js'
import { warningsOf } from './warnings.js'

/**
 * @param {Result} result
 * @returns {Analysis}
 * @throws {FreshetError} RESULT_INVALID: its plan names a measure that there is not
 */
export function analyse (result) {
  const { plan } = result
  const unknown = plan.measures.filter((measure) => !Object.hasOwn(MEASURES, measure))
  if (unknown.length) throw new FreshetError('RESULT_INVALID', `the result of ${result.experiment} has measures that this version does not know: ${unknown.join(', ')}; known are ${Object.keys(MEASURES).join(', ')}`)
  const options = { seed: result.settings.aaSeed }
  const [main] = plan.measures
  const groups = groupsOf(result)
  const noise = noiseOf(plan, groups, options)
  const levels = [...new Set(groups.map(({ level }) => level))]
  return {
    main,
    cells: groups.map((group) => cellOf(group, plan.measures, options)),
    comparisons: levels.flatMap((level) => pairsOf(plan, level).filter(({ arm, against }) => find(groups, level, arm) && find(groups, level, against)).map((pair) => compare({
      ...pair,
      level,
      measure: main,
      values: valuesOf(find(groups, level, pair.arm), main),
      valuesAgainst: valuesOf(find(groups, level, pair.against), main),
      noise: noise.find((one) => one.level === level && one.measure === main) ?? null,
      baseline: plan.baseline
    }, options))),
    noise,
    costs: plan.fixedAndMarginal ? costsOf(plan, groups, options) : [],
    invalid: groups.flatMap(({ arm, level, invalid }) => invalid.map((sample) => ({ arm, level, round: sample.round, why: whyInvalid(sample) }))),
    warnings: warningsOf(result, groups, levels.every((level) => noise.some((one) => one.level === level)))
  }
}

/** @param {Sample} sample */
const isValid = ({ valid, error, invariants }) => valid && !error && invariants.every(({ ok }) => ok)

/** @param {Sample} sample @returns {string[]} */
function whyInvalid ({ error, invariants }) {
  if (error) return [`${error.code}: ${error.message}`]
  const broken = invariants.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: no (${detail})`)
  return broken.length ? broken : ['it calls itself invalid']
}

/** What was measured, in the order of the plan, and then what the plan does not have. @param {Result} result @returns {Group[]} */
function groupsOf ({ plan, samples }) {
  const arms = new Set([...Object.keys(plan.arms), plan.baseline + AA_SUFFIX, ...samples.map(({ arm }) => arm)])
  const levels = new Set([...Object.keys(plan.levels), ...samples.map(({ level }) => level)])
  return [...levels].flatMap((level) => [...arms].map((arm) => {
    const those = samples.filter((sample) => sample.level === level && sample.arm === arm).sort((a, b) => a.round - b.round)
    return { level, arm, valid: those.filter(isValid), invalid: those.filter((sample) => !isValid(sample)) }
  })).filter(({ valid, invalid }) => valid.length + invalid.length > 0)
}

/** @param {Group[]} groups @param {string} level @param {string} arm */
const find = (groups, level, arm) => groups.find((group) => group.level === level && group.arm === arm)

/** @param {Group | undefined} group @param {string} measure @returns {number[]} of valid samples that have a value */
const valuesOf = (group, measure) => (group?.valid ?? []).map((sample) => MEASURES[measure].of(sample)).filter((value) => value !== null)

/** @param {Group} group @param {string[]} measures @param {{ seed?: number }} options @returns {Cell} */
function cellOf (group, measures, options) {
  const { level, arm, valid, invalid } = group
  /** @type {Record<string, number>} */
  const marks = {}
  for (const mark of valid.flatMap((sample) => sample.marks)) marks[mark] = (marks[mark] ?? 0) + 1
  const figures = Object.fromEntries(measures.map((measure) => {
    const values = valuesOf(group, measure)
    const isThere = values.length > 0
    return [measure, { ...medianWithInterval(values, options), min: isThere ? Math.min(...values) : null, max: isThere ? Math.max(...values) : null, n: values.length }]
  }))
  return { level, arm, n: valid.length, invalid: invalid.length, marks, figures }
}

/** @param {Plan} plan @param {Group[]} groups @param {{ seed?: number }} options @returns {Noise[]} */
const noiseOf = ({ baseline, measures }, groups, options) => groups.filter(({ arm }) => arm === baseline + AA_SUFFIX)
  .flatMap((again) => measures.map((measure) => ({
    level: again.level,
    measure,
    ...ratioOfMedians(valuesOf(again, measure), valuesOf(find(groups, again.level, baseline), measure), options)
  })))

/** @param {Plan} plan @param {Group[]} groups @param {{ seed?: number }} options */
const costsOf = ({ arms }, groups, options) => Object.keys(arms).map((arm) => ({ arm, levels: groups.filter((group) => group.arm === arm) }))
  .filter(({ levels }) => levels.length > 0)
  .map(({ arm, levels }) => costOf(arm, levels.map(({ level, valid }) => ({ level, samples: valid })), options))

/**
 * What is compared at a level.
 * @param {Plan} plan @param {string} level
 * @returns {Pick<import('./verdict.js').Pair, 'arm' | 'against' | 'expected' | 'published'>[]}
 */
function pairsOf ({ arms, baseline, expected, published }, level) {
  const ratios = published?.ratios ?? []
  const wanted = [...Object.keys(arms).filter((arm) => arm !== baseline).map((arm) => ({ arm, against: baseline })), ...atLevel(expected, level), ...atLevel(ratios, level)]
  const pairs = wanted.filter((one, i) => wanted.findIndex((other) => isSamePair(one, other)) === i)
  return pairs.flatMap((pair) => {
    const { arm, against } = pair
    const direction = ofPair(expected, pair, level).at(0)?.direction ?? null
    const told = ofPair(ratios, pair, level).map(({ value, label }) => ({ value, label }))
    return (told.length ? told : [null]).map((one) => ({ arm, against, expected: direction, published: one }))
  })
}

/** @template {{ level?: string }} T @param {T[]} those @param {string} level @returns {T[]} of every level and of this one */
const atLevel = (those, level) => those.filter((one) => (one.level ?? level) === level)

/** @param {{ arm: string, against: string }} a @param {{ arm: string, against: string }} b */
const isSamePair = (a, b) => a.arm === b.arm && a.against === b.against

/**
 * What was said of a pair at this level, or, when nothing was, of it at every level.
 * @template {{ arm: string, against: string, level?: string }} T
 * @param {T[]} those @param {{ arm: string, against: string }} pair @param {string} level
 * @returns {T[]}
 */
function ofPair (those, pair, level) {
  const mine = atLevel(those, level).filter((one) => isSamePair(one, pair))
  const here = mine.filter((one) => one.level === level)
  return here.length ? here : mine
}
