/**
 * Rows of the table: one for each price, which never changes, and one `LATEST` for each asset.
 *
 *     asset     at                  version  price ...
 *     btc-usd   0001795467901123    17       63012.5
 *     btc-usd   LATEST              17       63012.5     after all digits, so a query by time does not find it
 *
 * @typedef {import('../../../admission/index.js').Entry} Entry
 * @typedef {Record<string, { S: string } | { N: string }>} Item
 * @typedef {{ price: string, ts: number, asOf: number, seq: number, soft: number, hard: number, tier: string,
 *   sources: { exchange: string, ok: boolean, ts?: number, reason?: string }[] }} StoredPrice `price`: decimal text; `ts`, `asOf`, `soft`,
 *   `hard`: ms since 1970
 */
export const LATEST = 'LATEST'
const DIGITS = 16

/** @param {number | string} ms since 1970 @returns {string} */
export const sortKey = (ms) => String(ms).padStart(DIGITS, '0')

/**
 * @param {Entry} entry of type `price` @param {number} keepMs
 * @returns {Item} deleted by DynamoDB at `ttl`, s since 1970
 */
export const rowOf = ({ key, fields: { price, at, asOf = at, seq, sources, soft, hard, tier } }, keepMs) => ({
  asset: { S: key },
  at: { S: sortKey(at) },
  price: { S: price },
  version: { N: seq },
  asOf: { N: asOf },
  sources: { S: sources },
  soft: { N: soft },
  hard: { N: hard },
  tier: { S: tier },
  ttl: { N: String(Math.ceil((Number(at) + keepMs) / 1000)) }
})

/** @param {Item} row @returns {Item} the row LATEST with its price */
export function latestOf ({ at, ttl: _ttl, ...row }) {
  return { ...row, at: { S: LATEST }, ts: { N: String(Number(textOf(at))) } }
}

/** @param {Item} one @param {Item} other of the same asset @returns {boolean} */
export const isNewer = (one, other) => textOf(one.at) > textOf(other.at) ||
  (textOf(one.at) === textOf(other.at) && Number(textOf(one.version)) > Number(textOf(other.version)))

/** @param {Item} item LATEST @returns {StoredPrice} */
export const priceOf = ({ price, ts, asOf = ts, version, sources, soft, hard, tier }) => ({
  price: textOf(price),
  ts: Number(textOf(ts)),
  asOf: Number(textOf(asOf)),
  seq: Number(textOf(version)),
  sources: JSON.parse(textOf(sources)),
  soft: Number(textOf(soft)),
  hard: Number(textOf(hard)),
  tier: textOf(tier)
})

/** @param {Item[string]} value @returns {string} */
export const textOf = (value) => 'S' in value ? value.S : value.N
