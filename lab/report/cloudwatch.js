/** Percentages of CloudWatch, directly beside the published ones: both are of whole nodes. */
import { aligned } from './columns.js'
import { code, table } from './markdown-table.js'
import { figure } from './numbers.js'

/** @typedef {import('../analysis/index.js').Result} Result */
/** @typedef {import('../plan/index.js').Plan} Plan */

const HEADS = ['arm', 'level', 'node', 'CPU', 'engine', 'INFO', 'items/s', 'minutes']
const MEANING = 'CPU = CPUUtilization, % of the node; engine = EngineCPUUtilization, INFO = its counters, both % of a core'
const NUMBERS_FROM = 3

/** @param {Result} result @param {Plan} plan @returns {string[][]} the published figures of an arm follow its own */
function rowsOf ({ blocks = [] }, { published, arms }) {
  const isPercent = /percent\b|%/i.test(published?.unit ?? '')
  return Object.keys(arms).flatMap((arm) => [
    ...blocks.filter((block) => block.arm === arm).flatMap(({ level, error, nodes, infoCpuPercent, itemsPerSecond }) => error
      ? [[arm, level, `ended: ${error.code}`, '-', '-', '-', '-', '-']]
      : nodes.map(({ id, role, cpuPercent, engineCpuPercent, minutes, missing }, i) => [arm, level, `${role} ${id}`, figure(cpuPercent),
        figure(engineCpuPercent), figure(infoCpuPercent[i]), figure(itemsPerSecond),
          `${minutes}${missing > 0 ? `, ${missing} points missing` : ''}`])),
    ...isPercent && blocks.length > 0
      ? (published?.figures ?? []).filter((one) => one.arm === arm)
          .map(({ label, level, value }) => [arm, level ?? '', `published: ${label}`, figure(value), '-', '-', '-', '-'])
      : []
  ])
}

/** @param {Result} result @param {Plan} plan @returns {string} Markdown; empty without such percentages */
export function cloudwatchSection (result, plan) {
  const rows = rowsOf(result, plan).map(([arm, ...rest]) => [code(arm), ...rest])
  return rows.length === 0 ? '' : `${MEANING}.\n\n${table(HEADS.map((head, i) => i < NUMBERS_FROM ? head : `>${head}`), rows)}`
}

/** @param {Result} result @param {Plan} plan @returns {string[]} */
export function cloudwatchLines (result, plan) {
  const rows = rowsOf(result, plan)
  return rows.length === 0 ? [] : [`CloudWatch: ${MEANING}`, ...aligned([HEADS, ...rows], NUMBERS_FROM).map((line) => `  ${line}`), '']
}
