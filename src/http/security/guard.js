/**
 * The hooks before every route, and before the 404 of unknown ones:
 *
 *     CORS (answers preflight requests) -> who asks -> rate limit -> may they? -> route
 *
 * The rate limit comes before the refusal, so that guessing tokens is limited, too.
 *
 * What a route needs is `access` in its config. Without it: the scope read, or write if the method may change something, for the
 * feed in the path; and a valid token for other routes. Routes of a system name it in `system`: tokens have it among their feeds, as
 * `@auctions`. A token with `ids` is for routes that filter, which say so in `filtersIds`: any other route of feeds and systems refuses it.
 *
 * @typedef {'public' | 'optional' | 'any' | 'metrics' | import('./grants.js').Scope} Need `public`: no token is looked at;
 *   `optional`: the route treats clients without a valid token differently; `any`: a valid token; `metrics`: see below
 */
import cors from '@fastify/cors'
import rateLimiter, { normalizeIP } from '@fastify/rate-limit'
import { FreshetError } from '../errors.js'
import { ALL_FEEDS, permits } from './grants.js'

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS', 'TRACE']
const WINDOW_MS = 1000
const PREFLIGHT_FOR_S = 600
const EXPOSED = [
  'Freshet-As-Of', 'Freshet-Complete', 'Freshet-Lag-Ms', 'Freshet-Next', 'Freshet-Stale', 'Idempotent-Replayed', 'Age', 'ETag',
  'Retry-After'
]
const SENT = ['Authorization', 'Content-Type', 'Freshet-Ticket', 'Idempotency-Key', 'If-None-Match', 'Last-Event-ID']
const NO_RATE_HEADERS = { 'x-ratelimit-limit': false, 'x-ratelimit-remaining': false, 'x-ratelimit-reset': false }

/** @typedef {import('./grants.js').Grant} Grant */
/** @typedef {import('fastify').FastifyRequest & { grant?: Grant | null, refusal?: FreshetError | null }} Guarded */

/**
 * Before any route.
 * @param {import('fastify').FastifyInstance} app
 * @param {Pick<import('./index.js').Security, 'access' | 'corsOrigin' | 'rateLimit'>} security
 */
export function protect (app, { access, corsOrigin, rateLimit }) {
  if (corsOrigin) allowOrigins(app, corsOrigin)
  if (rateLimit) limitRate(app, rateLimit)
  app.after(() => {
    if (access) {
      app.decorateRequest('grant', null)
      app.decorateRequest('refusal', null)
      app.addHook('onRequest', identifyWith(access))
    }
    if (rateLimit) app.addHook('onRequest', app.rateLimit())
    if (access) app.addHook('onRequest', refuse)
  })
}

/** @param {import('fastify').FastifyInstance} app @param {readonly string[]} origins */
function allowOrigins (app, origins) {
  app.register(cors, {
    origin: [...origins],
    methods: ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'],
    allowedHeaders: SENT,
    exposedHeaders: EXPOSED,
    maxAge: PREFLIGHT_FOR_S,
    strictPreflight: false
  })
  // routes set Vary, too
  app.addHook('onSend', (_request, reply, _payload, done) => {
    const vary = String(reply.getHeader('vary') ?? '')
    if (!/\borigin\b/i.test(vary)) reply.header('vary', vary ? `${vary}, Origin` : 'Origin')
    done()
  })
}

/** @param {import('fastify').FastifyInstance} app @param {number} perSecond */
function limitRate (app, perSecond) {
  app.register(rateLimiter, {
    global: false,
    max: perSecond,
    timeWindow: WINDOW_MS,
    keyGenerator: (request) => /** @type {Guarded} */ (request).grant?.id ?? normalizeIP(request.ip),
    // health checks have no token; with one, they would tell whether it is valid
    allowList: (request) => {
      const need = needOf(request)
      return need === 'public' || (need === 'optional' && request.headers.authorization === undefined)
    },
    addHeaders: NO_RATE_HEADERS,
    addHeadersOnExceeding: NO_RATE_HEADERS,
    errorResponseBuilder: () => new FreshetError('RATE_LIMITED',
      `more than ${perSecond} requests within a second by this token or address; try again after Retry-After`)
  })
}

/** @param {import('fastify').FastifyRequest} request @returns {Need} */
function needOf ({ is404, method, routeOptions: { url = '', config } }) {
  const { access } = /** @type {any} */ (config ?? {})
  if (is404) return 'any'
  if (access) return access
  const isSafe = SAFE_METHODS.includes(method)
  return url.includes('/:feed') ? isSafe ? 'read' : 'write' : isSafe ? 'any' : 'admin'
}

/** @param {import('./access.js').Access} access @returns {import('fastify').onRequestHookHandler} */
const identifyWith = (access) => (request, reply, done) => {
  const guarded = /** @type {Guarded} */ (request)
  const { authorization } = request.headers
  if (needOf(request) === 'public') return done()
  /** @param {Grant} grant */
  const keep = (grant) => {
    guarded.grant = grant
    done()
  }
  /** @param {FreshetError} error */
  const keepRefusal = (error) => {
    guarded.refusal = error
    if (error.code === 'UNAUTHORIZED' && authorization) reply.header('www-authenticate', 'Bearer error="invalid_token"')
    done()
  }
  let grant
  try {
    grant = access.identify(authorization, request.raw)
  } catch (error) {
    return keepRefusal(error)
  }
  if (grant instanceof Promise) grant.then(keep, keepRefusal)
  else keep(grant)
}

/** @type {import('fastify').onRequestHookHandler} */
function refuse (request, reply, done) {
  const { grant, refusal } = /** @type {Guarded} */ (request)
  const need = needOf(request)
  if (need === 'public' || need === 'optional') return done()
  if (!grant) return done(/** @type {FreshetError} */ (refusal))
  const why = missing(grant, need, ownerOf(request)) ?? unfiltered(grant, need, request)
  if (why === null) return done()
  if (need !== 'metrics' && !grant.scopes.has(need)) reply.header('www-authenticate', `Bearer error="insufficient_scope", scope="${need}"`)
  done(new FreshetError('FORBIDDEN', why))
}

/** The feed of the path, or the system of the route, such as `@auctions`. @param {import('fastify').FastifyRequest} request */
function ownerOf ({ params, routeOptions: { config } }) {
  const { system } = /** @type {any} */ (config ?? {})
  return system ? `@${system}` : /** @type {{ feed?: string }} */ (params ?? {}).feed
}

/**
 * @param {Grant} grant @param {Need} need @param {import('fastify').FastifyRequest} request
 * @returns {string | null} why a token with `ids` is refused
 */
function unfiltered ({ ids }, need, { method, routeOptions: { url, config } }) {
  if (ids === null || need === 'any' || /** @type {any} */ (config ?? {}).filtersIds) return null
  return `this token is for some ids only, and ${method} ${url} does not filter by id; use a token without ids`
}

/** @param {Grant} grant @param {Need} need @param {string} [feed] @returns {string | null} why it is not permitted */
export function missing (grant, need, feed) {
  if (need === 'any') return null
  if (need === 'metrics') {
    // they have the names of all feeds
    const isPermitted = permits(grant, 'read', ALL_FEEDS) || permits(grant, 'admin', ALL_FEEDS)
    return isPermitted ? null : 'metrics need a token with the scope read or admin for all feeds ("*")'
  }
  if (!grant.scopes.has(need)) return `this token does not have the scope ${need}`
  if (feed !== undefined && !permits(grant, need, feed)) {
    return `this ${grant.id === null ? 'request' : 'token'} is not for ${feed.startsWith('@') ? feed : `the feed ${feed}`}`
  }
  return null
}
