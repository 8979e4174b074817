/**
 * What became of a published statement: computed from samples, by the rule of noise that all verdicts have (verdict.js).
 *
 *     a ratio       of / against, or the same at another level, or how much that ratio changes from one level to another (`per`)
 *     a figure      of one arm, held to the published range: for what no other machine changes, such as counts and shares
 *     an invariant  held in every measurement of some arms
 *     a line        fixed and marginal cost (cost.js)
 *     nothing       with the reason; "no time" is none
 *
 *     confirmed                   the direction is shown, beyond noise, or by a count of instructions where a window shows none; "the
 *                                 same": within a tenth; a range contains the whole interval
 *     refuted                     the opposite is shown
 *     no measurable difference    neither
 *     not measured                there is nothing to compare: `why`
 *
 * The size is apart from that: whether the interval contains the published value, of a range both ends.
 *
 * @typedef {Pick<import('./index.js').Result, 'plan' | 'samples' | 'counts'>} Result
 * @typedef {import('./groups.js').Group} Group
 * @typedef {import('./verdict.js').RatioWithInterval} RatioWithInterval
 * @typedef {import('../plan/index.js').Direction} Direction
 * @typedef {{ measure: string, arm: string, level: string }} Term
 * @typedef {[number | null, number | null]} Range null: open
 *
 * @typedef {object} Statement
 * @property {string} study its name
 * @property {string} experiment three digits
 * @property {string} says
 * @property {Partial<Term> & { arm: string, times?: number }} [of] without a measure: the main one; without a level: the first;
 *   `times`: the lab's scale of time, for figures
 * @property {Partial<Term>} [against] what differs from `of`
 * @property {{ level: string }} [per] the same ratio at another level, by which it is divided
 * @property {number} [value] published ratio; without `against` a figure, which here has to be within a tenth of it
 * @property {string} [from] how it follows from published figures, such as 3624 / 3899
 * @property {Direction} [direction] where no value is published, or where it claims another one
 * @property {Range} [between] published range of a figure
 * @property {boolean} [every] each sample has to be in the range, instead of the interval of the median
 * @property {{ arms: string[], levels?: string[] }} [holds]
 * @property {{ arm: string, part: 'fixedPercent' | 'marginalMicrosPerItem' }} [line]
 * @property {string} [why] it is not measured
 *
 * @typedef {'confirmed' | 'refuted' | 'no measurable difference' | 'not measured'} Became
 * @typedef {{ became: Became, isSizeInside: boolean | null, ratio?: RatioWithInterval & Pick<import('./verdict.js').Outcome,
 *   'withinNoise' | 'counted' | 'isByCount'>, of?: Term,
 *   against?: Term, unit?: string, figure?: { median: number | null, low: number | null, high: number | null },
 *   count?: { held: number, all: number }, bound?: string | null, why?: string }} Outcome `bound`: where the load was
 *   at its own limit
 */
import { countedRatio } from '../counting/compare.js'
import { FreshetError } from '../errors.js'
import { AA_SUFFIX } from '../plan/index.js'
import { costOf } from './cost.js'
import { groupsOf } from './groups.js'
import { find, sidesOf, valuesOf } from './index.js'
import { MEASURES } from './measures.js'
import { medianWithInterval, ratioOfMedians, ratioOfRatios } from './statistics.js'
import { isInside, judge, SAME } from './verdict.js'

/** @type {readonly Became[]} */
export const BECAME = Object.freeze(['confirmed', 'refuted', 'no measurable difference', 'not measured'])

const TOO_FEW = 'too few valid measurements for an interval'

/**
 * @param {Statement} statement
 * @param {Result} result of its experiment, in today's words (report/presented.js); without samples, counts alone decide
 * @returns {Outcome}
 * @throws {FreshetError} RESULT_INVALID: the result has no such arm, level or measure
 */
export function outcomeOf (statement, result) {
  const { why, holds, line, between, against, value } = statement
  if (why !== undefined) return unmeasured(why)
  const groups = groupsWithCounted(result)
  if (holds) return heldOf(holds, groups)
  if (line) return lineOf(line, statement, groups)
  const range = between ?? (against === undefined && value !== undefined ? aTenthAbout(value) : null)
  return range ? figureOf(statement, range, result, groups) : ratioOf(statement, result, groups)
}

/** @param {string} why @returns {Outcome} */
const unmeasured = (why) => ({ became: 'not measured', isSizeInside: null, why })

/** @param {Result} result @param {Partial<Term>} of @returns {Term} with its defaults */
const termOf = ({ plan }, { measure = plan.measures[0], arm = plan.baseline, level = Object.keys(plan.levels)[0] }) =>
  ({ measure, arm, level })

/**
 * Arms that are counted and have no window are there, without a value.
 * @param {Result} result @returns {Group[]}
 */
function groupsWithCounted (result) {
  const groups = groupsOf(result)
  const counted = (result.counts?.cells ?? []).filter(({ level, arm }) => !find(groups, level, arm))
  return [...groups, ...counted.map(({ level, arm }) => ({ level, arm, valid: [], invalid: [], ended: [] }))]
}

/** @param {Group[]} groups @param {Term} term */
function groupOf (groups, { measure, arm, level }) {
  const group = find(groups, level, arm)
  if (group && Object.hasOwn(MEASURES, measure)) return group
  throw new FreshetError('RESULT_INVALID',
    `a published statement speaks of ${measure} of ${arm} at ${level}; the result has no such figure`)
}

/** @param {Statement} statement @param {Result} result @param {Group[]} groups @returns {Outcome} */
function ratioOf (statement, result, groups) {
  const { value, direction, per } = statement
  const of = termOf(result, statement.of ?? {})
  const against = { ...of, ...statement.against }
  const sides = sidesOf(groupOf(groups, of), groupOf(groups, against), of.measure, against.measure)
  const noise = isWithinLevel(of, against) && per === undefined ? noiseOf(result, groups, of) : null
  const { ratio, cut } = per
    ? changeOf({ of, against }, per.level, groups)
    : { ratio: ratioOfMedians(sides.values, sides.valuesAgainst), cut: null }
  const whyNone = sides.cut ?? cut
  const judged = judge({
    arm: of.arm,
    against: against.arm,
    measure: of.measure,
    noise,
    baseline: result.plan.baseline,
    ...sides,
    cut: whyNone,
    counted: isWithinLevel(of, against) && per === undefined
      ? countedRatio(result.counts?.cells ?? [], { ...of, against: against.arm, plan: result.plan })
      : null,
    expected: null,
    published: { value, direction, label: statement.says }
  }, whyNone === null ? ratio : { ratio: null, low: null, high: null })
  const { sameDirection, isSizeInside, low, counted } = judged
  if (counted === null && low === null) return unmeasured(whyNone ?? TOO_FEW)
  return { became: becameOf(sameDirection), isSizeInside, ratio: judged, of, against, bound: boundOf(groups, [of, against]) }
}

/** @param {Group[]} groups @param {Term[]} terms @returns {string | null} null: in none of the samples */
function boundOf (groups, terms) {
  const texts = terms.map((term) => {
    const { arm, valid } = groupOf(groups, term)
    const bound = valid.filter(({ marks }) => marks.includes('generator-bound')).length
    return bound ? `the load at its limit in ${bound} of ${valid.length} samples of \`${arm}\`` : ''
  })
  return [...new Set(texts)].filter((text) => text !== '').join(', ') || null
}

/** @param {Term} of @param {Term} against */
const isWithinLevel = (of, against) => of.level === against.level && of.measure === against.measure

/** @param {boolean | null} isSo @returns {Became} */
const becameOf = (isSo) => isSo === null ? 'no measurable difference' : isSo ? 'confirmed' : 'refuted'

/** The A/A pair of the level. @param {Result} result @param {Group[]} groups @param {Term} of */
function noiseOf ({ plan }, groups, { level, measure }) {
  const [again, once] = [plan.baseline + AA_SUFFIX, plan.baseline].map((arm) => find(groups, level, arm))
  const { values, valuesAgainst, cut } = sidesOf(again, once, measure)
  return cut === null ? ratioOfMedians(values, valuesAgainst) : null
}

/**
 * The ratio, divided by that at another level.
 * @param {{ of: Term, against: Term }} terms @param {string} level @param {Group[]} groups
 */
function changeOf ({ of, against }, level, groups) {
  const [here, there] = [0, 1].map((i) => {
    const [a, b] = [of, against].map((term) => groupOf(groups, i === 0 ? term : { ...term, level }))
    return sidesOf(a, b, of.measure, against.measure)
  })
  return {
    ratio: ratioOfRatios([here.values, there.valuesAgainst], [here.valuesAgainst, there.values]),
    cut: here.cut ?? there.cut
  }
}

/** @param {Statement} statement @param {Range} range @param {Result} result @param {Group[]} groups @returns {Outcome} */
function figureOf (statement, range, result, groups) {
  const { every = false, of: { times = 1, ...partly } = { arm: result.plan.baseline } } = statement
  const of = termOf(result, partly)
  const values = valuesOf(groupOf(groups, of), of.measure).map((value) => value * times)
  const { median, ...interval } = medianWithInterval(values)
  const { low, high } = every && values.length > 0 ? { low: Math.min(...values), high: Math.max(...values) } : interval
  if (low === null || high === null) return unmeasured(TOO_FEW)
  const figure = { median, low, high }
  const isSizeInside = statement.value === undefined ? null : isInside(statement.value, figure)
  return { became: inRange(range, figure), isSizeInside, figure, of, unit: MEASURES[of.measure].unit, bound: boundOf(groups, [of]) }
}

/** @param {number} value @returns {Range} */
const aTenthAbout = (value) => [value * SAME.low, value * SAME.high]

/** @param {Range} range @param {{ low: number, high: number }} figure @returns {Became} */
function inRange ([least, most], { low, high }) {
  const [from, to] = [least ?? -Infinity, most ?? Infinity]
  if (low >= from && high <= to) return 'confirmed'
  return high < from || low > to ? 'refuted' : 'no measurable difference'
}

/** @param {NonNullable<Statement['holds']>} holds @param {Group[]} groups @returns {Outcome} */
function heldOf ({ arms, levels }, groups) {
  const those = groups.filter(({ arm, level }) => arms.includes(arm) && (levels === undefined || levels.includes(level)))
  const held = those.reduce((sum, { valid }) => sum + valid.length, 0)
  const broken = those.reduce((sum, { invalid }) => sum + invalid.length, 0)
  if (held + broken === 0) return unmeasured('there is no measurement of these arms')
  return { became: becameOf(broken === 0), isSizeInside: null, count: { held, all: held + broken } }
}

/** @param {NonNullable<Statement['line']>} line @param {Statement} statement @param {Group[]} groups @returns {Outcome} */
function lineOf ({ arm, part }, { between = [0, null] }, groups) {
  const levels = groups.filter((group) => group.arm === arm).map(({ level, valid }) => ({ level, samples: valid }))
  const { mid, low, high } = costOf(arm, levels)[part]
  if (low === null || high === null) return unmeasured('too few levels keep the planned rate: they make no line')
  const isSizeInside = between.includes(null) ? null : between.every((end) => isInside(Number(end), { low, high }))
  return {
    // more than nothing is what is claimed; the size is of another machine
    became: low > 0 ? 'confirmed' : high < 0 ? 'refuted' : 'no measurable difference',
    isSizeInside,
    figure: { median: mid, low, high },
    unit: part === 'fixedPercent' ? '% of a core' : 'us',
    of: { measure: part, arm, level: 'all levels' }
  }
}
