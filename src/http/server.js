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
import { counter } from '../metrics/index.js'
import { createTurns, whenClosed } from './limits.js'
import { FreshetError } from './errors.js'
import { checkInput, invalidInput } from './input.js'
import { createErrorHandler, noteResponse, refuseOnSocket } from './problem.js'
import { cleanForwarded, protect, trustOf } from './security/index.js'

/**
 * Requests by route and status. Counts are plain numbers until a scrape, since counters of prom-client hash their labels on
 * every call. The label is the route's pattern, never the path, so the number of series is fixed.
 *
 * A client that disconnects before the head of its response counts as status 499; a response that ends midway is counted in
 * freshet_http_aborted_responses_total as well.
 */

/**
 * @typedef {{ route: string, byStatus: Record<number, number>, buckets: number[], count: number, seconds: number,
 *   cut: number }} RouteRecord
 */

const BOUNDS_SECONDS = Object.freeze([0.001, 0.005, 0.025, 0.1, 0.5, 2.5])
const CLIENT_GONE = 499

/** @param {string} route @returns {RouteRecord} */
const createRecord = (route) => ({ route, byStatus: {}, buckets: BOUNDS_SECONDS.map(() => 0), count: 0, seconds: 0, cut: 0 })

/**
 * @param {import('prom-client').Registry} registry
 */
function createRequestMetrics (registry) {
  const unmatched = createRecord('unmatched')
  const records = new Map([[unmatched.route, unmatched]])
  register(registry, records)
  return {
    /** @param {import('fastify').RouteOptions} options */
    onRoute (options) {
      const record = records.get(options.url) ?? createRecord(options.url)
      records.set(options.url, record)
      options.config = /** @type {any} */ ({ ...options.config, record })
    },

    /** @param {any} request @param {any} reply */
    onRequest (request, reply) {
      const record = request.routeOptions.config?.record ?? unmatched
      const startedMs = performance.now()
      const response = reply.raw
      whenClosed(response, () => countRequest(record, response, (performance.now() - startedMs) / 1000))
    }
  }
}

/**
 * To be called when the response is closed.
 * @param {RouteRecord} record
 * @param {import('node:http').ServerResponse} response
 * @param {number} seconds taken
 */
function countRequest (record, response, seconds) {
  const status = response.headersSent ? response.statusCode : CLIENT_GONE
  record.byStatus[status] = (record.byStatus[status] ?? 0) + 1
  record.count++
  record.seconds += seconds
  const bucket = BOUNDS_SECONDS.findIndex((bound) => seconds <= bound)
  if (bucket >= 0) record.buckets[bucket]++
  if (response.headersSent && !response.writableFinished) record.cut++
}

/** @param {import('prom-client').Registry} registry @param {Map<string, RouteRecord>} records */
function register (registry, records) {
  /**
   * @param {string} name @param {string} help @param {string[]} labels
   * @param {(one: RouteRecord) => [Record<string, string>, number][]} read
   */
  const total = (name, help, labels, read) => counter(registry, { name, help, labels }, () => [...records.values()].flatMap(read))
  total('freshet_http_requests_total', 'Total HTTP requests, by route and status', ['route', 'status'], ({ route, byStatus }) =>
    Object.entries(byStatus).map(([status, requests]) => [{ route, status }, requests]))
  total('freshet_http_aborted_responses_total', 'Total responses that ended before they were complete, by route', ['route'],
    ({ route, cut }) => cut > 0 ? [[{ route }, cut]] : [])
  // a histogram of prom-client accepts single observations only, so this object has its interface and gives totals
  const histogram = {
    name: 'freshet_http_request_seconds',
    help: 'Time from the request to the end of its response',
    type: 'histogram',
    labelNames: ['route'],
    aggregator: 'sum',
    reset () {},
    async get () {
      const values = [...records.values()].filter((record) => record.count).flatMap(histogramValues)
      return { name: this.name, help: this.help, type: this.type, aggregator: this.aggregator, values }
    }
  }
  registry.registerMetric(/** @type {any} */ (histogram))
}

/** @param {RouteRecord} record */
function histogramValues ({ route, buckets, count, seconds }) {
  const name = 'freshet_http_request_seconds'
  let upTo = 0
  return [
    ...BOUNDS_SECONDS.map((le, i) => ({ metricName: `${name}_bucket`, labels: { route, le }, value: (upTo += buckets[i]) })),
    { metricName: `${name}_bucket`, labels: { route, le: '+Inf' }, value: count },
    { metricName: `${name}_sum`, labels: { route }, value: seconds },
    { metricName: `${name}_count`, labels: { route }, value: count }
  ]
}

const ARRIVE_WITHIN_MS = 10_000
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
      // a route for every path makes none of them known
      if (url === '*' || url === '/*') return
      const route = routes.get(url) ?? { pattern: patternOf(url), methods: new Set() }
      routes.set(url, route)
      for (const one of [method].flat()) route.methods.add(one)
    },

    faultOf ({ method, url }) {
      const path = url.split('?', 1)[0]
      const known = [...routes.values()].filter(({ pattern }) => pattern.test(path))
      const allow = [...new Set(known.flatMap(({ methods }) => [...methods]))].sort()
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
