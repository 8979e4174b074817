/**
 * Whether a sample, and a result file, can be believed: what was acknowledged is what the servers hold, sums add up,
 * percentiles are in order. A sample that fails is INVALID and enters no figure; a file that fails was not written by
 * an honest run.
 *
 * @typedef {import('./measures.js').Sample} Sample
 * @typedef {{ name: string, ok: boolean, detail: string }} Invariant
 */

import { servingInvariants } from './serving/figures.js'

const PERCENTILES = /** @type {const} */ (['p50', 'p95', 'p99', 'max'])

/** @param {{ p50: number, p95: number, p99: number, max: number } | null} behindMs @returns {boolean} L6 */
export const percentilesInOrder = (behindMs) => behindMs === null ||
  PERCENTILES.every((name, i) => Number.isFinite(behindMs[name]) && behindMs[name] >= (i === 0 ? 0 : behindMs[PERCENTILES[i - 1]]))

/** @param {Record<string, number>} refused */
const sum = (refused) => Object.values(refused).reduce((total, n) => total + n, 0)

/**
 * What must hold of a sample whatever its figures are.
 * @param {Omit<Sample, 'invariants' | 'valid'>} sample
 * @returns {Invariant[]}
 */
export function invariantsOf (sample) {
  const { ledger, offered, items, dropped, failed, itemsAcknowledged, itemsPresent, serving } = sample
  const refused = sum(sample.refused)
  return [
    holds('items acknowledged are present', itemsPresent === itemsAcknowledged && ledger.missing === 0,
      `${itemsAcknowledged} acknowledged, ${itemsPresent} present, ${ledger.missing} missing`),
    holds('nothing is present that was not acknowledged', ledger.foreign === 0 || failed > 0, `${ledger.foreign} foreign`),
    holds('newest first is right', ledger.misplaced === 0, `${ledger.misplaced} misplaced`),
    holds('offered items add up', offered === items + refused + dropped + failed,
      `${offered} offered; ${items} acknowledged + ${refused} refused + ${dropped} dropped + ${failed} failed`),
    holds('acknowledged in the window and before add up', items <= itemsAcknowledged, `${items} of ${itemsAcknowledged}`),
    holds('something was acknowledged', items > 0, `${items} items`),
    holds('percentiles are in order', percentilesInOrder(sample.behindMs), JSON.stringify(sample.behindMs)),
    ...(ledger.nodesEqual === undefined ? [] : [holds('replicas hold what the primary holds', ledger.nodesEqual, ledger.nodesEqual ? 'same digest on all nodes' : 'digests differ')]),
    ...(serving ? [...servingInvariants(serving), holds('percentiles of latency are in order', percentilesInOrder(serving.latencyMs), JSON.stringify(serving.latencyMs))] : [])
  ]
}

/** @param {string} name @param {boolean} ok @param {string} detail @returns {Invariant} */
const holds = (name, ok, detail) => ({ name, ok, detail })

/**
 * Looks a result through as it was stored. What the samples say of themselves is worked out anew, not believed.
 * @param {import('./analysis.js').Result} result
 * @returns {{ faults: string[], samples: number, invalid: number }} `faults`: contradictions; samples that are INVALID
 *   and say so are no fault
 */
export function checkResult (result) {
  /** @type {string[]} */
  const faults = []
  let invalid = 0
  for (const [i, sample] of result.samples.entries()) {
    const of = `sample ${i + 1} (${sample.arm}, ${sample.level}, round ${sample.round})`
    if (sample.error) {
      invalid++
      if (sample.valid) faults.push(`${of}: ended by ${sample.error.code} and calls itself valid`)
      continue
    }
    const lacking = ['arm', 'level', 'round', 'items', 'itemsAcknowledged', 'itemsPresent', 'seconds', 'nodes', 'invariants', 'ledger', 'refused'].filter((name) => /** @type {any} */ (sample)[name] === undefined)
    if (lacking.length) {
      faults.push(`${of}: lacks ${lacking.join(', ')}`)
      continue
    }
    const broken = invariantsOf(sample).filter(({ ok }) => !ok)
    if (sample.valid) for (const { name, detail } of broken) faults.push(`${of}: ${name}: no (${detail})`)
    if (sample.valid && sample.invariants.some(({ ok }) => !ok)) faults.push(`${of}: calls itself valid with an invariant that failed`)
    if (!sample.valid) invalid++
    if (!(sample.seconds > 0)) faults.push(`${of}: seconds ${sample.seconds}`)
  }
  const rounds = new Set(result.samples.map(({ arm, level, round }) => `${level}\n${arm}\n${round}`))
  if (rounds.size !== result.samples.length) faults.push(`${result.samples.length - rounds.size} measurements are there twice (same level, arm and round)`)
  if (result.finishedAt && result.samples.length < result.settings.measurements) faults.push(`${result.samples.length} samples; expected ${result.settings.measurements}`)
  return { faults, samples: result.samples.length, invalid }
}
