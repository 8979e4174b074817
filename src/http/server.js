/**
 * The fastify instance that gateway and reader start from. It never listens; a process file does.
 *
 * Nothing waits for ever: a request must arrive within 10 s, and a connection on which no byte moves for 30 s while a
 * request is in progress is closed, which is what ends a stalled reader of a long answer (a heartbeat must come more
 * often). Idle keep-alive connections stay 72 s, longer than the usual load balancer's 60.
 *
 * JSON schemas only document here: fields are checked by query.js, whose table the schemas are made from and whose
 * messages name the field and the bound, and replies are text already. Rejected: validation by schema, whose coercion
 * takes "1e3" for a number and whose messages name a keyword.
 */
import fastify, { LogController } from 'fastify'
import { createAuth } from './auth.js'
import { answerExpectations } from './expect.js'
import { createRequestMetrics } from './metrics.js'
import { HttpError, createErrorHandler, refuseOnSocket, refuseUnknownRoute } from './problem.js'

const ARRIVE_WITHIN_MS = 10_000
const CHECK_EVERY_MS = 2_000
const STALL_MS = 30_000
const KEEP_ALIVE_MS = 72_000
const BODY_LIMIT = 1024 * 1024
// ids of up to 128 bytes are checked by name; only what is far beyond is refused by the router
const MAX_PARAM_CHARS = 1024

/**
 * @param {{ registry: import('prom-client').Registry, logger?: import('fastify').FastifyBaseLogger, authToken?: string | null,
 *   isAllRouted?: boolean }} options `isAllRouted`: no request is answered before the router, which then refuses those without
 *   Host with a problem; node does it with an empty 400
 * @returns {import('fastify').FastifyInstance} with errors as problems, request metrics and the bearer token
 */
export function createServer ({ registry, logger, authToken = null, isAllRouted = false }) {
  const metrics = createRequestMetrics(registry)
  const app = /** @type {import('fastify').FastifyInstance} */ (/** @type {unknown} */ (fastify({
    ...(logger ? { loggerInstance: logger } : { logger: false }),
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (/** @type {any} */ parent) => parent,
    genReqId: createRequestIds(),
    http: { headersTimeout: ARRIVE_WITHIN_MS, connectionsCheckingInterval: CHECK_EVERY_MS, requireHostHeader: !isAllRouted },
    requestTimeout: ARRIVE_WITHIN_MS,
    connectionTimeout: STALL_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    bodyLimit: BODY_LIMIT,
    trustProxy: false,
    routerOptions: { maxParamLength: MAX_PARAM_CHARS, caseSensitive: true },
    clientErrorHandler: refuseOnSocket,
    frameworkErrors (error, request, reply) {
      metrics.onRequest(request, reply)
      app.errorHandler(error, request, /** @type {any} */ (reply))
    }
  })))
  answerExpectations(app.server)
  app.setErrorHandler(createErrorHandler(app.log))
  app.setNotFoundHandler(refuseUnknownRoute)
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  app.addHook('onRoute', metrics.onRoute)
  app.addHook('onRequest', (request, reply, done) => {
    metrics.onRequest(request, reply)
    if (request.headers.host === undefined && request.raw.httpVersionMinor === 1) done(new HttpError('REQUEST_INVALID', 'no Host header; HTTP/1.1 needs one'))
    else done()
  })
  if (authToken !== null) app.addHook('onRequest', createAuth(authToken))
  return app
}

/** Distinct over the processes of one machine, and far cheaper than random. */
function createRequestIds () {
  const prefix = `${process.pid.toString(36)}-${Date.now().toString(36)}-`
  let count = 0
  return () => prefix + (++count).toString(36)
}
