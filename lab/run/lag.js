/**
 * Replica lag during a window: how much earlier the primary had what a replica has now, by the replication offsets of all nodes,
 * which are read ten times a second. The primary's offset between two readings is taken to grow evenly.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createLatencies } from '../serving/latencies.js'
import { figuresIn, readInfo } from '../../src/store/index.js'
import { queryAll } from '../servers/query.js'

const EVERY_MS = 100

/** @typedef {{ atMs: number, offset: number }} Reading */

/**
 * @param {string[]} urls the primary first
 * @param {AbortSignal} over the window is
 * @returns {Promise<import('../serving/latencies.js').Percentiles | null>} ms; null: there are no replicas
 * @throws {import('../../src/errors.js').FreshetError} as queryAll
 */
export async function watchLag (urls, over) {
  if (urls.length < 2) return null
  const [primary, ...replicas] = await queryAll(urls, async (connection) => {
    /** @type {Reading[]} */
    const readings = []
    for (let isLast = false; !isLast;) {
      isLast = over.aborted
      const info = readInfo(await connection.send('INFO', 'replication'), connection.address)
      readings.push({ atMs: performance.now(), offset: figuresIn(info, connection.address).offset })
      if (!isLast) await pause(EVERY_MS, undefined, { signal: over }).catch(() => {})
    }
    return readings
  })
  const lags = createLatencies()
  for (const reading of replicas.flat()) {
    const lagMs = lagOf(primary, reading)
    if (lagMs !== null) lags.record(lagMs)
  }
  return lags.percentiles()
}

/**
 * @param {Reading[]} primary the earliest first @param {Reading} replica
 * @returns {number | null} ms; null: before the first reading of the primary
 */
export function lagOf (primary, { atMs, offset }) {
  const next = primary.findIndex((reading) => reading.offset > offset)
  if (next === 0) return null
  if (next < 0) return 0
  const [before, after] = [primary[next - 1], primary[next]]
  const hadItMs = before.atMs + (after.atMs - before.atMs) * (offset - before.offset) / (after.offset - before.offset)
  return Math.max(0, atMs - hadItMs)
}
