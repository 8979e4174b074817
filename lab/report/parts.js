/**
 * Tables of what a figure of a whole window hides: prices by tier, orders by operation and by service. From samples that have these
 * parts; medians of the valid rounds.
 */
import { median } from 'simple-statistics'
import { table } from './markdown-table.js'
import { count, figure } from './numbers.js'
import { shownArm } from './roles.js'

/** @typedef {import('../analysis/index.js').Result} Result */
/** @typedef {import('../plan/index.js').Plan} Plan */
/** @typedef {import('../run/sample.js').Sample} Sample */
/** @typedef {Partial<Record<typeof LATENCY[number], number>>} Latency milliseconds; older results have fewer */
/** @typedef {{ name: string, answered: number | null, missing?: number, perSecond: number | null, latency: Latency }} Part null: not
 *   counted by itself */

const LATENCY = /** @type {const} */ (['min', 'mean', 'p50', 'p90', 'p95', 'p99', 'max'])
const HEADS = ['>answers of all rounds', '>without a price, %', '>per second', '>shortest, ms', '>mean, ms', '>median',
  '>90 %', '>95 %', '>99 %', '>longest']

/** @param {Sample} sample @returns {Part[]} by tier */
const tiersOf = ({ prices }) => Object.entries(prices?.tiers ?? {})
  .map(([name, { answered, missing, perSecond, latencyMs }]) => ({ name, answered, missing, perSecond, latency: latencyMs }))

/** @param {Sample} sample @returns {Part[]} by operation; what was not tracked is left out */
function operationsOf ({ orders }) {
  if (!orders) return []
  const { seconds, answered, placed, final, httpMs, orderMs, reservationMs, customerMs, polledMs, pushedMs, serverMs } = orders
  const all = [
    { name: 'every command: reply', answered, latency: httpMs },
    { name: 'placing an order: reply', answered: placed, latency: orderMs },
    { name: 'reserving units: reply', answered: null, latency: reservationMs },
    { name: 'a new customer: reply', answered: null, latency: customerMs },
    { name: 'an order: end, on the server', answered: final, latency: serverMs },
    { name: 'an order: end, for a polling customer', answered: null, latency: polledMs },
    { name: 'an order: end, for a waiting customer', answered: null, latency: pushedMs }
  ]
  return all.flatMap(({ latency, ...part }) => latency
    ? [{ ...part, perSecond: part.answered === null ? null : part.answered / seconds, latency }]
    : [])
}

/**
 * @param {Result} result
 * @param {Plan} plan
 * @returns {{ title: string, body: string }[]} Markdown sections
 */
export function partsSections ({ samples }, plan) {
  const valid = samples.filter(({ valid }) => valid)
  return [
    { title: 'By tier', body: latencies(valid, plan, tiersOf) },
    { title: 'By operation', body: latencies(valid, plan, operationsOf) },
    { title: 'By service', body: services(valid, plan) }
  ]
}

/** @param {Sample[]} samples @param {Plan} plan @param {(sample: Sample) => Part[]} partsOf */
function latencies (samples, plan, partsOf) {
  return cellsOf(samples, plan).map(({ level, arms }) => {
    const rows = arms.flatMap(({ arm, those }) => {
      const parts = those.flatMap(partsOf)
      return [...new Set(parts.map(({ name }) => name))].map((name) => rowOf(arm, parts.filter((part) => part.name === name)))
    })
    return rows.length === 0 ? '' : `**${level}**\n\n` + filled(['arm', 'part', ...HEADS], rows)
  }).join('')
}

/** @param {string} arm @param {Part[]} parts of one name, one a round */
function rowOf (arm, parts) {
  const middle = (/** @type {(part: Part) => number | null | undefined} */ read) => {
    const values = parts.flatMap((part) => read(part) ?? [])
    return values.length ? figure(median(values)) : '-'
  }
  const lost = middle(({ answered, missing }) =>
    missing === undefined || answered === null || answered + missing === 0 ? null : 100 * missing / (answered + missing))
  const answers = parts.flatMap(({ answered }) => answered ?? [])
  const all = answers.length ? count(answers.reduce((sum, one) => sum + one, 0)) : '-'
  return [arm, parts[0].name, all, lost, middle(({ perSecond }) => perSecond),
    ...LATENCY.map((one) => middle(({ latency }) => latency[one]))]
}

/** A table without the columns that no row fills: older results have fewer. @param {string[]} heads @param {string[][]} rows */
function filled (heads, rows) {
  const those = heads.map((_, i) => rows.some((row) => row[i] !== '-'))
  return table(heads.filter((_, i) => those[i]), rows.map((row) => row.filter((_, i) => those[i])))
}

/** Processes, processor time and memory of each service of orders. @param {Sample[]} samples @param {Plan} plan */
function services (samples, plan) {
  return cellsOf(samples, plan).map(({ level, arms }) => {
    const rows = arms.flatMap(({ arm, those }) => {
      const names = [...new Set(those.flatMap(({ orders }) => Object.keys(orders?.cpuSeconds ?? {})))]
      return names.map((name) => {
        const each = those.flatMap(({ orders }) => orders?.cpuSeconds[name]
          ? [{ processes: orders.cpuSeconds[name], seconds: orders.seconds }]
          : [])
        const millicores = each.map(({ processes, seconds }) => 1000 * processes.reduce((sum, one) => sum + one, 0) / seconds)
        const bytes = those.flatMap(({ orders }) => orders?.memoryByService?.[name] || [])
        return [arm, name, figure(median(each.map(({ processes }) => processes.length))), count(median(millicores)),
          bytes.length ? count(median(bytes) / 1e6) : '-']
      })
    })
    const heads = ['arm', 'service', '>processes', '>CPU of all, millicores', '>memory of all, MB']
    return rows.length === 0 ? '' : `**${level}**\n\n` + filled(heads, rows)
  }).join('')
}

/** @param {Sample[]} samples @param {Plan} plan @returns {{ level: string, arms: { arm: string, those: Sample[] }[] }[]} in their order */
const cellsOf = (samples, plan) => Object.keys(plan.levels).map((level) => ({
  level,
  arms: Object.keys(plan.arms).map((arm) => ({
    arm: shownArm(arm, plan), those: samples.filter((sample) => sample.arm === arm && sample.level === level)
  }))
}))
