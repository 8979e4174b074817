/**
 * A result under the words of today: names of arms and levels that have changed since (`formerly` of the plan), labels, the question,
 * what the chart shows, pairs to compare, and the published figures to compare with. Arms and levels that the plan no longer has are left
 * out. Figures and settings are those of the result;
 * `late: overwrite`, which results from before that setting do not name because it was the default, is named.
 */
import { marked } from '../analysis/marks.js'
import { AA_SUFFIX } from '../plan/index.js'

/** @typedef {import('../analysis/index.js').Result} Result */
/** @typedef {import('../plan/index.js').Plan} Plan */

/** fields whose values, and whose keys, are names of arms or levels */
const NAMES = new Set(['arm', 'against', 'level', 'baseline', 'ceiling', 'without'])
const BY_NAME = new Set(['arms', 'levels', 'effective'])

/**
 * @param {Result} result
 * @param {Plan} current plan of the experiment
 * @param {Result['counts'] | null} [counts] of its instructions
 * @returns {Result} with a plan in today's words, and the counts beside it
 */
export function presented (result, current, counts = null) {
  const { formerly = {}, labels, chart, question, pairs = [], published, counted, fixed } = current
  const known = { ...result.plan.arms, ...result.plan.levels }
  const names = new Map(Object.entries(formerly).filter(([, now]) => !(now in known))
    .flatMap(([before, now]) => [[before, now], [before + AA_SUFFIX, now + AA_SUFFIX]]))
  const { samples, plan, effective, ...rest } = result
  const named = withoutGone(names.size === 0 ? { samples, plan, effective } : renamed({ samples, plan, effective }, names), current)
  const words = {
    labels,
    chart: chartOf(chart, named.plan),
    question,
    pairs: pairs.filter(({ arm, against }) => arm in named.plan.arms && against in named.plan.arms),
    published: publishedOf(published, named.samples),
    ...(counted && { counted }),
    fixed: fixed.late ? { late: fixed.late, ...named.plan.fixed } : named.plan.fixed
  }
  return { ...rest, ...named, samples: named.samples.map(marked), plan: { ...named.plan, ...words }, ...(counts && { counts }) }
}

/**
 * @template {Pick<Result, 'plan' | 'samples'>} Of
 * @param {Of} of under the names of today @param {Plan} current
 * @returns {Of} without arms and levels that went from the plan; whole, if its baseline did
 */
function withoutGone (of, current) {
  const { plan, samples } = of
  if (!(plan.baseline in current.arms)) return of
  const left = (/** @type {'arms' | 'levels'} */ what) =>
    Object.fromEntries(Object.entries(plan[what]).filter(([name]) => name in current[what]))
  const [arms, levels] = /** @type {[Plan['arms'], Plan['levels']]} */ ([left('arms'), left('levels')])
  return {
    ...of,
    plan: { ...plan, arms, levels },
    samples: samples.filter(({ arm, level }) => arm.replace(AA_SUFFIX, '') in arms && level in levels)
  }
}

/** Without what was not measured then. @param {Plan['chart']} chart @param {Plan} plan of the result @returns {Plan['chart']} */
function chartOf (chart, { arms, levels }) {
  const there = (/** @type {Record<string, unknown>} */ known, /** @type {string[] | undefined} */ names) => {
    const left = names?.filter((name) => name in known)
    return left?.length ? left : undefined
  }
  const isThere = [chart?.about?.arm, chart?.about?.against].every((arm) => arm === undefined || arm in arms) &&
    (chart?.about?.level === undefined || chart.about.level in levels)
  const [overTime] = there(levels, chart?.overTime ? [chart.overTime] : []) ?? []
  return { about: isThere ? chart?.about : undefined, levels: there(levels, chart?.levels), arms: there(arms, chart?.arms), overTime }
}

/**
 * Ratios only of what was measured then.
 * @param {Plan['published']} published @param {Result['samples']} samples
 * @returns {Plan['published']}
 */
function publishedOf (published, samples) {
  if (!published) return published
  const measured = (/** @type {string} */ one, /** @type {string | undefined} */ at) =>
    samples.some(({ arm, level }) => arm === one && (at === undefined || at === level))
  return { ...published, ratios: published.ratios.filter(({ arm, against, level }) => measured(arm, level) && measured(against, level)) }
}

/**
 * @template T
 * @param {T} value @param {Map<string, string>} names @param {string} [under] the field that has it
 * @returns {T}
 */
function renamed (value, names, under = '') {
  const nameOf = (/** @type {string} */ one) => names.get(one) ?? one
  if (typeof value === 'string') return /** @type {any} */ (NAMES.has(under) ? nameOf(value) : value)
  if (Array.isArray(value)) return /** @type {any} */ (value.map((one) => renamed(one, names, under)))
  if (value === null || typeof value !== 'object') return value
  return /** @type {any} */ (Object.fromEntries(Object.entries(value).map(([key, one]) =>
    [BY_NAME.has(under) || under === 'of level' ? nameOf(key) : key, renamed(one, names, under === 'effective' ? 'of level' : key)])))
}
