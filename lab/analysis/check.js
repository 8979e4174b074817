/**
 * Validates samples and result files: acknowledged items are on the servers, sums add up, percentiles are in order. A sample
 * that fails is INVALID and is not in any figure; a file that fails is damaged or was edited.
 *
 * @typedef {import('./index.js').Result} Result
 * @typedef {import('../run/sample.js').Sample} Sample
 * @typedef {import('../systems/invariants.js').Invariant} Invariant
 */
import { contradictionsOf, lacksOf } from './contradictions.js'
import { belowZero, percentilesInOrder } from './percentiles.js'
import { AA_SUFFIX } from '../plan/index.js'
import { servingInvariants } from '../serving/figures.js'
import { holds } from '../systems/invariants.js'

/** @param {Record<string, number>} refused */
const sum = (refused) => Object.values(refused).reduce((total, n) => total + n, 0)

/**
 * The invariants of a sample.
 * @param {Omit<Sample, 'invariants' | 'valid'>} sample
 * @returns {Invariant[]}
 */
export function invariantsOf (sample) {
  const { ledger, offered, items, dropped, failed, itemsAcknowledged, itemsPresent, serving } = sample
  const refused = sum(sample.refused)
  return [
    holds('items acknowledged are present', itemsPresent === itemsAcknowledged && ledger.missing === 0,
      `${itemsAcknowledged} acknowledged, ${itemsPresent} present, ${ledger.missing} ` +
        `missing${ledger.released ? `; maxItems has dropped ${ledger.released} of these` : ''}`),
    holds('nothing is present that was not acknowledged', ledger.foreign === 0, `${ledger.foreign} foreign`),
    holds('items are in order', ledger.misplaced === 0, `${ledger.misplaced} misplaced`),
    holds('offered items add up', offered === items + refused + dropped + failed,
      `${offered} offered; ${items} acknowledged + ${refused} refused + ${dropped} dropped + ${failed} failed`),
    holds('items of the window are among those acknowledged', items <= itemsAcknowledged, `${items} of ${itemsAcknowledged}`),
    holds('items were acknowledged', items > 0, `${items} items`),
    notBelowZero(sample),
    holds('percentiles are in order', [sample.behindMs, sample.flushMs ?? null].every(percentilesInOrder),
      JSON.stringify([sample.behindMs, sample.flushMs])),
    ...(ledger.nodesEqual === undefined
      ? []
      : [holds('replicas hold the same as the primary', ledger.nodesEqual,
          ledger.nodesEqual ? 'same digest on all nodes' : 'digests differ')]),
    ...(serving
      ? [...servingInvariants(serving),
          holds('percentiles of latency are in order', percentilesInOrder(serving.latencyMs), JSON.stringify(serving.latencyMs)),
          ...responseInvariants(serving, itemsAcknowledged)]
      : [])
  ]
}

/** @param {object} sample or its figures @returns {Invariant} */
export function notBelowZero (sample) {
  const faults = belowZero(sample)
  return holds('no latency is below 0', faults.length === 0, faults.join(', ') || 'none')
}

/**
 * The greatest number of a writer in any response is how many items it must have written by then.
 * @param {NonNullable<Sample['serving']>} serving
 * @param {number} itemsAcknowledged
 */
function responseInvariants ({ answers: { newest } }, itemsAcknowledged) {
  if (!newest) return []
  const shown = newest.reduce((sum, number) => sum + number, 0)
  return [holds('responses hold nothing that was not acknowledged', shown <= itemsAcknowledged,
    `the newest items in responses are number ${newest.join(', ')}; ${itemsAcknowledged} were acknowledged by the end`)]
}

/**
 * Validates a stored result. Invariants are calculated again, not taken from the file.
 * @param {Result} result
 * @returns {{ faults: string[], samples: number, invalid: number, ended: number }} `faults`: contradictions; samples marked
 *   INVALID, or ended by an error, are no faults
 */
export function checkResult (result) {
  return {
    faults: [...result.samples.flatMap((sample, i) => faultsOf(sample, i, result)), ...faultsOfRun(result)],
    samples: result.samples.length,
    invalid: result.samples.filter((sample) => !sample?.error && !sample?.valid).length,
    ended: result.samples.filter((sample) => sample?.error).length
  }
}

/** @param {Sample} sample @param {number} i @param {Result} result @returns {string[]} */
function faultsOf (sample, i, result) {
  if (sample === null || typeof sample !== 'object') return [`sample ${i + 1}: ${JSON.stringify(sample)}; expected a sample`]
  const of = `sample ${i + 1} (${sample.arm}, ${sample.level}, round ${sample.round})`
  if (sample.error) return sample.valid ? [`${of}: ended by ${sample.error.code}, but is marked valid`] : []
  const lacking = lacksOf(sample)
  if (lacking.length) return [`${of}: lacks ${lacking.join(', ')}`]
  if (!sample.valid) return []
  // those of bids follow from their history, which is no part of a result
  const invariants = sample.decided ? sample.invariants : invariantsOf(sample)
  const broken = invariants.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: no (${detail})`)
  return [...broken, ...contradictionsOf(sample), ...plannedUnlike(sample, result)].map((fault) => `${of}: ${fault}`)
}

/** Planned items, calculated from the settings of the run where they are stored. @param {Sample} sample @param {Result} result */
function plannedUnlike ({ arm, level, planned }, { effective, settings }) {
  const of = effective?.[level]?.[arm.replace(AA_SUFFIX, '')]
  if (of === undefined) return []
  const due = of.rate > 0 ? of.rate * (of.writers ?? 1) * settings.seconds : null
  return planned === due ? [] : [`planned ${planned}; expected ${due} by its settings`]
}

/** @param {Result} result @returns {string[]} faults among its samples */
function faultsOfRun ({ engine, finishedAt, settings, plan, samples: stored }) {
  const samples = stored.filter((sample) => sample !== null && typeof sample === 'object')
  const cells = new Set(samples.map(({ arm, level, round }) => JSON.stringify([level, arm, round])))
  const measured = new Set(samples.flatMap(({ nodes }) => Array.isArray(nodes) ? nodes.map((node) => node?.engine) : []))
  const isNamed = [...measured].sort().join() === String(engine).split(', ').filter(Boolean).sort().join()
  const [baseline, again] = [plan.baseline, plan.baseline + AA_SUFFIX]
  const countOf = (/** @type {string} */ level, /** @type {string} */ of) =>
    samples.filter((sample) => sample.level === level && sample.arm === of).length
  const unpaired = finishedAt
    ? [...new Set(samples.map(({ level }) => level))].filter((level) => countOf(level, baseline) !== countOf(level, again))
    : []
  return [
    ...(cells.size === samples.length ? [] : [`${samples.length - cells.size} measurements are duplicates (same level, arm and round)`]),
    ...(!finishedAt || stored.length === settings.measurements ? [] : [`${stored.length} samples; expected ${settings.measurements}`]),
    ...(isNamed ? [] : [`engine ${JSON.stringify(engine)}; the samples have ${[...measured].sort().join(', ') || 'none'}`]),
    ...unpaired.map((level) =>
      `${level}: ${countOf(level, again)} samples of ${again}; expected as many as of ${baseline}, ${countOf(level, baseline)}`)
  ]
}
