/**
 * What became of the items of an arm, summed over levels and rounds: planned, sent, answered, missing (L3), and what was
 * not accepted, by kind (L4).
 */

/** @typedef {import('../measures.js').Sample} Sample */

/**
 * @typedef {object} Account items, but for `measurements` and `ended`
 * @property {number} measurements
 * @property {number | null} planned null: as fast as it goes
 * @property {number} sent
 * @property {number} acknowledged
 * @property {Record<string, number>} refused by code
 * @property {number} dropped
 * @property {number} failed
 * @property {number} missing of all that were acknowledged, warm-up included; by what the servers hold
 * @property {number} retried batches
 * @property {Record<string, number>} ended measurements that ended by a fault, by its code
 */

/** @param {Sample[]} samples @returns {Account} */
export function accountOf (samples) {
  const sum = (/** @type {(sample: Sample) => number} */ read) => samples.reduce((total, sample) => total + read(sample), 0)
  const isPlanned = samples.length > 0 && samples.every(({ planned, error }) => planned !== null || error !== null)
  return {
    measurements: samples.length,
    planned: isPlanned ? sum(({ planned }) => planned ?? 0) : null,
    sent: sum(({ offered }) => offered),
    acknowledged: sum(({ items }) => items),
    refused: sumByName(samples.map(({ refused }) => refused)),
    dropped: sum(({ dropped }) => dropped),
    failed: sum(({ failed }) => failed),
    missing: sum(({ itemsAcknowledged, itemsPresent }) => itemsAcknowledged - itemsPresent),
    retried: sum(({ retried }) => retried),
    ended: sumByName(samples.flatMap(({ error }) => error ? [{ [error.code]: 1 }] : []))
  }
}

/** @param {Record<string, number>[]} those @returns {Record<string, number>} */
export function sumByName (those) {
  /** @type {Record<string, number>} */
  const sums = {}
  for (const one of those) for (const [name, n] of Object.entries(one)) sums[name] = (sums[name] ?? 0) + n
  return sums
}

const number = (/** @type {number} */ n) => n.toLocaleString('en')

/** @param {Account} account @returns {string[]} what was limited (L13), one a kind: said first, as it changes what all figures mean */
export const limitsOf = ({ refused, dropped }) => [
  ...Object.entries(refused).filter(([, n]) => n > 0).map(([code, n]) => `${number(n)} items refused (${code})`),
  ...(dropped ? [`${number(dropped)} items dropped`] : [])
]

/** @param {Account} account @returns {string[]} what was not a success, one a kind */
export const otherOutcomesOf = (account) => [
  ...limitsOf(account),
  ...(account.failed ? [`${number(account.failed)} items without an answer`] : []),
  ...(account.retried ? [`${number(account.retried)} batches sent again`] : []),
  ...Object.entries(account.ended).map(([code, n]) => `${n} ${n === 1 ? 'measurement' : 'measurements'} ended by ${code}`)
]
