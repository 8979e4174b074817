/**
 * How far back a feed reaches where `maxItems` ends before the window does. Most feeds have both limits by default, so the one that counts
 * has to be visible.
 */

import { layoutOf } from '../layouts/index.js'
import { partitionKey } from './keys.js'

/**
 * @param {import('../store/index.js').Router} connection
 * @param {string} prefix
 * @param {Omit<import('./definitions.js').Definition, 'createdAt'>} definition
 * @param {number} nowMs since 1970
 * @returns {Promise<number | null>} ms, of the partition that reaches least far back; null: the window decides, or nothing does yet
 */
export async function keptMs (connection, prefix, definition, nowMs) {
  const { layout, partitions, windowMs, maxItems } = definition
  if (maxItems === 0) return null
  const excluded = await Promise.all(Array.from({ length: partitions }, (_, partition) =>
    layoutOf(layout).excludedMs(connection, partitionKey(prefix, definition, partition), definition)))
  const newest = Math.max(...excluded.map((ms) => ms ?? -Infinity))
  const kept = Math.max(0, nowMs - newest)
  return newest === -Infinity || (windowMs > 0 && kept >= windowMs) ? null : kept
}

/** @param {number} ms @returns {string} */
const seconds = (ms) => `${(ms / 1000).toLocaleString('en', { maximumSignificantDigits: 3 })} s`

/** @param {number} kept ms @param {{ windowMs: number }} retention @returns {string} such as `25 s of the window of 60 s` */
export const keptText = (kept, { windowMs }) => seconds(kept) + (windowMs > 0 ? ` of the window of ${seconds(windowMs)}` : '')
