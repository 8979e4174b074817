/**
 * A price as JSON and as HTTP headers.
 *
 *     fresh ── soft expiry ──▶ stale ── hard expiry ──▶ no reply
 *     degraded: the last refresh failed, and the price has not reached its hard expiry
 *
 * @typedef {import('freshet-feed/systems').State} Fields
 * @typedef {'local' | 'server' | 'store' | 'origin'} Level where the price was found
 * @typedef {{ asset: string, fields: Fields, generation: string, level: Level }} PriceState
 * @typedef {{ body: Buffer, headers: Record<string, string>, level: string, status: string, ageMs: number }} Reply `level`: as the header
 *   Freshet-Cache
 */
import { FreshetError } from 'freshet-feed/systems'

/** The status of an asset without a price, by error code. */
export const STATUSES = Object.freeze(/** @type {Record<string, string>} */ ({
  ASSET_UNKNOWN: 'unknown', PRICE_NO_DATA: 'no_data', PRICE_NO_QUORUM: 'no_quorum', PRICE_EXPIRED: 'expired'
}))

/** @param {Fields} fields @param {number} nowMs */
export const isUsable = ({ price, hard }, nowMs) => price !== '' && nowMs < Number(hard)

/** @param {Fields} fields of a usable price @param {number} nowMs @returns {'fresh' | 'stale' | 'degraded'} */
export function statusOf ({ failures, soft }, nowMs) {
  if (failures !== '0') return 'degraded'
  return nowMs < Number(soft) ? 'fresh' : 'stale'
}

/**
 * An asset as followers get it. Without a price that may be served it is null, and the status says why.
 * @param {string} asset @param {Fields} fields @param {number} nowMs
 */
export function eventOf (asset, fields, nowMs) {
  const { price, ts, asOf = ts, tier, seq } = fields
  const isPrice = isUsable(fields, nowMs)
  const status = isPrice ? statusOf(fields, nowMs) : STATUSES[missing(fields).code]
  const [updatedAt, asOfMs] = ts === '0' ? [null, null] : [Number(ts), Number(asOf)]
  return { asset, price: isPrice ? price : null, updatedAt, asOf: asOfMs, tier, status, seq: Number(seq) }
}

/** @param {string} asset @param {Fields} fields @param {string} status @returns {string} JSON */
const textOf = (asset, { price, ts, asOf = ts, tier, seq, sources, failures, failedAt, reason, failedSources }, status) =>
  `{"asset":${JSON.stringify(asset)},"price":"${price}","updatedAt":${ts},"asOf":${asOf},"tier":"${tier}","status":"${status}",` +
  `"seq":${seq},"sources":${sources}` +
  `${failures === '0' ? '' : `,"failed":{"at":${failedAt},"reason":"${reason}","sources":${failedSources}}`}}`

/**
 * The last refresh of an asset without a price, if it failed: why, and what each source replied.
 * @param {Fields | undefined} fields @returns {{ failed?: { at: number, reason: string, sources: object[] } }}
 */
export const failureOf = ({ failures = '0', failedAt = '', reason = '', failedSources = '' } = {}) => failures === '0'
  ? {}
  : { failed: { at: Number(failedAt), reason, sources: JSON.parse(failedSources || '[]') } }

/**
 * Replies of one process; a body is encoded once for each version and status.
 * @param {{ isShared: () => boolean }} options whether caches between client and reader may store replies
 */
export function createEncoder ({ isShared }) {
  /** @type {WeakMap<Fields, { tag: string, body: Buffer }>} */
  const encoded = new WeakMap()

  return {
    /** @param {PriceState} priceState @param {number} nowMs @returns {Reply} */
    replyOf ({ asset, fields, generation, level }, nowMs) {
      const { ts, asOf = ts, soft, hard, seq } = fields
      const status = statusOf(fields, nowMs)
      const tag = `W/"${generation}.${seq}.${ts}.${status}"`
      let cached = encoded.get(fields)
      if (cached?.tag !== tag) {
        cached = { tag, body: Buffer.from(textOf(asset, fields, status)) }
        encoded.set(fields, cached)
      }
      const [lifetime, stale] = [Number(soft) - Number(asOf), Number(hard) - Number(soft)].map((ms) => Math.floor(ms / 1000))
      const ageMs = Math.max(0, nowMs - Number(asOf))
      const shownLevel = status === 'stale' ? 'stale' : level
      return {
        body: cached.body,
        headers: {
          etag: tag,
          age: String(Math.floor(ageMs / 1000)),
          'cache-control': `${isShared() ? 'public' : 'private'}, max-age=${lifetime}, stale-while-revalidate=${stale}`,
          'freshet-cache': shownLevel
        },
        level: shownLevel,
        status,
        ageMs
      }
    }
  }
}

/** Why an asset has no price to serve. @param {Fields} fields @returns {FreshetError} PRICE_NO_DATA, PRICE_NO_QUORUM, PRICE_EXPIRED */
export function missing ({ price, reason, hard, retryAt }) {
  const facts = Number(retryAt) > 0 ? { retryAt: Number(retryAt) } : {}
  if (reason === 'no_quorum' || (price === '' && reason === 'moved')) {
    return new FreshetError('PRICE_NO_QUORUM', 'too few sources agree on a price; try again', facts)
  }
  return price === ''
    ? new FreshetError('PRICE_NO_DATA', 'the asset has no price yet; try again', facts)
    : new FreshetError('PRICE_EXPIRED', `the last price expired at ${hard}, and no refresh has succeeded since; try again`, facts)
}
