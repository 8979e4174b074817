/**
 * Counts what became of every item offered. Each item ends in exactly one of items (acknowledged), refused, dropped or
 * failed. When nothing is in flight: offered = items + refused + dropped + failed.
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
  /** of them, compared without the script (layouts/ids-append.js) */
  watched: 0,
  /** of them, compared by the script */
  scripts: 0,
  /** of acknowledged values */
  bytes: 0,
  /** batches that a full server did not accept */
  full: 0,
  /** groups of batches that no replica confirmed in time */
  unconfirmed: 0,
  /** connections that ended with the same batch as the two before */
  blocked: 0,
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

/** Items that the servers decided on: stored, or late. @param {Pick<Account, 'items' | 'refused'>} account */
export const decidedOf = ({ items, refused }) => items + (refused.late ?? 0)

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
 * The difference of two accounts. Items that were in flight at `before` count as offered since then, so the sum above
 * holds for the difference too. All failed items belong to the difference: they were in flight until the end.
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
