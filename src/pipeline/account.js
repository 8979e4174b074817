/**
 * What became of every item offered. Each ends in exactly one of items (acknowledged), refused, dropped or failed, so
 * once nothing is under way: offered = items + refused + dropped + failed.
 *
 * @typedef {ReturnType<typeof newAccount>} Account
 */

export const newAccount = () => ({
  offered: 0,
  items: 0,
  dropped: 0,
  failed: 0,
  /** items sent again */
  retried: 0,
  /** acknowledged */
  batches: 0,
  /** of acknowledged values */
  bytes: 0,
  /** how often the server took no batch */
  full: 0,
  /** how often no replica confirmed a group of batches in time */
  unconfirmed: 0,
  /** @type {Record<string, number>} by reason */
  refused: {}
})

/** @param {Account} account @param {string} code of an error, or a reason @param {number} [n] */
export function countRefused ({ refused }, code, n = 1) {
  const reason = code.replace(/^ITEM_/, '').toLowerCase()
  refused[reason] = (refused[reason] ?? 0) + n
}

/** @param {Account} account */
export const refusedOf = ({ refused }) => Object.values(refused).reduce((sum, n) => sum + n, 0)

/** @param {Account[]} accounts @returns {Account} their sum */
export function addAccounts (accounts) {
  const total = newAccount()
  for (const { refused, ...numbers } of accounts) {
    for (const [name, n] of Object.entries(numbers)) /** @type {any} */ (total)[name] += n
    for (const [reason, n] of Object.entries(refused)) countRefused(total, reason, n)
  }
  return total
}

/**
 * What happened since the account was as `before`. Items that were under way then count as offered since, so that the
 * sum holds here too: offered = items + refused + dropped + failed once nothing is under way. What failed was under way
 * until the end, so all of it belongs here, and no loss is left out with the time before.
 * @param {Account} account @param {Account} before an earlier copy of it @returns {Account}
 */
export function accountSince (account, before) {
  const since = newAccount()
  const { refused, ...numbers } = account
  for (const [name, n] of Object.entries(numbers)) /** @type {any} */ (since)[name] = n - /** @type {any} */ (before)[name]
  for (const [reason, n] of Object.entries(refused)) {
    const more = n - (before.refused[reason] ?? 0)
    if (more > 0) countRefused(since, reason, more)
  }
  since.failed = account.failed
  since.offered += before.offered - before.items - before.dropped - refusedOf(before)
  return since
}
