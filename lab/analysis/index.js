/**
 * The analysis of a result: figures of each arm at each level, comparisons, the noise floor, costs, and everything that is
 * wrong with it. Pure.
 *
 *     samples -> groups (level, arm): valid | invalid | ended -> cells: medians, counters
 *                                                             -> noise: the A/A pair
 *                                                             -> comparisons: verdict.js
 *                                                             -> costs: cost.js
 *
 * Only valid samples are in the figures. INVALID ones are listed with their contradictions (L5), and those that ended with an
 * error with that error, which is an outcome (L14). Arms are compared within a level, by every measure of the plan: each
 * with the baseline, and each pair that is named, or has an expectation or a published ratio, which are of the first measure. Where
 * levels are points on an axis, each arm is compared with itself at the lowest, too.
 *
 * @typedef {import('../run/sample.js').Sample} Sample
 * @typedef {import('../plan/index.js').Plan} Plan
 * @typedef {import('./verdict.js').Comparison} Comparison
 * @typedef {import('./verdict.js').RatioWithInterval} RatioWithInterval
 *
 * @typedef {object} Result the file of a run (result.js)
 * @property {number} format
 * @property {string} experiment
 * @property {string | null} commit
 * @property {boolean | null} dirty there were uncommitted changes; null = no git
 * @property {string} [source] digest of the code (source.js)
 * @property {string} engine all that were measured
 * @property {string} node
 * @property {{ cpu: string, cores: number, memoryBytes: number, platform: string }} machine
 * @property {string} startedAt ISO time
 * @property {string | null} finishedAt null = running, or interrupted
 * @property {import('../run/index.js').Options} settings
 * @property {Plan} plan
 * @property {Record<string, Record<string, Record<string, any>>>} [effective] all settings by level and arm, including defaults
 * @property {{ at: string, samples: number }[]} [takenUp] when it resumed after an interruption, and after how many samples
 * @property {Sample[]} samples
 * @property {import('../aws/blocks.js').Block[]} [blocks] for CloudWatch; absent = none
 * @property {import('../counting/report.js').Counts} [counts] of instructions, of a file beside it; absent = none
 * @property {string[]} [notes] about interruptions, and servers that are not the lab's
 *
 * @typedef {import('./groups.js').Group} Group
 * @typedef {{ median: number | null, low: number | null, high: number | null, min: number | null, max: number | null, n: number,
 *   isCut?: boolean }} Figure `low`, `high`: 95 % interval of the median; `isCut`: the median is of time-outs, so that it is larger
 * @typedef {{ level: string, arm: string, figures: Record<string, Figure>, counters: Record<string, number | null> } &
 *   import('./groups.js').Counts} Cell
 *   `figures` by measure of the plan; `counters`: medians (measures.js)
 * @typedef {{ level: string, measure: string } & RatioWithInterval} Noise the baseline against itself
 * @typedef {{ arm: string, level: string, from: string, measure: string } & RatioWithInterval} Across
 *
 * @typedef {object} Analysis
 * @property {string} main measure of the comparisons
 * @property {Cell[]} cells in the order of the plan, the A/A arm last
 * @property {Comparison[]} comparisons of the main measure: one for each published ratio of a pair, else one for the pair
 * @property {Comparison[]} further the same pairs by each further measure
 * @property {Across[]} across the highest level of each arm against its lowest, by every measure
 * @property {Noise[]} noise
 * @property {import('./cost.js').Cost[]} costs
 * @property {import('./consumption.js').Consumption[]} consumptions
 * @property {import('./budgets.js').BudgetOutcome[]} budgets
 * @property {{ arm: string, level: string, round: number, why: string[] }[]} invalid samples that contradict themselves
 * @property {{ arm: string, level: string, round: number, code: string, message: string }[]} ended with an error
 * @property {string[]} warnings
 */
import { median } from 'simple-statistics'
import { FreshetError } from '../errors.js'
import { countedRatio } from '../counting/compare.js'
import { budgetsOf } from './budgets.js'
import { consumptionsOf } from './consumption.js'
import { costOf } from './cost.js'
import { countsOf, groupsOf, whyInvalid } from './groups.js'
import { COUNTERS, MEASURES } from './measures.js'
import { AA_SUFFIX } from '../plan/index.js'
import { medianWithInterval, ratioOfMedians } from './statistics.js'
import { compare } from './verdict.js'
import { warningsOf } from './warnings.js'

/**
 * @param {Result} result
 * @returns {Analysis}
 * @throws {FreshetError} RESULT_INVALID: its plan has an unknown measure
 */
export function analyse (result) {
  const { plan } = result
  const unknown = plan.measures.filter((measure) => !Object.hasOwn(MEASURES, measure))
  if (unknown.length) {
    throw new FreshetError('RESULT_INVALID', `the result of ${result.experiment} has measures unknown to this version: ` +
      `${unknown.join(', ')}; known are ${Object.keys(MEASURES).join(', ')}`)
  }
  const [main] = plan.measures
  const groups = groupsOf(result)
  const noise = noiseOf(plan, groups)
  const levels = [...new Set(groups.map(({ level }) => level))]
  return {
    main,
    cells: groups.map((group) => cellOf(group, plan.measures)),
    comparisons: comparisonsOf({ plan, groups, noise, levels, counted: result.counts?.cells ?? [] }, main),
    further: plan.measures.slice(1).flatMap((measure) =>
      comparisonsOf({ plan, groups, noise, levels, counted: result.counts?.cells ?? [] }, measure)),
    across: acrossOf(plan, groups),
    noise,
    costs: plan.fixedAndMarginal ? costsOf(plan, groups) : [],
    consumptions: consumptionsOf(plan, groups),
    budgets: budgetsOf(plan, levels, (level, arm, measure) => valuesOf(find(groups, level, arm), measure)),
    invalid: groups.flatMap(({ arm, level, invalid }) =>
      invalid.map((sample) => ({ arm, level, round: sample.round, why: whyInvalid(sample) }))),
    ended: groups.flatMap(({ arm, level, ended }) =>
      ended.flatMap(({ round, error }) => error ? [{ arm, level, round, code: error.code, message: error.message }] : [])),
    warnings: warningsOf(result, groups, {
      noise: noise.filter(({ measure }) => measure === main),
      isKnownEverywhere: levels.every((level) => noise.some((one) => one.level === level))
    })
  }
}

/**
 * @param {{ plan: Plan, groups: Group[], noise: Noise[], levels: string[],
 *   counted: import('../counting/compare.js').CountedCell[] }} of
 * @param {string} measure
 * @returns {Comparison[]} expectations and published ratios are of the first measure
 */
function comparisonsOf ({ plan, groups, noise, levels, counted }, measure) {
  const isMain = measure === plan.measures[0]
  return levels.flatMap((level) => {
    const pairs = pairsOf(plan, level).filter(({ arm, against }) => find(groups, level, arm) && find(groups, level, against))
    const isFirst = (/** @type {(typeof pairs)[number]} */ one) => pairs.find((other) => isSamePair(one, other)) === one
    return pairs.filter((pair) => isMain || isFirst(pair)).map((pair) => compare({
      ...pair,
      ...(isMain ? {} : { expected: null, published: null }),
      level,
      measure,
      ...sidesOf(find(groups, level, pair.arm), find(groups, level, pair.against), measure),
      noise: noise.find((one) => one.level === level && one.measure === measure) ?? null,
      counted: countedRatio(counted, { plan, level, arm: pair.arm, against: pair.against, measure }),
      baseline: plan.baseline
    }))
  })
}

/**
 * The values of a ratio, and why they give none.
 * @param {Group | undefined} group @param {Group | undefined} against @param {string} measure @param {string} [measureAgainst]
 * @returns {{ values: number[], valuesAgainst: number[], cut: string | null }}
 */
export const sidesOf = (group, against, measure, measureAgainst = measure) => ({
  values: valuesOf(group, measure),
  valuesAgainst: valuesOf(against, measureAgainst),
  cut: cutOf(group, measure) ?? cutOf(against, measureAgainst)
})

/** @param {Group | undefined} group @param {string} measure @returns {string | null} null: no value is a time-out */
function cutOf (group, measure) {
  const cut = (group?.valid ?? []).filter((sample) => MEASURES[measure].isCut(sample)).length
  return group && cut ? `time-outs in ${cut} of ${group.valid.length} samples of \`${group.arm}\`, which give no ratio` : null
}

/** Each arm at the highest x of the plan, against itself at the lowest. @param {Plan} plan @param {Group[]} groups @returns {Across[]} */
function acrossOf ({ levels, measures }, groups) {
  const places = Object.entries(levels).flatMap(([level, { x }]) => x === undefined ? [] : [{ level, x }]).sort((a, b) => a.x - b.x)
  const [first, last] = [places[0], places[places.length - 1]]
  if (places.length < 2 || places.length < Object.keys(levels).length || first.x === last.x) return []
  return groups.filter(({ level, arm }) => level === last.level && find(groups, first.level, arm)).flatMap((group) =>
    measures.map((measure) => {
      const ratio = ratioWithoutCut(sidesOf(group, find(groups, first.level, group.arm), measure))
      return { arm: group.arm, level: last.level, from: first.level, measure, ...ratio }
    }))
}

/** @param {ReturnType<typeof sidesOf>} sides */
const ratioWithoutCut = ({ values, valuesAgainst, cut }) => ratioOfMedians(cut === null ? values : [], valuesAgainst)

/** @param {Group[]} groups @param {string} level @param {string} arm */
export const find = (groups, level, arm) => groups.find((group) => group.level === level && group.arm === arm)

/** @param {Group | undefined} group @param {string} measure @returns {number[]} of valid samples that have a value */
export const valuesOf = (group, measure) =>
  (group?.valid ?? []).map((sample) => MEASURES[measure].of(sample)).filter((value) => value !== null)

/** @param {Group} group @param {string[]} measures @returns {Cell} */
function cellOf (group, measures) {
  const { level, arm } = group
  const figures = Object.fromEntries(measures.map((measure) => {
    const values = valuesOf(group, measure)
    const isThere = values.length > 0
    const cut = group.valid.filter((sample) => MEASURES[measure].isCut(sample)).length
    return [measure, {
      ...medianWithInterval(values),
      min: isThere ? Math.min(...values) : null,
      max: isThere ? Math.max(...values) : null,
      n: values.length,
      ...(cut > 0 && 2 * cut >= values.length && { isCut: true })
    }]
  }))
  const counters = Object.fromEntries(COUNTERS.map((measure) => [measure, medianOf(valuesOf(group, measure))]))
  return { level, arm, ...countsOf(group), figures, counters }
}

/** @param {number[]} values */
const medianOf = (values) => values.length ? median(values) : null

/** @param {Plan} plan @param {Group[]} groups @returns {Noise[]} */
const noiseOf = ({ baseline, measures }, groups) => groups.filter(({ arm }) => arm === baseline + AA_SUFFIX)
  .flatMap((again) => measures.map((measure) => ({
    level: again.level,
    measure,
    ...ratioWithoutCut(sidesOf(again, find(groups, again.level, baseline), measure))
  })))

/** @param {Plan} plan @param {Group[]} groups */
const costsOf = ({ arms }, groups) => Object.keys(arms).map((arm) => ({ arm, levels: groups.filter((group) => group.arm === arm) }))
  .filter(({ levels }) => levels.length > 0)
  .map(({ arm, levels }) => costOf(arm, levels.map(({ level, valid }) => ({ level, samples: valid }))))

/**
 * The pairs to compare at a level.
 * @param {Plan} plan @param {string} level
 * @returns {Pick<import('./verdict.js').Pair, 'arm' | 'against' | 'expected' | 'published'>[]}
 */
function pairsOf ({ arms, baseline, expected, pairs: named = [], published }, level) {
  const ratios = published?.ratios ?? []
  const wanted = [...Object.keys(arms).filter((arm) => arm !== baseline).map((arm) => ({ arm, against: baseline })),
    ...atLevel(expected, level), ...atLevel(named, level), ...atLevel(ratios, level)]
  const pairs = wanted.filter((one, i) => wanted.findIndex((other) => isSamePair(one, other)) === i)
  return pairs.flatMap((pair) => {
    const { arm, against } = pair
    const direction = ofPair(expected, pair, level).at(0)?.direction ?? null
    const publishedOfPair = ofPair(ratios, pair, level).map(({ value, direction, label }) => ({ value, direction, label }))
    return (publishedOfPair.length ? publishedOfPair : [null]).map((one) => ({ arm, against, expected: direction, published: one }))
  })
}

/** @template {{ level?: string }} T @param {T[]} those @param {string} level @returns {T[]} without a level, or of this one */
const atLevel = (those, level) => those.filter((one) => (one.level ?? level) === level)

/** @param {{ arm: string, against: string }} a @param {{ arm: string, against: string }} b */
const isSamePair = (a, b) => a.arm === b.arm && a.against === b.against

/**
 * Entries of a pair for this level, or else those without a level.
 * @template {{ arm: string, against: string, level?: string }} T
 * @param {T[]} those @param {{ arm: string, against: string }} pair @param {string} level
 * @returns {T[]}
 */
function ofPair (those, pair, level) {
  const mine = atLevel(those, level).filter((one) => isSamePair(one, pair))
  const here = mine.filter((one) => one.level === level)
  return here.length ? here : mine
}
