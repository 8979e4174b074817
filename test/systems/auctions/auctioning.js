/** A gateway and a reader with auctions, for tests. */
import { startConsumers, startGateway, startReader } from '../../services.js'

const JSON_HEADERS = { 'content-type': 'application/json' }
const HOUR_MS = 3_600_000

/**
 * @param {(method: string, path: string, body?: string, headers?: Record<string, string>) => Promise<any>} send of a gateway
 */
function commandsAt (send) {
  /** @param {string} method @param {string} path @param {any} body a text is sent as it is @param {string | null} [key] */
  const order = (method, path, body, key = null) =>
    send(method, `/v1/auctions/${path}`, typeof body === 'string' ? body : JSON.stringify(body),
      { ...JSON_HEADERS, ...(key === null ? {} : { 'idempotency-key': key }) })
  return {
    order,
    /** @param {string} id @param {Record<string, any>} [terms] */
    create: (id, terms) => order('PUT', id, termsOf(terms)),
    /** @param {string} id @param {string} userId @param {any} amount @param {{ key?: string, max?: any }} [options] */
    bid: (id, userId, amount, { key, max } = {}) =>
      order('POST', `${id}/bids`, { userId, amount, ...(max === undefined ? {} : { max }) }, key),
    /** @param {string} id */
    close: (id) => order('POST', `${id}/close`, {}),
    /** @param {string} id @param {string} userId */
    buy: (id, userId) => order('POST', `${id}/buy-now`, { userId })
  }
}

/** @param {Record<string, any>} [terms] */
export const termsOf = (terms = {}) =>
  ({ startPrice: '10.00', minIncrement: '1.00', closeAt: Date.now() + HOUR_MS, currency: 'EUR', ...terms })

/** @param {import('tap').Test} t @param {import('../../services.js').Options} options */
export async function startAuctionGateway (t, options) {
  const gateway = await startGateway(t, options)
  return { ...gateway, ...commandsAt(gateway.send) }
}

/**
 * @param {import('tap').Test} t
 * @param {{ primary: { url: string }, keyPrefix?: string, gatewayFlags?: string[], readerFlags?: string[], partitions?: number }} options
 */
export async function startAuctions (t, { primary, keyPrefix = 'fr:', gatewayFlags = [], readerFlags = [], partitions = 2 }) {
  const place = { redisUrl: primary.url, keyPrefix }
  const flags = ['--system-partitions', String(partitions)]
  const [gateway, reader] = await Promise.all([
    startAuctionGateway(t, { ...place, flags: [...flags, ...gatewayFlags] }),
    startReader(t, { ...place, flags: readerFlags }),
    startConsumers(t, { ...place, flags: [...flags, '--systems', 'auctions'] })
  ])
  /** @param {string} id @param {string} [rest] of its path */
  const auction = async (id, rest = '') => (await reader.get(`/v1/auctions/${id}${rest}`)).json
  return { gateway, reader, auction }
}
