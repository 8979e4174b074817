/**
 * Rows of the table: one for each price, which never changes, and one `LATEST` for each asset. Here all values are texts; DynamoDB names
 * the type of each.
 *
 *     asset     at                  version  price ...
 *     btc-usd   0001795467901123    17       63012.5
 *     btc-usd   LATEST              17       63012.5     after all digits, so a query by time does not find it
 *
 * @typedef {import('freshet-feed/systems').RawEntry} Entry
 * @typedef {Record<string, string>} Row
 * @typedef {Record<string, { S: string } | { N: string }>} Item
 */
export const LATEST = 'LATEST'
const DIGITS = 16
const NUMBERS = Object.freeze(['version', 'ts', 'asOf', 'soft', 'hard', 'ttl'])

/** @param {number | string} ms since 1970 @returns {string} */
export const sortKey = (ms) => String(ms).padStart(DIGITS, '0')

/**
 * @param {Entry} entry of type `price` @param {number} keepMs
 * @returns {Row} deleted by DynamoDB at `ttl`, s since 1970
 */
export const rowOf = ({ key, fields: { price, at, asOf = at, seq, sources, soft, hard, tier } }, keepMs) => {
  const ttl = String(Math.ceil((Number(at) + keepMs) / 1000))
  return { asset: key, at: sortKey(at), price, version: seq, asOf, sources, soft, hard, tier, ttl }
}

/** @param {Row} row @returns {Row} the row LATEST with its price */
export const latestOf = ({ at, ttl: _ttl, ...row }) => ({ ...row, at: LATEST, ts: String(Number(at)) })

/** @param {Row} row LATEST @returns {import('freshet-feed/systems').State} what the servers would have of a price */
export const fieldsOf = ({ price, ts, asOf = ts, version, sources, soft, hard, tier }) =>
  ({ price, ts, asOf, seq: version, sources, soft, hard, tier, failures: '0' })

/** @param {Row} one @param {Row} other of the same asset @returns {boolean} */
export const isNewer = (one, other) => one.at > other.at || (one.at === other.at && Number(one.version) > Number(other.version))

/** @param {Row} row @returns {Item} */
export const itemOf = (row) => Object.fromEntries(Object.entries(row).map(([name, text]) =>
  [name, NUMBERS.includes(name) ? { N: text } : { S: text }]))

/** @param {Item} item @returns {Row} */
export const textsOf = (item) => Object.fromEntries(Object.entries(item).map(([name, value]) => [name, 'S' in value ? value.S : value.N]))
