/**
 * The fastify instance of gateway, reader and metrics server: errors as problems, request metrics, timeouts, access, HTTPS.
 *
 * A request must arrive within 10 s. A connection without traffic for 30 s while a request is in progress is closed, which
 * ends clients that stop reading a long response. Idle keep-alive connections stay open for 72 s, longer than the 60 s that
 * load balancers usually keep them.
 *
 * The schemas of routes check requests (input.js).
 */
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import fastify, { LogController } from 'fastify'
import { FreshetError } from './errors.js'
import { checkInput, invalidInput } from './input.js'
import { ARRIVE_WITHIN_MS, noteResponse, refuseOnSocket } from './parser-errors.js'
import { createErrorHandler } from './problem.js'
import { createRequestMetrics } from './request-metrics.js'
import { cleanForwarded, protect, trustOf } from './security/index.js'
import { createTurns } from './turns.js'

const CHECK_EVERY_MS = 2_000
const STALL_MS = 30_000
const KEEP_ALIVE_MS = 72_000
const BODY_LIMIT = 1024 * 1024
// routes check the length of ids; the router refuses what is far beyond
const MAX_PARAM_CHARS = 1024

/**
 * @param {{ registry: import('prom-client').Registry, logger?: import('fastify').FastifyBaseLogger,
 *   security?: import('./security/index.js').Security | null }} options `security`: null = plain HTTP, open to every client
 * @returns {import('fastify').FastifyInstance}
 */
export function createServer ({ registry, logger, security = null }) {
  const unrouted = createUnrouted()
  const metrics = createRequestMetrics(registry)
  const inTurn = createTurns(registry)
  const tls = security?.tls
  const trustedProxies = security?.trustedProxies ?? null
  const limits = {
    headersTimeout: ARRIVE_WITHIN_MS,
    requestTimeout: ARRIVE_WITHIN_MS,
    connectionsCheckingInterval: CHECK_EVERY_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // node would refuse requests without Host by an empty 400
    requireHostHeader: false
  }
  const app = /** @type {import('fastify').FastifyInstance} */ (/** @type {unknown} */ (fastify({
    ...(logger ? { loggerInstance: logger } : { logger: false }),
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (/** @type {any} */ parent) => parent,
    genReqId: createRequestIds(),
    // fastify reads it for the URL it reports
    ...(tls ? { https: tls.pair } : {}),
    serverFactory (handle) {
      const listener = inTurn(handle)
      return (tls ? createHttpsServer({ ...limits, ...tls.pair }, listener) : createHttpServer(limits, listener)).setTimeout(STALL_MS)
    },
    // a busy machine may need longer than the 10 s that fastify waits for routes
    pluginTimeout: 0,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    bodyLimit: BODY_LIMIT,
    trustProxy: trustOf(trustedProxies),
    routerOptions: { maxParamLength: MAX_PARAM_CHARS, caseSensitive: true },
    clientErrorHandler: refuseOnSocket,
    frameworkErrors (error, request, reply) {
      metrics.onRequest(request, reply)
      onError(error, request, reply)
    }
  })))
  const onError = createErrorHandler(app.log)
  // fastify refuses bodies of some methods before it looks for a route
  app.setErrorHandler((/** @type {any} */ error, request, reply) => {
    if (error.validation) onError(invalidInput(request, error), request, reply)
    else onError(request.is404 && !(error instanceof FreshetError) ? unrouted.faultOf(request) : error, request, reply)
  })
  app.setNotFoundHandler((request) => { throw unrouted.faultOf(request) })
  checkInput(app)
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  // only routes with takeBodies read bodies before they respond
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  // expectations other than 100-continue are ignored; node would refuse them by an empty 417
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.server.prependListener('request', noteResponse)
  app.addHook('onRoute', metrics.onRoute)
  app.addHook('onRoute', unrouted.onRoute)
  app.addHook('onRequest', (request, reply, done) => {
    metrics.onRequest(request, reply)
    if (trustedProxies) cleanForwarded(request.raw)
    const fault = headFault(request.raw)
    if (fault) done(fault)
    else done()
  })
  tls?.serve(/** @type {any} */ (app.server))
  if (security) protect(app, security)
  // behind the hooks of protect: what is wrong with a query is for clients that may ask
  app.after(() => app.addHook('onRequest', refuseQuery))
  return app
}

/** Request ids that are distinct across the processes of one machine. */
function createRequestIds () {
  const prefix = `${process.pid.toString(36)}-${Date.now().toString(36)}-`
  let count = 0
  return () => prefix + (++count).toString(36)
}

/**
 * What is wrong with the head of a request although node's parser accepted it. Raw headers are read, because node keeps only
 * the first of two Host headers, and because building the object of all headers costs more than this loop.
 */

const HOST = 'host'
const TRANSFER = 'transfer-encoding'

/**
 * @param {import('node:http').IncomingMessage} request
 * @returns {FreshetError | null} REQUEST_INVALID
 */
function headFault ({ rawHeaders, httpVersionMinor }) {
  let hosts = 0
  let codings = null
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]
    // comparing lengths first avoids most of the lower-casing
    if (name.length === HOST.length && name.toLowerCase() === HOST) hosts++
    else if (name.length === TRANSFER.length && name.toLowerCase() === TRANSFER) {
      codings = codings === null ? rawHeaders[i + 1] : `${codings}, ${rawHeaders[i + 1]}`
    }
  }
  if (hosts > 1) return new FreshetError('REQUEST_INVALID', `${hosts} Host headers; expected one`)
  if (hosts === 0 && httpVersionMinor === 1) return new FreshetError('REQUEST_INVALID', 'no Host header; HTTP/1.1 needs one')
  if (codings !== null && codings.toLowerCase() !== 'chunked') {
    return new FreshetError('REQUEST_INVALID', `Transfer-Encoding: ${codings}; expected chunked, or Content-Length`)
  }
  return null
}

/** fastify's parser keeps malformed escapes, so `%zz` would become an id. @type {import('fastify').onRequestHookHandler} */
function refuseQuery ({ url }, _reply, done) {
  const at = url.indexOf('?')
  if (at < 0 || !url.includes('%', at)) return done()
  try {
    decodeURIComponent(url.slice(at + 1))
  } catch {
    const detail = 'the query has a percent sign that does not begin a UTF-8 escape; write %25 for a literal percent sign'
    return done(new FreshetError('REQUEST_INVALID', detail))
  }
  done()
}

/**
 * Requests that no route takes: 405 with Allow if the path has routes for other methods, else 404. The router does not tell which
 * methods a path has, so the patterns are matched again; only requests that are refused pay for it.
 */

/**
 * @returns {{ onRoute: (route: import('fastify').RouteOptions) => void,
 *   faultOf: (request: import('fastify').FastifyRequest) => FreshetError }} a hook, and the error for a request without a route
 */
function createUnrouted () {
  /** @type {Map<string, { pattern: RegExp, methods: Set<string> }>} by URL of the routes */
  const routes = new Map()
  return {
    onRoute ({ url, method }) {
      // a route for every path matches all of them
      if (url === '*' || url === '/*') return
      const route = routes.get(url) ?? { pattern: patternOf(url), methods: new Set() }
      routes.set(url, route)
      for (const name of [method].flat()) route.methods.add(name)
    },

    faultOf ({ method, url }) {
      const path = url.split('?', 1)[0]
      const matches = [...routes.values()].filter(({ pattern }) => pattern.test(path))
      const allow = [...new Set(matches.flatMap(({ methods }) => [...methods]))].sort()
      // a route for files refuses names that it does not have
      if (allow.length === 0 || allow.includes(method)) {
        return new FreshetError('NOT_FOUND', `${method} ${path} is not a route; /docs lists them`)
      }
      return new FreshetError('METHOD_NOT_ALLOWED', `${method} ${path}; expected ${allow.join(' or ')}`, { allow })
    }
  }
}

/** @param {string} url of a route, such as /v1/feeds/:feed or /docs/static/* */
const patternOf = (url) => new RegExp('^' + url.split('/').map((part) => part.startsWith(':')
  ? '[^/]*'
  : part.split('*').map((text) => text.replace(/[^\w-]/g, '\\$&')).join('.*')).join('/') + '$')
