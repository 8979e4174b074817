/**
 * Published statements and what became of them, as tables of the pages of experiments, and their numbers on the page of all.
 *
 * @typedef {import('../analysis/statements.js').Statement} Statement
 * @typedef {import('../analysis/statements.js').Outcome} Outcome
 * @typedef {{ statement: Statement, outcome: Outcome }} Judged
 */
import { BECAME } from '../analysis/statements.js'
import { MEASURES } from '../analysis/measures.js'
import { countedText } from '../analysis/verdict.js'
import { code, table } from './markdown-table.js'
import { count, figure, figureWithInterval, ratioWithInterval } from './numbers.js'

/** @type {Record<string, string>} parts of a line */
const LINE = Object.freeze({ fixedPercent: 'Fixed cost of a second', marginalMicrosPerItem: 'Cost of a further item' })
const BEGIN = '<!-- statements: npm run charts -->\n'
const END = '<!-- /statements -->'
/** on the page of all experiments, after the heading of a study */
const COUNTED = /^\*\*Statements: .*\.\*\*$/m
/** after which they stand in a page that has none yet */
const PLACE = Object.freeze({ page: '\n## Published statements\n\n', beside: '\n\n' })

/** words of the page of an experiment, tables included: statements that do not fit there are on the page beside it */
export const MOST_WORDS = 500

/** @param {string} text @returns {number} */
export const wordsOf = (text) => text.split(/\s+/).length

/**
 * @param {Judged[]} judged of one experiment
 * @param {string} source
 * @param {string} [text] of the page of the experiment, without or with statements
 * @returns {{ page: string, beside: string }} Markdown for its README and for statements.md; empty: none there
 */
export function statementsOf (judged, source, text = '') {
  if (judged.length === 0) return { page: '', beside: '' }
  const terms = judged.flatMap(({ outcome: { of, against } }) => [of ?? [], against ?? []].flat())
  const levels = new Set(terms.map(({ level }) => level))
  const isOneLevel = levels.size === 1
  const whole = `${BEGIN}Source: ${source}.${isOneLevel ? ` Here: ${[...levels]}.` : ''}\n\n` +
    table(['statement', '>published', '>here', 'size', 'outcome'], judged.map(({ statement, outcome }) => [
      `${statement.says}${compared(outcome, isOneLevel)}`,
      publishedOf(statement),
      hereOf(statement, outcome),
      sizeOf(outcome),
      outcome.became
    ])) + END
  const counts = countsText(judged.map(({ outcome }) => outcome))
  return wordsOf(withStatements(text, '')) + wordsOf(whole) <= MOST_WORDS
    ? { page: whole, beside: '' }
    : { page: `${BEGIN}[${counts.slice(0, -1)}](statements.md).\n${END}`, beside: whole }
}

/** What stands for it here. @param {Outcome} outcome @param {boolean} isOneLevel which stands above all */
function compared ({ of, against }, isOneLevel) {
  if (!of) return ''
  const arms = against && against.arm !== of.arm ? `${code(of.arm)} / ${code(against.arm)}` : code(of.arm)
  const levels = against && against.level !== of.level ? `${of.level} / ${against.level}` : of.level
  const name = (/** @type {string} */ measure) => MEASURES[measure]?.title ?? LINE[measure]
  const measures = against && against.measure !== of.measure ? `${name(of.measure)} / ${name(against.measure)}` : name(of.measure)
  return `\n*${arms}, ${measures}${isOneLevel ? '' : `, ${levels}`}*`
}

/** @param {Statement} statement */
function publishedOf ({ value, from, between, direction, against, why }) {
  if (value !== undefined) return from || against ? `${figure(value)} x${from ? ` (${from})` : ''}` : figure(value)
  if (between) {
    const [least, most] = between
    if (most === null) return `at least ${figure(least)}`
    return least === 0 && most > 0 ? `at most ${figure(most)}` : `${figure(least)} to ${figure(most)}`
  }
  return why === undefined ? direction ?? 'always' : '-'
}

/** @param {Statement} statement @param {Outcome} outcome */
function hereOf ({ per, of }, { why, ratio, figure, unit, count: held, bound }) {
  if (why !== undefined) return why
  if (held) return `in ${count(held.held)} of ${count(held.all)} measurements`
  const limit = bound ? `; ${bound}` : ''
  const counted = ratio && ratio.counted !== null ? `; ${countedText(ratio.counted)} x by count` : ''
  const noise = ratio?.withinNoise ? ', within the noise' : ''
  if (ratio && ratio.ratio === null && ratio.counted !== null) return `${countedText(ratio.counted)} x by count`
  return ratio
    ? `${ratioWithInterval(ratio)}${per ? ` of that at ${per.level}` : ''}${noise}${counted}${limit}`
    : `${figureWithInterval(figure)} ${unit}${of?.times ? `, in a scale of time of 1 / ${of.times}` : ''}${limit}`
}

/** @param {Outcome} outcome */
const sizeOf = ({ isSizeInside }) => isSizeInside === null ? '' : isSizeInside ? 'inside' : 'outside'

/**
 * @param {string} page of an experiment, or the one beside it
 * @param {string} section empty: none
 * @returns {string} with the section in place of the one that it has
 */
export function withStatements (page, section) {
  const begin = page.indexOf(BEGIN)
  if (begin !== -1) {
    const rest = page.slice(page.indexOf(END) + END.length)
    return page.slice(0, begin) + (section === '' ? rest.replace(/^\n\n/, '') : section + rest)
  }
  const before = page.includes(PLACE.page) ? PLACE.page : PLACE.beside
  const at = page.indexOf(before)
  return section === '' || at === -1 ? page : `${page.slice(0, at + before.length)}${section}\n\n${page.slice(at + before.length)}`
}

/** @param {Outcome[]} outcomes @returns {string} "Statements: 2 confirmed, 1 refuted, 7 without measurable difference, 0 not measured." */
export const countsText = (outcomes) => `Statements: ${BECAME.map((became) =>
  `${outcomes.filter((one) => one.became === became).length} ${became.replace(/^no /, 'without ')}`).join(', ')}.`

/**
 * @param {string} page of all experiments
 * @param {Judged[]} judged of all
 * @returns {string} with the numbers of each study
 */
export const withCounts = (page, judged) => page.split('\n### ').map((part) => {
  const those = judged.filter(({ statement }) => part.startsWith(`${statement.study}: `))
  return those.length === 0 ? part : part.replace(COUNTED, `**${countsText(those.map(({ outcome }) => outcome))}**`)
}).join('\n### ')
