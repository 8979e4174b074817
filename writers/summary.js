/**
 * The JSON summary of a writer, and its exit status.
 */
import { addAccounts, decidedOf, refusedOf } from '../src/pipeline/index.js'
import { perItem, summaryLine } from '../src/summary/index.js'

/** @typedef {import('../src/store/index.js').NodeFigures} NodeFigures */
/** @typedef {import('../src/summary/index.js').Tally} Tally */
/**
 * @typedef {{ keptMs?: number | null, windowMs?: number }} Reach `keptMs`: how far back the feed reaches, if max-items ends before the
 *   window; both are missing of a writer that did not open the feed
 */

/**
 * With `windowMs` and `keptMs` if max-items ended before the window.
 * @param {{ settings: any, tallies: (Tally & Reach)[], before: NodeFigures[], after: NodeFigures[] }} run
 */
export function summaryOf ({ settings, tallies, before, after }) {
  const summary = summaryLine({ role: 'writer', settings, engine: (before[0] ?? after[0])?.engine ?? null, tallies })
  const kept = tallies.flatMap(({ keptMs, windowMs = 0 }) => keptMs == null ? [] : [{ windowMs, keptMs }])
  /** @type {{ windowMs?: number, keptMs?: number }[]} */
  const [reach = {}] = kept.sort((one, other) => one.keptMs - other.keptMs)
  const nodes = nodesOf(before, after, decidedOf({ items: summary.items, refused: summary.refusedBy }))
  return { ...summary, ...reach, nodes }
}

/** @param {NodeFigures[]} before @param {NodeFigures[]} after @param {number} items */
function nodesOf (before, after, items) {
  return after.flatMap((node) => {
    const then = before.find((one) => one.address === node.address)
    // a node that was restarted or changed its role has no difference
    if (then?.runId !== node.runId || then.role !== node.role) return []
    return [{ role: node.role, cpuMicrosPerItem: perItem((node.cpuSeconds - then.cpuSeconds) * 1e6, items) }]
  })
}

/**
 * 0 = done, or stopped with everything flushed; 1 = failed, or items unacknowledged; 3 = done, but input lines were refused, for
 * another reason than a newer version of their id
 * @param {any} settings @param {Tally[]} tallies @param {Error | null} error
 */
export function exitStatusOf ({ source }, tallies, error) {
  // of the whole run, with warm-up
  const account = addAccounts(tallies.map((tally) => tally.account))
  if (error) return /** @type {any} */ (error).exitStatus ?? 1
  if (account.failed > 0) return 1
  return ['stdin', 'file'].includes(source) && refusedOf(account) > (account.refused.late ?? 0) ? 3 : 0
}
