/**
 * What became of the items of an arm, summed over levels and rounds: planned, sent, answered, missing (L3), and what was
 * not accepted, by kind (L4).
 *
 *     offered = sent + unsent         unsent = dropped + refused: both happen before anything is sent
 *     sent = answered + missing       missing: an error, or no answer in time
 *     answered = there + lost         lost: the servers do not hold what they acknowledged
 */

import { count } from './numbers.js'

/** @typedef {import('../measures.js').Sample} Sample */

/**
 * @typedef {object} Account items, but for `measurements` and `ended`
 * @property {number} measurements
 * @property {number | null} planned null: as fast as it goes
 * @property {number} sent
 * @property {number} answered that is, acknowledged
 * @property {number} missing of what was sent
 * @property {number} unsent
 * @property {number} lost of all that were acknowledged, warm-up included; by what the servers hold
 * @property {Record<string, number>} refused by code
 * @property {number} dropped
 * @property {number} retried items sent again
 * @property {Record<string, number>} ended measurements that ended by a fault, by its code
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
    answered: sum(({ items }) => items),
    missing: sum(({ failed }) => failed),
    unsent,
    lost: sum(({ itemsAcknowledged, itemsPresent }) => itemsAcknowledged - itemsPresent),
    refused,
    dropped,
    retried: sum(({ retried }) => retried),
    ended: sumByName(samples.flatMap(({ error }) => error ? [{ [error.code]: 1 }] : []))
  }
}

/**
 * The same of requests over HTTP.
 * @param {Sample[]} samples
 * @returns {{ planned: number | null, sent: number, answered: number, errors: number, timeouts: number } | null} null:
 *   nothing was asked; `planned` null: each as soon as the one before was answered
 */
export function requestsOf (samples) {
  const all = samples.flatMap(({ serving }) => serving ? [serving.requests] : [])
  if (all.length === 0) return null
  const sum = (/** @type {'sent' | 'answered' | 'errors' | 'timeouts'} */ name) => all.reduce((total, requests) => total + requests[name], 0)
  const isPlanned = all.every(({ planned }) => planned !== null)
  return {
    planned: isPlanned ? all.reduce((total, { planned }) => total + (planned ?? 0), 0) : null,
    sent: sum('sent'),
    answered: sum('answered'),
    errors: sum('errors'),
    timeouts: sum('timeouts')
  }
}

/** @param {Record<string, number>[]} those @returns {Record<string, number>} */
export function sumByName (those) {
  /** @type {Record<string, number>} */
  const sums = {}
  for (const one of those) for (const [name, n] of Object.entries(one)) sums[name] = (sums[name] ?? 0) + n
  return sums
}

/** @param {Account} account @returns {string[]} what was limited (L13), one a kind: said first, as it changes what all figures mean */
export const limitsOf = ({ refused, dropped }) => [
  ...Object.entries(refused).filter(([, n]) => n > 0).map(([code, n]) => `${count(n)} items refused (${code})`),
  ...(dropped ? [`${count(dropped)} items dropped`] : [])
]

/** @param {Account} account @returns {string[]} what was not a success, one a kind */
export const otherOutcomesOf = (account) => [
  ...limitsOf(account),
  ...(account.missing ? [`${count(account.missing)} items without an answer`] : []),
  ...(account.retried ? [`${count(account.retried)} items sent again`] : []),
  ...Object.entries(account.ended).map(([code, n]) => `${n} ${n === 1 ? 'measurement' : 'measurements'} ended by ${code}`)
]
