/**
 * The one JSON line a writer ends with, and its exit status.
 */
import { addAccounts, refusedOf } from '../src/pipeline/account.js'
import { addUp } from './tally.js'

/** @typedef {import('../src/store/nodes.js').NodeFigures} NodeFigures */

/**
 * @param {{ settings: any, tallies: import('./tally.js').Tally[], before: NodeFigures[], after: NodeFigures[] }} run
 */
export function summaryOf ({ settings, tallies, before, after }) {
  const { account, seconds, cpuMicros, loopUse, behindMs } = addUp(tallies)
  return {
    event: 'summary',
    role: 'writer',
    feed: settings.feed,
    layout: settings.layout,
    engine: (before[0] ?? after[0])?.engine ?? null,
    writers: settings.writers,
    offered: account.offered,
    items: account.items,
    refused: refusedOf(account),
    dropped: account.dropped,
    failed: account.failed,
    retried: account.retried,
    bytes: account.bytes,
    seconds: Math.round(seconds * 1000) / 1000,
    itemsPerSecond: seconds > 0 ? Math.round(account.items / seconds) : 0,
    batches: account.batches,
    behindMs,
    refusedBy: account.refused,
    writerCpuMicrosPerItem: perItem(cpuMicros, account.items),
    loopUse: Math.round(loopUse * 100) / 100,
    nodes: nodesOf(before, after, account.items)
  }
}

/** @param {NodeFigures[]} before @param {NodeFigures[]} after @param {number} items */
function nodesOf (before, after, items) {
  return after.flatMap((node) => {
    const then = before.find((one) => one.address === node.address)
    // one that was started again, or has another role now, has no sum
    if (then?.runId !== node.runId || then.role !== node.role) return []
    return [{ role: node.role, cpuMicrosPerItem: perItem((node.cpuSeconds - then.cpuSeconds) * 1e6, items) }]
  })
}

/** @param {number} micros @param {number} items */
const perItem = (micros, items) => items > 0 ? Math.round(micros * 100 / items) / 100 : null

/**
 * 0 done or stopped with everything flushed, 1 failed or items unacknowledged, 3 done but input lines were refused
 * @param {any} settings @param {import('./tally.js').Tally[]} tallies @param {Error | null} error
 */
export function exitStatusOf ({ source }, tallies, error) {
  // of the whole run, warm-up included
  const account = addAccounts(tallies.map((tally) => tally.account))
  if (error) return /** @type {any} */ (error).exitStatus ?? 1
  if (account.failed > 0) return 1
  return source === 'stdin' && refusedOf(account) > 0 ? 3 : 0
}
