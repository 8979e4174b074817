/** A gateway and a reader with sales, for tests. */
import { runGateway } from '../../commands.js'
import { startDeployment } from '../../servers.js'
import { startConsumers, startGateway, startReader } from '../../services.js'

const JSON_HEADERS = { 'content-type': 'application/json' }

/**
 * @param {(method: string, path: string, body?: string, headers?: Record<string, string>) => Promise<any>} send of a gateway
 */
function commandsAt (send) {
  /**
   * @param {string} method @param {string} path @param {any} [body] a text is sent as it is
   * @param {{ key?: string | null, ticket?: string | null }} [headers]
   */
  const order = (method, path, body, { key = null, ticket = null } = {}) =>
    send(method, `/v1/sales/${path}`, body === undefined || typeof body === 'string' ? body : JSON.stringify(body), {
      ...(body === undefined ? {} : JSON_HEADERS),
      ...(key === null ? {} : { 'idempotency-key': key }),
      ...(ticket === null ? {} : { 'freshet-ticket': ticket })
    })
  return {
    order,
    /** @param {string} id @param {Record<string, any>} [terms] */
    create: (id, terms) => order('PUT', id, { stock: 2, mode: 'direct', ...terms }),
    /** @param {string} id @param {string} userId @param {{ key?: string, ticket?: string, quantity?: any }} [options] */
    claim: (id, userId, { quantity, ...headers } = {}) =>
      order('POST', `${id}/claims`, { userId, ...(quantity === undefined ? {} : { quantity }) }, headers),
    /** @param {string} id @param {string} claim @param {string} [userId] */
    confirm: (id, claim, userId) => order('POST', `${id}/claims/${claim}/confirm`, userId && { userId }),
    /** @param {string} id @param {string} claim @param {string} [userId] */
    release: (id, claim, userId) => order('DELETE', `${id}/claims/${claim}`, userId && { userId }),
    /** @param {string} id @param {string} userId @param {string} [key] */
    join: (id, userId, key) => order('POST', `${id}/queue`, { userId }, { key }),
    /** @param {string} id @param {string} userId @param {string} ticket */
    leave: (id, userId, ticket) => order('DELETE', `${id}/queue/${userId}`, undefined, { ticket }),
    /** @param {string} id @param {string} userId @param {string} [key] */
    token: (id, userId, key) => order('POST', `${id}/tokens`, { userId }, { key }),
    /** @param {string} id @param {string} op @param {object} [body] */
    turn: (id, op, body) => order('POST', `${id}/${op}`, body)
  }
}

/** @param {import('tap').Test} t @param {import('../../services.js').Options} options */
export async function startSaleGateway (t, options) {
  const gateway = await startGateway(t, options)
  return { ...gateway, ...commandsAt(gateway.send) }
}

/**
 * As a process of its own, which can be killed, or have another clock.
 * @param {import('tap').Test} t @param {{ redisUrl: string, flags?: string[], env?: Record<string, string> }} options
 */
export async function runSaleGateway (t, options) {
  const gateway = await runGateway(t, options)
  return { ...gateway, ...commandsAt(gateway.send) }
}

/**
 * @param {import('tap').Test} t
 * @param {({ engine: import('../../servers.js').Engine } | { primary: { url: string }, keyPrefix?: string }) & { gatewayFlags?: string[],
 *   readerFlags?: string[], consumerFlags?: string[] }} options on servers of its own, or on that primary
 */
export async function startSales (t, { gatewayFlags = [], readerFlags = [], consumerFlags = [], ...where }) {
  const { primary } = 'primary' in where ? where : await startDeployment(t, { ...where, replicas: 1 })
  const keyPrefix = 'primary' in where && where.keyPrefix ? where.keyPrefix : 'fr:'
  const place = { redisUrl: primary.url, keyPrefix }
  const partitions = ['--system-partitions', '2']
  const [gateway, reader, consumers] = await Promise.all([
    startSaleGateway(t, { ...place, flags: [...partitions, ...gatewayFlags] }),
    startReader(t, { ...place, flags: readerFlags }),
    startConsumers(t, { ...place, flags: [...partitions, '--systems', 'sales', ...consumerFlags] })
  ])
  /** @param {string} id @param {string} [rest] of its path @param {Record<string, string>} [headers] */
  const sale = async (id, rest = '', headers = {}) => (await reader.get(`/v1/sales/${id}${rest}`, headers)).json
  return { ...place, gateway, reader, consumers, sale }
}
