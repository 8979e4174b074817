/**
 * What became of the items of an arm, summed over levels and rounds: planned, sent, acknowledged, missing (L3), and by kind
 * what was not accepted (L4).
 *
 *     offered = sent + unsent             unsent = dropped + refused: both happen before sending
 *     sent = acknowledged + missing       missing: an error, or no reply in time
 *     acknowledged = present + lost       lost: the servers do not hold what they acknowledged
 */
import { countEach, sumByName } from '../analysis/counts.js'
import { count } from './numbers.js'

/** @typedef {import('../run/sample.js').Sample} Sample */

/**
 * @typedef {object} Account items, but for `measurements` and `ended`
 * @property {number} measurements
 * @property {number | null} planned null: as fast as possible
 * @property {number} sent
 * @property {number} acknowledged
 * @property {number} missing of what was sent
 * @property {number} unsent
 * @property {number} lost of all acknowledged items, including warm-up
 * @property {Record<string, number>} refused by code
 * @property {number} dropped
 * @property {number} retried items sent again
 * @property {Record<string, number>} ended measurements that ended with an error, by its code
 */

/** @param {Sample[]} samples @returns {Account} */
export function accountOf (samples) {
  const sum = (/** @type {(sample: Sample) => number} */ read) => samples.reduce((total, sample) => total + read(sample), 0)
  const isPlanned = samples.length > 0 && samples.every(({ planned, error }) => planned !== null || error !== null)
  const refused = sumByName(samples.map(({ refused }) => refused))
  const dropped = sum(({ dropped }) => dropped)
  const unsent = dropped + Object.values(refused).reduce((total, n) => total + n, 0)
  return {
    measurements: samples.length,
    planned: isPlanned ? sum(({ planned }) => planned ?? 0) : null,
    sent: sum(({ offered }) => offered) - unsent,
    acknowledged: sum(({ items }) => items),
    missing: sum(({ failed }) => failed),
    unsent,
    lost: sum(({ itemsAcknowledged, itemsPresent }) => itemsAcknowledged - itemsPresent),
    refused,
    dropped,
    retried: sum(({ retried }) => retried),
    ended: countEach(samples.flatMap(({ error }) => error ? [error.code] : []))
  }
}

/**
 * The same for HTTP requests.
 * @param {Sample[]} samples
 * @returns {{ planned: number | null, sent: number, answered: number, errors: number, timeouts: number } | null} null:
 *   none were sent; `planned` null: a closed loop
 */
export function requestsOf (samples) {
  const all = samples.flatMap(({ serving }) => serving ? [serving.requests] : [])
  if (all.length === 0) return null
  const { planned, sent, answered, errors, timeouts } = sumByName(all.map(({ byStatus: _, planned, ...rest }) =>
    ({ ...rest, planned: planned ?? NaN })))
  return { planned: Number.isNaN(planned) ? null : planned, sent, answered, errors, timeouts }
}

/** @param {Account} account @returns {string[]} what was limited (L13), one line a kind; comes first, because it affects all figures */
export const limitsOf = ({ refused, dropped }) => [
  ...Object.entries(refused).filter(([, n]) => n > 0).map(([code, n]) => `${count(n)} items refused (${code})`),
  ...(dropped ? [`${count(dropped)} items dropped`] : [])
]

/** @param {Account} account @returns {string[]} what did not succeed, one line a kind */
export const otherOutcomesOf = (account) => [
  ...limitsOf(account),
  ...(account.missing ? [`${count(account.missing)} items without a reply`] : []),
  ...(account.retried ? [`${count(account.retried)} items retried`] : []),
  ...Object.entries(account.ended).map(([code, n]) => `${n} ${n === 1 ? 'measurement' : 'measurements'} ended by ${code}`)
]
