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

/** statements that fit on the page of an experiment; more are on the page beside it */
const MOST_ROWS = 1

/**
 * @param {Judged[]} judged of one experiment
 * @param {string} source
 * @returns {{ page: string, beside: string }} Markdown for its README and for statements.md; empty without any
 */
export function statementsOf (judged, source) {
  if (judged.length === 0) return { page: '', beside: '' }
  const whole = `${BEGIN}Source: ${source}.\n\n` +
    table(['statement', '>published', '>here', 'size', 'outcome'], judged.map(({ statement, outcome }) => [
      `${statement.says}${compared(outcome)}`, publishedOf(statement), hereOf(statement, outcome), sizeOf(outcome), outcome.became
    ])) + END
  const counts = countsText(judged.map(({ outcome }) => outcome))
  return judged.length <= MOST_ROWS
    ? { page: whole, beside: '' }
    : { page: `${BEGIN}[${counts.slice(0, -1)}](statements.md).\n${END}`, beside: whole }
}

/** What stands for it here. @param {Outcome} outcome */
function compared ({ of, against }) {
  if (!of) return ''
  const arms = against && against.arm !== of.arm ? `${code(of.arm)} / ${code(against.arm)}` : code(of.arm)
  const levels = against && against.level !== of.level ? `${of.level} / ${against.level}` : of.level
  const name = (/** @type {string} */ measure) => MEASURES[measure]?.title ?? LINE[measure]
  const measures = against && against.measure !== of.measure ? `${name(of.measure)} / ${name(against.measure)}` : name(of.measure)
  return `\n*${arms}, ${measures}, ${levels}*`
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
  return ratio
    ? `${ratioWithInterval(ratio)}${per ? ` of that at ${per.level}` : ''}${noise}${counted}${limit}`
    : `${figureWithInterval(figure)} ${unit}${of?.times ? `, in a scale of time of 1 / ${of.times}` : ''}${limit}`
}

/** @param {Outcome} outcome */
const sizeOf = ({ isSizeInside }) => isSizeInside === null ? '' : isSizeInside ? 'inside' : 'outside'

/**
 * @param {string} page of an experiment
 * @param {string} section
 * @returns {string} with the section in place of the one that it has
 */
export const withStatements = (page, section) => section === '' || !page.includes(BEGIN)
  ? page
  : page.slice(0, page.indexOf(BEGIN)) + section + page.slice(page.indexOf(END) + END.length)

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
