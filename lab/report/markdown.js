/**
 * A result as a page: the finding, the chart, published figures beside ours, every figure, and the evidence.
 */
import { MEASURES } from '../analysis/measures.js'
import { countedText, SAME } from '../analysis/verdict.js'
import { accountOf, limitsOf } from './account.js'
import { believe } from './belief.js'
import { budgetsSection } from './budgets.js'
import { cloudwatchSection } from './cloudwatch.js'
import { rowsOf, textOf } from './conditions.js'
import { consumersSection } from './consumers.js'
import { sectionOfCounts } from '../counting/report.js'
import { costText, ratioText, titleOf } from './figures.js'
import { ceilingOf, noiseOf, verdictsOf } from './finding.js'
import { headlineOf } from './headline.js'
import { code, list, section, table } from './markdown-table.js'
import { estimated, figureWithInterval, ratio, ratioWithInterval } from './numbers.js'
import { publishedSection } from './published.js'
import { partsSections } from './parts.js'
import { noiseRemarks, remarksOf } from './remarks.js'
import { labelOf, shownArm } from './roles.js'

/** @typedef {import('../analysis/index.js').Analysis} Analysis */
/** @typedef {import('../analysis/index.js').Result} Result */
/** @typedef {import('../plan/index.js').Plan} Plan */
/** @typedef {import('./figures.js').Comparison} Comparison */

/** of more predictions than this only those are listed that are not confirmed */
const MANY = 12
const NONE = Object.freeze({ ratio: null, low: null, high: null })

/**
 * @param {Analysis} analysis
 * @param {Result} result
 * @param {Plan} plan
 * @param {string} [raw] path of the raw result, from the folder of the page
 * @param {string} [chart] path of the chart, from there
 * @returns {string} Markdown
 */
export function markdownOf (analysis, result, plan, raw = '', chart = `${plan.name}.svg`) {
  const headline = headlineOf(analysis, plan)
  return [
    `# ${headline}\n\n`,
    result.settings.quick ? '**Not a result**: a quick run is one short round that only shows that everything works.\n\n' : '',
    limitsOf(accountOf(result.samples)).map((limit) => `**Not everything was accepted**: ${limit}.\n\n`).join(''),
    `${plan.question}\n\n![${headline}](${encodeURI(chart)})\n\n`,
    section('Verdict', verdict(analysis, plan)),
    section('Budgets', budgetsSection(analysis, plan)),
    section('Compared with published figures', publishedSection(analysis, plan)),
    section('What CloudWatch says', cloudwatchSection(result, plan)),
    section('Figures', figures(analysis, plan)),
    section('Counted', countedSection(result.counts, plan)),
    ...partsSections(result, plan).map(({ title, body }) => section(title, body)),
    section('What a reader costs', consumersSection(analysis)),
    section('Fixed and marginal cost', costs(analysis, plan)),
    section('Ratios by measure', ratios(analysis, plan)),
    section('Conditions', table(['condition', 'value'], rowsOf(result, plan).map(({ name, value }) => [name, value]))),
    section('Validity', believe(analysis, result, plan)),
    section('Arms', arms(plan)),
    section('Not controlled', list([...plan.notControlled, ...result.notes ?? []])),
    raw === '' ? '' : section('Raw samples', `Every figure here is calculated from [${raw.split('/').slice(-1)}](${encodeURI(raw)}).\n`)
  ].join('').trimEnd() + '\n'
}

/** @param {Analysis} analysis @param {Plan} plan */
function verdict (analysis, plan) {
  const isFirst = (/** @type {Comparison} */ one) =>
    analysis.comparisons.find(({ arm, against, level }) => arm === one.arm && against === one.against && level === one.level) === one
  const predicted = analysis.comparisons.filter(isFirst).filter(({ expected }) => expected !== null)
  return list([...verdictsOf(analysis, plan), ...[noiseOf(analysis, plan), ceilingOf(analysis, plan)].filter((line) => line !== '')]) +
    predictions(predicted, Object.keys(plan.levels).length > 1) +
    list(analysis.warnings.map((warning) => `**Warning**: ${warning}`))
}

/** @param {Comparison[]} predicted @param {boolean} withLevel */
function predictions (predicted, withLevel) {
  if (predicted.length === 0) return ''
  const others = predicted.filter(({ asExpected }) => asExpected !== true)
  if (predicted.length <= MANY) return 'What the plan expected:\n\n' + list(predicted.map((one) => predictionOf(one, withLevel)))
  return `What the plan expected: ${predicted.length - others.length} of ${predicted.length} are confirmed` +
    (others.length ? '; the others:\n\n' + list(others.map((one) => predictionOf(one, withLevel))) : '.\n\n')
}

/** @param {Comparison} comparison @param {boolean} withLevel */
function predictionOf ({ arm, against, level, expected, asExpected, verdict, withinNoise }, withLevel) {
  const none = 'no measurable difference'
  const open = verdict === 'unknown' ? 'unknown' : withinNoise ? `${none}, within the noise of this machine` : none
  const outcome = asExpected === null
    ? open
    : asExpected ? `confirmed${expected === 'same' ? `: between ${ratio(SAME.low)} and ${ratio(SAME.high)} x` : ''}` : '**refuted**'
  return `${code(arm)} ${expected === 'same' ? 'the same as' : `${expected} than`} ${code(against)}${withLevel ? ` at ${level}` : ''}: ` +
    `${outcome}`
}

/** All measures of the plan, a table a level. @param {Analysis} analysis @param {Plan} plan */
function figures (analysis, plan) {
  const heads = ['arm', '>rounds', `>x ${plan.baseline}`, ...plan.measures.map((measure) => `>${titleOf(measure)}`)]
  const tables = Object.keys(plan.levels).map((level) => {
    const rows = analysis.cells.filter((cell) => cell.level === level).map(({ arm, n, figures }) => [
      [shownArm(arm, plan),
        ...[...noiseRemarks(analysis, { arm, level }), ...remarksOf(analysis, { arm, level })].map((remark) => `*${remark}*`)].join('\n'),
      String(n),
      ratioText(analysis, plan, { arm, level }),
      ...plan.measures.map((measure) => figureWithInterval(figures[measure]))
    ])
    return rows.length === 0 ? '' : `**${level}**\n\n` + table(heads, rows)
  })
  return `Medians of the valid rounds with their 95 % intervals; the ratio is of ${titleOf(analysis.main)}.\n\n` + tables.join('')
}

/**
 * Every measure of each pair, and of each arm at the highest level against the lowest.
 * @param {Analysis} analysis @param {Plan} plan
 */
function ratios ({ comparisons, further, across }, { levels, measures, ...plan }) {
  const heads = ['arm', ...measures.map((measure) => `>${MEASURES[measure].title}`)]
  const byLevel = Object.keys(levels).map((level) => {
    const those = [...comparisons, ...further].filter((one) => one.level === level)
    const pairs = [...new Map(those.map(({ arm, against }) => [JSON.stringify([arm, against]), { arm, against }])).values()]
    const rows = pairs.map(({ arm, against }) => [`${shownArm(arm, plan)} / ${shownArm(against, plan)}`, ...measures.map((measure) => {
      const one = those.find((one) => one.measure === measure && one.arm === arm && one.against === against)
      return ratioWithInterval(one ?? NONE) + (one && one.counted !== null ? `\n*${countedText(one.counted)} x by count*` : '')
    })])
    return rows.length ? `**${level}**\n\n` + table(heads, rows) : ''
  })
  const ofArms = [...new Set(across.map(({ arm }) => arm))].map((arm) => [shownArm(arm, plan),
    ...measures.map((measure) => ratioWithInterval(across.find((one) => one.arm === arm && one.measure === measure) ?? NONE))])
  return byLevel.join('') + (ofArms.length ? `**${across[0].level} / ${across[0].from}**\n\n` + table(heads, ofArms) : '')
}

/**
 * The page of an experiment that was counted and has no windows.
 * @param {NonNullable<Result['counts']>} counts @param {Plan} plan @returns {string} Markdown
 */
export const countedPageOf = (counts, plan) => [
  `# ${plan.title}\n\n${plan.question}\n\n`, section('Counted', countedSection(counts, plan)), section('Arms', arms(plan))
].join('').trimEnd() + '\n'

/** What is counted, and why the rest is not. @param {Result['counts']} counts @param {Plan} plan */
const countedSection = (counts, { counted }) =>
  (counts ? sectionOfCounts(counts) : '') + (counted?.why ? `Not counted: ${counted.why}.\n\n` : '')

/** @param {Analysis} analysis @param {Plan} plan */
function costs ({ costs }, plan) {
  if (costs.length === 0) return ''
  const rows = costs.map((cost) => [
    shownArm(cost.arm, plan),
    estimated(cost.fixedPercent),
    estimated(cost.marginalMicrosPerItem),
    cost.offLine === null ? '-' : `${Math.round(cost.offLine * 100)} %`,
    cost.levels.join(', ')
  ])
  return 'CPU time of the primary per second without any items, and for each further item: a line fitted through the levels.\n\n' +
    table(['arm', '>fixed, % of a core', '>marginal, µs per item', '>largest distance from the line', 'levels'], rows) +
    list(costs.map(costText))
}

/** L12. @param {Plan} plan */
const arms = (plan) => table(['arm', 'in the chart', 'load', 'settings', 'note'],
  Object.entries(plan.arms).map(([arm, { load, settings, engine, note }]) => [shownArm(arm, plan), labelOf(arm, plan), load,
    [...(engine ? [engine] : []), ...(Object.keys(settings).length ? [textOf(settings)] : [])].join(', ') || '-', note ?? ''])) +
  list(plan.differs)
