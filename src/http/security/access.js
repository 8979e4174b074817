/** Who may do what: tokens of a file, JSON Web Tokens, or both. */
import { ALL_FEEDS, covers, digestOf, permits, sameIds, unauthorized } from './grants.js'
import { openTokens } from './token-file.js'

const EXPIRY_CHECK_MS = 1000
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** @typedef {import('./grants.js').Grant} Grant */
/**
 * Of tokens here; of a handler's own feeds in readers/handler.js.
 * @typedef {object} Access
 * @property {(authorization: string | undefined, request: import('node:http').IncomingMessage) => Grant | Promise<Grant>} identify the
 *   grant at once, unless a JWT has to be verified; it throws UNAUTHORIZED, and a promise may reject with NOT_READY, too
 * @property {(grant: Grant, scope: import('./grants.js').Scope, feed: string) => boolean} stillPermits whether a grant still permits it,
 *   and the same ids
 * @property {(listener: () => void) => void} listen the listener is called when `stillPermits` may have changed
 * @property {() => void} close
 */

/**
 * @param {{ tokens: string | null, jwtIssuer: string, jwtAudience: string, jwtKeys: string | null }} settings one of `tokens` and
 *   `jwtKeys`, or both
 * @param {{ log: import('pino').Logger }} options
 * @returns {Promise<Access>}
 * @throws {import('../errors.js').FreshetError} TOKENS_INVALID, JWT_KEYS_INVALID
 */
export async function openAccess ({ tokens: file, jwtKeys, ...ofIssuer }, { log }) {
  let onChange = () => {}
  const tokens = file === null ? null : await openTokens(file, { log, onChange: () => onChange() })
  const jwt = jwtKeys === null ? null : await (await import('./jwt.js')).openJwt({ ...ofIssuer, jwtKeys }, { log })
  const timer = jwt && setInterval(() => onChange(), EXPIRY_CHECK_MS).unref()

  return {
    identify (authorization) {
      const [, token] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? []
      if (token === undefined) throw unauthorized('no bearer token')
      const id = digestOf(token)
      const grant = tokens?.get(id)
      if (grant) return grant
      if (jwt && JWT.test(token)) return jwt.get(id, token)
      throw unauthorized('an unknown or revoked token')
    },

    stillPermits (grant, scope, feed) {
      // a changed line of the file replaces the grant
      const now = grant.untilMs === Infinity ? tokens?.get(grant.id) : grant.untilMs > Date.now() ? grant : undefined
      return now !== undefined && permits(now, scope, feed) && sameIds(now, grant)
    },

    listen (listener) { onChange = listener },

    close () {
      clearInterval(timer ?? undefined)
      tokens?.close()
      jwt?.close()
    }
  }
}

/**
 * Which feeds a grant may read.
 * @param {Grant | undefined} grant undefined: no tokens are required
 * @returns {{ isAll: boolean, of: string, has: (feed: string) => boolean }} `isAll`: of all feeds; `of`: the same text for the same feeds
 */
export function readableFeeds (grant) {
  if (!grant || grant.feeds.has(ALL_FEEDS)) return { isAll: true, of: ALL_FEEDS, has: () => true }
  return { isAll: false, of: [...grant.feeds].sort().join(), has: (feed) => covers(grant.feeds, feed) }
}
