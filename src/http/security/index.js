/**
 * Access, HTTPS, other origins and rates of an HTTP server. Without these settings nothing of it runs.
 *
 * @typedef {import('./access.js').Access} Access
 * @typedef {import('./grants.js').Grant} Grant
 * @typedef {{ access: Access | null, tls: import('./tls.js').Tls | null, corsOrigin: readonly string[] | null, rateLimit: number | null,
 *   trustedProxies: readonly string[] | number | null, close: () => void }} Security `rateLimit`: requests per second;
 *   `trustedProxies`: their networks, or how many a request passes
 */
import { openAccess } from './access.js'
import { openTls } from './tls.js'

/**
 * @param {any} settings of the process
 * @param {{ log: import('pino').Logger }} options
 * @returns {Promise<Security>}
 * @throws {import('../errors.js').FreshetError} TOKENS_INVALID, JWT_KEYS_INVALID, CERTIFICATE_INVALID
 */
export async function openSecurity (settings, { log }) {
  const { tokens, jwtKeys, tlsCert, corsOrigin = null, rateLimit = null, trustedProxies = null } = settings
  const access = tokens || jwtKeys ? await openAccess(settings, { log }) : null
  const tls = tlsCert ? await openTls(settings, { log }) : null
  return {
    access,
    tls,
    corsOrigin,
    rateLimit,
    trustedProxies,
    close () {
      access?.close()
      tls?.close()
    }
  }
}

export { readableFeeds } from './access.js'
export { cleanForwarded, trustOf } from './forwarded.js'
export { ALL_FEEDS, FILTERS_IDS, idsOf, permits } from './grants.js'
export { missing, protect } from './guard.js'
