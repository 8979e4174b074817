/** What is made of a result for people, and how its tables are read. */
import { analyse } from '../../lab/analysis/index.js'
import { drawingOf } from '../../lab/report/drawing.js'
import { markdownOf } from '../../lab/report/markdown.js'
import { tableOf } from '../../lab/report/table.js'

export const RAW = '../experiments/007-reference-or-value/results/2026-07-30T10-00-00Z.json'

/** @param {import('../../lab/analysis/index.js').Result} result */
export function reportsOf (result) {
  const analysis = analyse(result)
  const parts = /** @type {const} */ ([analysis, result, result.plan])
  return { analysis, table: tableOf(...parts), markdown: markdownOf(...parts, RAW), drawing: drawingOf(...parts) }
}

/** A line of a table in Markdown, by how it begins, as cells. @param {string} markdown @param {string} start */
export const cellsOf = (markdown, start) =>
  markdown.split('\n').find((line) => line.startsWith(`| ${start}`))?.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, ''))
