/**
 * A result in the terminal: the verdict first, then a table for each level, then the evidence.
 */
import { isValid } from '../analysis/groups.js'
import { accountOf, limitsOf, otherOutcomesOf, requestsOf } from './account.js'
import { budgetLines } from './budgets.js'
import { GAP, aligned } from './columns.js'
import { cloudwatchLines } from './cloudwatch.js'
import { captionOf } from './conditions.js'
import { consumerLines } from './consumers.js'
import { comparisonsOf, costText, directionText, publishedText, ratioText, titleOf } from './figures.js'
import { ceilingOf, changeOf, noiseOf, verdictsOf } from './finding.js'
import { headlineOf } from './headline.js'
import { count, figure, figureWithInterval, ratioWithInterval } from './numbers.js'
import { publishedOf } from './published.js'
import { noiseRemarks, remarksOf } from './remarks.js'
import { shownArm } from './roles.js'

/** @typedef {import('../analysis/index.js').Analysis} Analysis */
/** @typedef {import('../analysis/index.js').Result} Result */
/** @typedef {import('../plan/index.js').Plan} Plan */

const WIDTH = 110
const INDENT = '    '
/** with less room than this, names get a line of their own */
const NAME_WIDTH = 12
/** two lines each */
const HEADS = [['', 'arm'], ['', 'median [95 %]'], ['', 'x baseline [95 %]'], ['', 'published'], ['same', 'direction'], ['', 'items/s'],
  ['', 'late p99']]

/**
 * @param {Analysis} analysis
 * @param {Result} result
 * @param {Plan} plan
 * @returns {string} lines of at most 110 characters
 */
export function tableOf (analysis, result, plan) {
  const lines = [
    ...(result.settings.quick ? ['not a result: a quick run is one short round that only shows that everything works', ''] : []),
    ...(plan.name === 'ad-hoc' ? [plan.title, ''] : []),
    ...limitsOf(accountOf(result.samples)).map((limit) => `not everything was accepted: ${limit}`),
    ...verdict(analysis, plan),
    '',
    ...Object.keys(plan.levels).flatMap((level) => levelTable(analysis, plan, level)),
    ...publishedOf(analysis, plan, null).flatMap((line) => [line, '']),
    ...budgetLines(analysis).flatMap((line, i, { length }) => i === length - 1 ? [line, ''] : [line]),
    ...cloudwatchLines(result, plan),
    ...costs(analysis),
    ...consumerLines(analysis),
    ...belief(analysis, result, plan)
  ]
  return lines.flatMap(folded).join('\n')
}

/** @param {Analysis} analysis @param {Plan} plan */
function verdict (analysis, plan) {
  const verdicts = verdictsOf(analysis, plan)
  const published = analysis.comparisons.filter(({ published }) => published)
  const same = published.filter(({ sameDirection }) => sameDirection)
  const open = published.filter(({ sameDirection }) => sameDirection === null).length
  return [
    ...(verdicts.length === 0 ? [headlineOf(analysis, plan)] : changeOf(analysis, plan)),
    ...verdicts,
    ...(published.length
      ? [`same direction as published: ${same.length} of ${published.length}` +
          `${open ? `, ${open} without measurable difference, or unknown` : ''}`]
      : []),
    ...[noiseOf(analysis, plan), ceilingOf(analysis, plan)].filter((line) => line !== '')
  ]
}

/** @param {Analysis} analysis @param {Plan} plan @param {string} level */
function levelTable (analysis, plan, level) {
  const rows = analysis.cells.filter((cell) => cell.level === level).map((cell) => rowOf(analysis, plan, cell))
  if (rows.length === 0) return []
  const used = HEADS.map((_, i) => i).filter((i) => i > 0 && rows.some(({ texts }) => texts[i] !== '-'))
  const widths = used.map((i) => Math.max(...HEADS[i].map(({ length }) => length), ...rows.map(({ texts }) => texts[i].length)))
  const room = Math.max(NAME_WIDTH, WIDTH - widths.reduce((sum, width) => sum + GAP.length + width, 0))
  const isLong = (/** @type {string} */ name) => name.length > room
  const heads = [0, 1].map((half) => HEADS.map((head) => head[half]))
  const lines = aligned([...heads, ...rows.map(({ texts: [name, ...rest] }) => [isLong(name) ? '' : name, ...rest])].map((texts) =>
    [texts[0], ...used.map((i) => texts[i])]), 1)
  return [
    `${level}: ${titleOf(analysis.main)}`,
    ...lines.slice(0, heads.length).filter((line) => line !== ''),
    ...rows.flatMap(({ texts: [name], remarks }, i) => [
      ...(isLong(name) ? [name] : []),
      lines[heads.length + i],
      ...remarks.map((remark) => `${INDENT}${remark}`)
    ]),
    ''
  ]
}

/** @param {Analysis} analysis @param {Plan} plan @param {Analysis['cells'][number]} cell */
function rowOf (analysis, plan, { arm, level, figures }) {
  const comparisons = comparisonsOf(analysis, { arm, level })
  const known = comparisons.find(({ published, against }) => published && against === plan.baseline)
  const others = comparisons.filter((one) => one !== known && (one.against !== plan.baseline || one.published))
  return {
    texts: [
      shownArm(arm, plan),
      figureWithInterval(figures[analysis.main]),
      ratioText(analysis, plan, { arm, level }),
      known ? publishedText(Number(known.published?.value)) : '-',
      known ? directionText(known) : '-',
      count(figures.itemsPerSecond?.median),
      figures.behindMsP99?.n ? `${figure(figures.behindMsP99.median)} ms` : '-'
    ],
    remarks: [
      ...others.map((one) => `against ${one.against}: ${ratioWithInterval(one)}${one.published
        ? `; published ${publishedText(Number(one.published.value))} (${one.published.label}), same direction: ${directionText(one)}`
        : ''}`),
      ...noiseRemarks(analysis, { arm, level }),
      ...publishedOf(analysis, plan, { arm, level }),
      ...remarksOf(analysis, { arm, level })
    ]
  }
}

/** @param {Analysis} analysis */
const costs = ({ costs }) =>
  costs.length ? ['fixed and marginal CPU time of the primary', ...costs.map((cost) => `${INDENT}${costText(cost)}`), ''] : []

/** @param {Analysis} analysis @param {Result} result @param {Plan} plan */
function belief (analysis, result, plan) {
  const account = accountOf(result.samples)
  const requests = requestsOf(result.samples)
  const { invalid, ended } = analysis
  const others = [...(invalid.length ? [`${invalid.length} INVALID`] : []), ...(ended.length ? [`${ended.length} ended by an error`] : [])]
  const planned = (/** @type {number | null} */ n) => n === null ? '' : `planned ${count(n)}, `
  return [
    `items: ${planned(account.planned)}sent ${count(account.sent)}, acknowledged ${count(account.acknowledged)}, missing ` +
      `${count(account.missing)}, unsent ${count(account.unsent)}, lost ${count(account.lost)}`,
    ...otherOutcomesOf(account).map((outcome) => `${INDENT}${outcome}`),
    ...(requests
      ? [`requests: ${planned(requests.planned)}sent ${count(requests.sent)}, responses ${count(requests.answered)}, missing ` +
        `${count(requests.errors + requests.timeouts)} (${count(requests.errors)} errors, ${count(requests.timeouts)} timeouts)`]
      : []),
    `measurements: ${[`${result.samples.filter(isValid).length} of ${result.samples.length} valid`, ...others].join(', ')}`,
    ...analysis.warnings.map((warning) => `warning: ${warning}`),
    captionOf(result, plan)
  ]
}

/** @param {string} line @returns {string[]} lines of at most WIDTH, broken at spaces if possible */
function folded (line) {
  const indent = `${/^ */.exec(line)?.[0] ?? ''}${INDENT}`
  const lines = []
  let rest = line
  while (rest.length > WIDTH) {
    const space = rest.lastIndexOf(' ', WIDTH)
    const end = space > indent.length ? space : WIDTH
    lines.push(rest.slice(0, end).trimEnd())
    rest = indent + rest.slice(end).trimStart()
  }
  return [...lines, rest]
}
