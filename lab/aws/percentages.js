/**
 * What CloudWatch says of the processors of each node: the unit of the published tables. It has one point a minute, some of which come
 * minutes late.
 *
 *     block    |--x--|-----|-----|-----|--x--|     the first and the last minute are left out: the load began and ended in them
 *
 * @typedef {{ id: string, role: string, engineCpuPercent: number | null, cpuPercent: number | null, minutes: number, missing: number }}
 *   NodePercentages means; `engineCpuPercent` of one core, by the engine; `cpuPercent` of all cores, by the host; `minutes`: of each;
 *   `missing`: points that had not come, of both together
 */
import { setTimeout as sleep } from 'node:timers/promises'

const MINUTE_MS = 60_000
/** percent of one core, and of all */
const METRICS = Object.freeze(['EngineCPUUtilization', 'CPUUtilization'])
const WAIT_MS = 5 * MINUTE_MS
const LOOK_EVERY_MS = 15_000

/**
 * The whole minutes of a block, without the first and the last.
 * @param {number} fromMs @param {number} toMs @returns {{ fromMs: number, toMs: number, count: number }}
 */
export function minutesOf (fromMs, toMs) {
  const from = (Math.floor(fromMs / MINUTE_MS) + 1) * MINUTE_MS
  const to = Math.max(from, Math.floor((toMs - 1) / MINUTE_MS) * MINUTE_MS)
  return { fromMs: from, toMs: to, count: (to - from) / MINUTE_MS }
}

/**
 * @param {Pick<import('./client.js').Aws, 'metrics'>} aws
 * @param {{ nodes: readonly { id: string, role: string }[], fromMs: number, toMs: number, signal: AbortSignal, waitMs?: number,
 *   lookEveryMs?: number }} block `waitMs`: for late points; then they are missing
 * @returns {Promise<NodePercentages[]>}
 * @throws {import('../errors.js').FreshetError} AWS_UNUSABLE, AWS_FAILED
 */
export async function percentagesOf (aws, { nodes, fromMs, toMs, signal, waitMs = WAIT_MS, lookEveryMs = LOOK_EVERY_MS }) {
  const minutes = minutesOf(fromMs, toMs)
  const wanted = nodes.flatMap(({ id }) => METRICS.map((metric) => ({ id, metric })))
  const queries = wanted.map(({ id, metric }, i) => ({
    Id: `m${i}`,
    MetricStat: {
      Metric: { Namespace: 'AWS/ElastiCache', MetricName: metric, Dimensions: [{ Name: 'CacheClusterId', Value: id }] },
      Period: MINUTE_MS / 1000,
      Stat: 'Average'
    }
  }))
  const untilMs = performance.now() + waitMs
  for (;;) {
    const results = await aws.metrics({
      MetricDataQueries: queries, StartTime: new Date(minutes.fromMs), EndTime: new Date(minutes.toMs)
    }).catch((error) => {
      // as late as a point that does not come
      if (error.retryable && performance.now() < untilMs) return []
      throw error
    })
    const points = wanted.map((_, i) => results.filter(({ Id }) => Id === `m${i}`).flatMap(({ Values = [] }) => Values))
    if (performance.now() >= untilMs || points.every(({ length }) => length === minutes.count)) {
      return nodes.map(({ id, role }, i) => {
        const [engine, host] = points.slice(i * METRICS.length, (i + 1) * METRICS.length)
        return {
          id,
          role,
          engineCpuPercent: meanOf(engine),
          cpuPercent: meanOf(host),
          minutes: minutes.count,
          missing: METRICS.length * minutes.count - engine.length - host.length
        }
      })
    }
    await sleep(lookEveryMs, undefined, { signal })
  }
}

/** @param {number[]} values */
const meanOf = (values) => values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
