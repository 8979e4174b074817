/**
 * JSON Web Tokens: signed by the keys of one issuer, for one audience, with an expiry. The claim `scope` has the scopes, separated
 * by spaces, and `feeds` is an array of feed names; `["*"]` is every feed. A token without `feeds` is for no feed. With `ids` it is for
 * these ids only; one whose `ids` cannot be read is refused, as it must not be for all.
 *
 * Keys come from a file, which is read again when it changes, or from a URL. Those of a URL are fetched at the start, every ten
 * minutes, and when a token names an unknown key, but not more often than every two seconds. While the issuer does not answer,
 * the keys fetched before stay in use.
 */
import { createLocalJWKSet, createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose'
import { EXPECTED_IDS, readIdFilter } from '../../item/index.js'
import { createHttpClient } from '../../http-client.js'
import { FreshetError } from '../errors.js'
import { SCOPES, unauthorized } from './grants.js'
import { watchFiles } from './watched-files.js'

/** signatures by a private key; with a shared secret, a verifier could also sign */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const CLOCK_TOLERANCE_S = 5
const FETCH_WITHIN_MS = 5000
const FETCH_PAUSE_MS = 2000
const FETCH_EVERY_MS = 600_000
/** verified tokens that are kept, and for how long: a key may be withdrawn */
const MAX_VERIFIED = 1000
const VERIFIED_FOR_MS = 60_000
/** errors about a token; all others are about the keys */
const OF_TOKEN = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported]

/** @typedef {import('./grants.js').Grant} Grant */
/** @typedef {{ find: import('jose').JWTVerifyGetKey, close: () => void }} Keys */

/** @param {string} file @param {import('pino').Logger} log @returns {Promise<Keys>} @throws {FreshetError} JWT_KEYS_INVALID */
async function keysOfFile (file, log) {
  /** @type {import('jose').JWTVerifyGetKey} */
  let find
  const { close } = await watchFiles([file], {
    what: 'JWT keys',
    code: 'JWT_KEYS_INVALID',
    expected: 'a JSON Web Key Set',
    parse (text) {
      try {
        return createLocalJWKSet(JSON.parse(text))
      } catch {
        throw new FreshetError('JWT_KEYS_INVALID', `${file} is no JSON Web Key Set; expected {"keys":[...]} with public keys`)
      }
    },
    apply (keys) { find = keys },
    log
  })
  return { find: (header, token) => find(header, token), close }
}

/** @param {string} url @param {import('pino').Logger} log @returns {Promise<Keys>} */
async function keysOfUrl (url, log) {
  const client = createHttpClient({ url })
  let failedMs = -Infinity
  const keys = createRemoteJWKSet(new URL(url), {
    timeoutDuration: FETCH_WITHIN_MS,
    cooldownDuration: FETCH_PAUSE_MS,
    cacheMaxAge: Infinity,
    // the cooldown of jose follows successful fetches only
    async [customFetch] (_address, { headers, signal }) {
      if (performance.now() - failedMs < FETCH_PAUSE_MS) throw new Error('the last attempt failed a moment ago')
      const failed = () => { failedMs = performance.now() }
      const { status, text } = await client.call('GET', null, { headers: Object.fromEntries(headers), signal }).catch((error) => {
        failed()
        throw error
      })
      if (status !== 200) failed()
      return /** @type {any} */ ({ status, json: async () => JSON.parse(text) })
    }
  })
  const reload = () => keys.reload().catch((error) =>
    log.warn({ url, reason: error.cause?.code ?? error.message }, 'the keys of the JWT issuer cannot be fetched'))
  const timer = setInterval(reload, FETCH_EVERY_MS).unref()
  await reload()
  return {
    find: (header, token) => keys(header, token).catch((error) => {
      if (OF_TOKEN.some((kind) => error instanceof kind)) throw error
      throw new FreshetError('NOT_READY', 'the keys of the token issuer cannot be fetched now; try again')
    }),
    close () {
      clearInterval(timer)
      client.close()
    }
  }
}

/** @param {any} error of jwtVerify @returns {FreshetError} */
function refusalOf (error) {
  if (error instanceof FreshetError) return error
  if (error instanceof errors.JWTExpired) return unauthorized('an expired token')
  if (error instanceof errors.JWTClaimValidationFailed) return unauthorized(`a token whose claim "${error.claim}" is missing or wrong`)
  if (error instanceof errors.JWKSNoMatchingKey) return unauthorized('a token signed by an unknown key')
  return unauthorized('an invalid token')
}

/** @param {string} id digest @param {import('jose').JWTPayload} claims @returns {Grant} @throws {FreshetError} UNAUTHORIZED */
function grantOf (id, { exp, scope, feeds, ids }) {
  const scopes = typeof scope === 'string' ? scope.split(' ').filter((name) => SCOPES.includes(name)) : []
  const filter = ids === undefined ? null : readIdFilter(ids)
  if (typeof filter === 'string') {
    throw unauthorized(`a token whose claim "ids" is ${filter}; expected an array of ${EXPECTED_IDS}, or no such claim for all`)
  }
  return {
    id,
    scopes: new Set(scopes),
    feeds: new Set(Array.isArray(feeds) ? feeds.filter((feed) => typeof feed === 'string') : []),
    ids: filter,
    untilMs: (Number(exp) + CLOCK_TOLERANCE_S) * 1000
  }
}

/**
 * @param {{ jwtIssuer: string, jwtAudience: string, jwtKeys: string }} settings `jwtKeys`: a file, or a URL
 * @param {{ log: import('pino').Logger }} options
 * @throws {FreshetError} JWT_KEYS_INVALID
 */
export async function openJwt ({ jwtIssuer, jwtAudience, jwtKeys }, { log }) {
  const { find, close } = await (/^https?:/i.test(jwtKeys) ? keysOfUrl : keysOfFile)(jwtKeys, log)
  const rules = {
    issuer: jwtIssuer, audience: jwtAudience, algorithms: ALGORITHMS, requiredClaims: ['exp'], clockTolerance: CLOCK_TOLERANCE_S
  }
  /** by digest, the oldest first @type {Map<string, { grant: Grant, untilMs: number }>} */
  const verified = new Map()

  /** @param {string} id @param {string} token @returns {Promise<Grant>} */
  async function verify (id, token) {
    const { payload } = await jwtVerify(token, find, rules).catch((error) => { throw refusalOf(error) })
    const grant = grantOf(id, payload)
    if (verified.size >= MAX_VERIFIED) verified.delete(/** @type {string} */ (verified.keys().next().value))
    verified.set(id, { grant, untilMs: Math.min(grant.untilMs, Date.now() + VERIFIED_FOR_MS) })
    return grant
  }

  return {
    /**
     * @param {string} id digest of the token @param {string} token
     * @returns {Grant | Promise<Grant>} rejects with UNAUTHORIZED, or NOT_READY without keys
     */
    get (id, token) {
      const stored = verified.get(id)
      if (stored && stored.untilMs > Date.now()) return stored.grant
      verified.delete(id)
      return verify(id, token)
    },
    close
  }
}
