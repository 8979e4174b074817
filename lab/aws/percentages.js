/**
 * What CloudWatch says of a block of measuring: EngineCPUUtilization and CPUUtilization of each node, the unit of the published tables. Periods
 * are minutes; the first and the last of a block are only partly in it, and are left out. Points come late, so they are awaited.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { asked, loadSdk } from './sdk.js'

const MINUTE_MS = 60_000
export const LEAST_MINUTES = 5
const METRICS = Object.freeze(/** @type {const} */ ({ engine: 'EngineCPUUtilization', node: 'CPUUtilization' }))
const AGAIN_MS = 15_000
const LATE_MS = 5 * MINUTE_MS

/** @typedef {{ id: string, engine: number, node: number, minutes: number }} Percentages means, percent */

/**
 * @param {string[]} ids of nodes @param {{ from: number, to: number }} block ms since 1970
 * @param {{ place?: import('./sdk.js').Place, lateMs?: number, againMs?: number, now?: () => number }} [options] `lateMs`: how long points are
 *   awaited after the block
 * @returns {Promise<Percentages[]>}
 * @throws {FreshetError} AWS_DENIED, AWS_THROTTLED, AWS_POINTS_MISSING
 */
export async function percentagesOf (ids, { from, to }, { place = {}, lateMs = LATE_MS, againMs = AGAIN_MS, now = Date.now } = {}) {
  const [first, last] = [Math.ceil(from / MINUTE_MS) + 1, Math.floor(to / MINUTE_MS) - 1]
  const minutes = last - first
  if (minutes < LEAST_MINUTES - 2) throw new RangeError(`a block of ${(to - from) / MINUTE_MS} minutes; expected at least ${LEAST_MINUTES}`)
  const { CloudWatchClient, GetMetricDataCommand } = await loadSdk('cloudwatch')
  const client = new CloudWatchClient(place)
  const queries = ids.flatMap((id, i) => Object.entries(METRICS).map(([what, MetricName]) => ({
    Id: `${what}${i}`,
    MetricStat: {
      Metric: { Namespace: 'AWS/ElastiCache', MetricName, Dimensions: [{ Name: 'CacheClusterId', Value: id }] }, Period: 60, Stat: 'Average'
    }
  })))
  const request = new GetMetricDataCommand({
    MetricDataQueries: queries, StartTime: new Date(first * MINUTE_MS), EndTime: new Date(last * MINUTE_MS)
  })
  for (;;) {
    const { MetricDataResults: results } = await asked(() => client.send(request))
    const valuesOf = (/** @type {string} */ id) => results.find((/** @type {any} */ { Id }) => Id === id)?.Values ?? []
    const missing = queries.filter(({ Id }) => valuesOf(Id).length < minutes)
    if (missing.length === 0) {
      const mean = (/** @type {number[]} */ values) => values.reduce((sum, one) => sum + one, 0) / values.length
      return ids.map((id, i) => ({ id, engine: mean(valuesOf(`engine${i}`)), node: mean(valuesOf(`node${i}`)), minutes }))
    }
    if (now() > to + lateMs) {
      const [{ MetricStat: { Metric: { MetricName, Dimensions: [{ Value }] } } }] = missing
      throw new FreshetError('AWS_POINTS_MISSING',
        `CloudWatch has not all of the ${minutes} points of ${MetricName} of ${Value}, ${lateMs / MINUTE_MS} minutes after the block`)
    }
    await pause(againMs)
  }
}
