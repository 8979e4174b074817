/**
 * After the window became longer, stored keys get a new expiry. Running writers follow a new window within a second, so the
 * update starts after that.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { layoutOf } from '../layouts/index.js'
import { partitionKey } from './keys.js'

const WRITERS_FOLLOW_MS = 1500
/** keys outlive the window by this, and by maxFutureMs */
const EXPIRY_GRACE_MS = 5000

/**
 * Lifetime of the keys of a feed. @param {{ windowMs: number }} retention @param {number} maxFutureMs
 * @returns {number} ms, 0 = no expiry
 */
export const expiryMs = ({ windowMs }, maxFutureMs) => windowMs === 0 ? 0 : windowMs + maxFutureMs + EXPIRY_GRACE_MS

/**
 * @param {Pick<import('../store/index.js').Primaries, 'connectionOf'>} primaries @param {string} prefix
 * @param {import('./definitions.js').Definition} before @param {import('./definitions.js').Definition} after
 */
export async function extendFeed (primaries, prefix, before, after) {
  const longer = before.windowMs !== 0 && (after.windowMs === 0 || after.windowMs > before.windowMs)
  const bounded = before.windowMs === 0 && after.windowMs !== 0
  if (!longer && !bounded) return
  await sleep(WRITERS_FOLLOW_MS)
  const layout = layoutOf(after.layout)
  for (let partition = 0; partition < after.partitions; partition++) {
    const key = partitionKey(prefix, after, partition)
    await layout.extend(primaries.connectionOf(key('')), key, { ttlMs: expiryMs(after, 0), condition: longer ? 'GT' : 'NX' })
  }
}
