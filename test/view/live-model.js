/** What is live in a feed, the naive way. */
import { partitionOf } from '../../src/item/id.js'
import { layoutOf } from '../../src/layouts/index.js'

/** @typedef {{ id: Buffer, ts: number, seq: number, value: Buffer, deleted: boolean }} Version */

/** @param {Version} a @param {Version} b */
const newestFirst = (a, b) => b.ts - a.ts || b.seq - a.seq || Buffer.compare(b.id, a.id)

/**
 * Live items, the naive way.
 * @param {Version[]} written in the order of arrival
 * @param {{ layout: string, late: 'newest' | 'overwrite', partitions: number, windowMs: number, maxItems: number }} feed
 * @param {number} nowMs
 */
export function liveIn (written, { layout, late, partitions, windowMs, maxItems }, nowMs) {
  const isLog = layoutOf(layout).log !== undefined
  const isOneVersion = layoutOf(layout).describe().versions === 'one'
  const isYoung = (/** @type {Version} */ { ts }) => ts >= nowMs - windowMs
  const all = Array.from({ length: partitions }, (_, partition) => {
    const mine = written.filter(({ id }) => partitionOf(id, partitions) === partition)
    if (isOneVersion) {
      // the last of an id in this order is kept; of equal ones the later
      const inOrder = late === 'overwrite' ? mine : [...mine].sort((a, b) => a.ts - b.ts || a.seq - b.seq)
      const last = new Map(inOrder.map((version) => [String(version.id), version]))
      return [...last.values()].filter((version) => !version.deleted && isYoung(version)).sort(newestFirst).slice(0, maxItems)
    }
    // of equal ones the later comes first
    const kept = isLog
      ? mine.slice(-maxItems).filter(isYoung).reverse().sort(newestFirst)
      : mine.filter(isYoung).reverse().sort(newestFirst).slice(0, maxItems)
    const newest = new Map(kept.toReversed().map((version) => [String(version.id), version]))
    return [...newest.values()].filter(({ deleted }) => !deleted)
  })
  return all.flat().sort(newestFirst)
}
