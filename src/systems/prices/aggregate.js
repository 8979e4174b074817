/**
 * One price from the ticks of several sources. A pure function, in exact decimals; only a mean is cut off, after at least 18 significant
 * digits.
 *
 *     1  a tick is dropped if its price is no number (`nan`) or not above 0 (`negative`), or if it is older than 60 s (`old`) or more than
 *        2 s ahead (`ahead`); `old` is less where the price would have expired by then
 *     2  a tick further than 5 % from the median is dropped (`outlier`). Two ticks are then dropped both, unless one is near the
 *        last price and that has not expired: it counts alone
 *     3  what is left must be a quorum, which is two; one, where there is only one source (of a user)
 *     4  the price is the mean weighted by volume, or without any volume the median; a volume that is no number counts as none. Its time is
 *        the median of the times of its sources, of two the older
 *     5  a move of more than 20 % from the last price needs every source, and more of them than a quorum. Fewer make it a candidate,
 *        which is confirmed by a refresh not further than 5 % away that another source agrees with, or that comes 60 s later
 *
 * @typedef {import('./decimals.js').Decimal} Decimal
 * @typedef {import('./sources/sources.js').Tick} Tick
 * @typedef {{ exchange: string, ok: boolean, ts?: number, reason?: string }} Source `ok`: it counted; `reason`: why not
 * @typedef {{ price: string, sinceMs: number, exchanges: string[] }} Candidate of a move that is not confirmed: since when it is seen, and
 *   the sources that agreed on it first
 * @typedef {{ price: string, asOf: number, sources: Source[] }
 *   | { failure: 'all_failed' | 'no_quorum' | 'moved', candidate: Candidate | null, sources: Source[] }} Aggregate
 *   `price`: decimal text; `asOf`: its time by its sources, ms since 1970
 * @typedef {{ exchange: string, price: Decimal, volume: Decimal, ts: number }} Quote
 */
import { compare, compareDistance, decimalOf, meanOf, middleOf, textOf } from './decimals.js'
import { TIERS } from './settings.js'

const MAX_AGE_MS = 60_000
const MAX_AHEAD_MS = 2_000
const CONFIRMED_AFTER_MS = 60_000
const QUORUM = 2
/** Shares in percent. */
const OUTLIER = Object.freeze({ digits: 5n, exponent: 0 })
const MOVE = Object.freeze({ digits: 20n, exponent: 0 })
const NONE = Object.freeze({ digits: 0n, exponent: 0 })

/**
 * @param {readonly Tick[]} ticks one of each source
 * @param {{ nowMs: number, last: { price: string, hard: number } | null, candidate: Candidate | null, hardMs?: number,
 *   quorum?: number }} options `last`:
 *   the price before, and when it expires; `candidate`: of the refresh before; `hardMs`: age at which the price expires
 * @returns {Aggregate}
 */
export function aggregate (ticks, { nowMs, last, candidate, hardMs = MAX_AGE_MS, quorum = QUORUM }) {
  const before = last !== null && nowMs < last.hard ? decimalOf(last.price) : null
  /** @type {Map<string, string>} why a source does not count */
  const dropped = new Map()
  const oldest = nowMs - Math.min(MAX_AGE_MS, hardMs)
  const quotes = ticks.flatMap((tick) => quotesOf(tick, { nowMs, oldest }, dropped))
  const counted = agreeing(quotes, before)
  for (const { exchange } of quotes) if (!counted.some((one) => one.exchange === exchange)) dropped.set(exchange, 'outlier')
  const sources = ticks.map((tick) => sourceOf(tick, dropped.get(tick.exchange)))

  if (quotes.length === 0) return { failure: 'all_failed', candidate: null, sources }
  const isChosen = quotes.length === 2 && counted.length === 1
  if (quotes.length < quorum || (counted.length < quorum && !isChosen)) return { failure: 'no_quorum', candidate: null, sources }
  const price = priceOf(counted)
  // a pending candidate is compared with the price that it would replace, even after that price has expired
  const reference = last !== null && candidate !== null ? decimalOf(last.price) : before
  const isMove = reference !== null && !isNear(price, reference, MOVE)
  const seen = candidate !== null && isNear(price, decimalOf(candidate.price), OUTLIER) ? candidate : null
  const isConfirmed = (counted.length === ticks.length && counted.length > QUORUM) || (seen !== null &&
    (nowMs - seen.sinceMs >= CONFIRMED_AFTER_MS || counted.some(({ exchange }) => !seen.exchanges.includes(exchange))))
  if (!isMove || isConfirmed) return { price: textOf(price), asOf: Math.min(nowMs, timeOf(counted)), sources }
  const first = seen ?? { sinceMs: nowMs, exchanges: counted.map(({ exchange }) => exchange) }
  // the clock may have gone back since
  const sinceMs = Math.min(first.sinceMs, nowMs)
  return { failure: 'moved', candidate: { ...first, sinceMs, price: textOf(price) }, sources }
}

/** @param {Quote[]} quotes at least one @returns {number} the median, of an even number the older of the middle two */
const timeOf = (quotes) => quotes.map(({ ts }) => ts).sort((a, b) => a - b)[(quotes.length - 1) >> 1]

/**
 * @param {Tick} tick @param {{ nowMs: number, oldest: number }} times @param {Map<string, string>} dropped
 * @returns {Quote[]} one, or none and a reason in `dropped`
 */
function quotesOf (tick, { nowMs, oldest }, dropped) {
  const drop = (/** @type {string} */ reason) => {
    dropped.set(tick.exchange, reason)
    return []
  }
  if (!tick.ok) return drop(tick.reason)
  const { exchange, ts } = tick
  const price = decimalOf(tick.price)
  if (price === null) return drop('nan')
  if (price.digits <= 0n) return drop('negative')
  if (ts < oldest) return drop('old')
  if (ts > nowMs + MAX_AHEAD_MS) return drop('ahead')
  const volume = decimalOf(tick.volume) ?? NONE
  return [{ exchange, price, volume: volume.digits > 0n ? volume : NONE, ts }]
}

/** @param {Tick} tick @param {string | undefined} reason @returns {Source} */
const sourceOf = (tick, reason) => ({
  exchange: tick.exchange,
  ok: reason === undefined,
  ...(tick.ok ? { ts: tick.ts } : {}),
  ...(reason === undefined ? {} : { reason })
})

/** @param {Quote[]} quotes @param {Decimal | null} before @returns {Quote[]} without outliers */
function agreeing (quotes, before) {
  if (quotes.length === 0) return []
  const median = medianOf(quotes)
  const near = quotes.filter(({ price }) => isNear(price, median, OUTLIER))
  if (quotes.length !== 2 || near.length === 2) return near
  return quotes.filter(({ price }) => isNear(price, before, OUTLIER))
}

/** Whether a price is at most so far from another one. @param {Decimal} price @param {Decimal | null} to @param {Decimal} percent */
const isNear = (price, to, percent) => to !== null && compareDistance(price, to, percent) <= 0

/** @param {Quote[]} quotes at least one */
const priceOf = (quotes) => quotes.some(({ volume }) => volume.digits > 0n)
  ? meanOf(quotes.map(({ price }) => price), quotes.map(({ volume }) => volume))
  : medianOf(quotes)

/** @param {Quote[]} quotes at least one @returns {Decimal} */
function medianOf (quotes) {
  const prices = quotes.map(({ price }) => price).sort(compare)
  const middle = prices.length >> 1
  return prices.length % 2 === 1 ? prices[middle] : middleOf(prices[middle - 1], prices[middle])
}

/**
 * A refresh, by the process that owns the partition of the asset: all sources are asked at once, what they say becomes one price or a
 * failure, and rule `latest` stores it and plans the next refresh.
 *
 * An older owner that goes on is harmless: its refresh began earlier, so the rule refuses it.
 */

const RULE = 'latest'

/** @param {any[]} flat a reply to HGETALL @returns {Record<string, string>} */
const fieldsIn = (flat) => Object.fromEntries(flat.flatMap((name, i) => i % 2 === 0 ? [[String(name), String(flat[i + 1])]] : []))

/** @param {string} tier @param {string} tiers refresh, soft and hard ms of each @returns {number} hard */
const hardMsOf = (tier, tiers) => Number(tiers.split(' ')[3 * TIERS.indexOf(tier) + 2])

/**
 * @param {object} parts
 * @param {Pick<import('./sources/sources.js').Sources, 'ticks' | 'noteOld'>} parts.sources
 * @param {Pick<import('freshet-feed/systems').ConsumerParts, 'submit' | 'partitionOf' | 'keyOf'>} parts.admission
 * @param {import('freshet-feed/systems').ConsumerParts['connectionOf']} parts.connectionOf the primary
 * @param {(outcome: string, seconds: number) => void} parts.onRefresh `outcome`: price, stale, all_failed, no_quorum, moved,
 *   not_stored
 * @returns {(asset: string) => Promise<void>} errors: the primary does not answer
 */
export function createRefresher ({ sources, admission: { submit, partitionOf, keyOf }, connectionOf, onRefresh }) {
  return async (asset) => {
    const partition = partitionOf(asset)
    const since = performance.now()
    const [[seconds, micros], flat] = await connectionOf(partition)
      .sendAll([['TIME'], ['HGETALL', keyOf(partition)(`state:${asset}`)]])
    const startedMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
    const { price, hard, candidate, tier, tiers } = fieldsIn(flat)
    const ticks = await sources.ticks(asset)
    const found = aggregate(ticks, {
      nowMs: Math.floor(startedMs + performance.now() - since),
      last: price ? { price, hard: Number(hard) } : null,
      candidate: candidate?.startsWith('{') ? JSON.parse(candidate) : null,
      hardMs: hardMsOf(tier, tiers),
      quorum: Math.min(QUORUM, ticks.length)
    })
    for (const { exchange, reason } of found.sources) if (reason === 'old') sources.noteOld(exchange)
    const sourcesText = JSON.stringify(found.sources)
    const args = 'failure' in found
      ? ['fail', String(startedMs), found.failure, found.candidate ? JSON.stringify(found.candidate) : '', sourcesText]
      : ['price', String(startedMs), found.price, sourcesText, String(found.asOf)]
    const { code } = await submit({ rule: RULE, key: asset, scope: '', requestId: '', args }).catch((error) => {
      onRefresh('not_stored', (performance.now() - since) / 1000)
      throw error
    })
    onRefresh(code === 'accepted' ? 'failure' in found ? found.failure : 'price' : code, (performance.now() - since) / 1000)
  }
}
