/**
 * A bound on requests in progress. Beyond it requests are refused at once instead of queued, so that those in progress
 * still end in time. Health checks and metrics are exempt. A permit is returned when the response closes, finished or not.
 */
import { Gauge } from 'prom-client'
import { FreshetError } from './errors.js'
import { whenClosed } from './closed.js'

const MAX_REQUESTS = 1000

/** @typedef {ReturnType<typeof createPermits>} Permits */

/**
 * @param {import('prom-client').Registry} registry
 * @param {number} [maxRequests]
 */
export function createPermits (registry, maxRequests = MAX_REQUESTS) {
  let inProgress = 0
  // eslint-disable-next-line no-new
  new Gauge({
    name: 'freshet_http_requests_in_progress',
    help: 'Number of feed requests in progress',
    registers: [registry],
    collect () { this.set(inProgress) }
  })
  return {
    /** Takes a permit, to be returned with `leave`. @returns {number | null} null; the number of requests in progress if none is left */
    refusedAt () {
      if (inProgress >= maxRequests) return inProgress
      inProgress++
      return null
    },
    leave () { inProgress-- }
  }
}

/**
 * @param {Permits} permits
 * @returns {import('fastify').onRequestHookHandler} refuses with OVERLOADED
 */
export const limitTo = ({ refusedAt, leave }) => (request, reply, done) => {
  const inProgress = refusedAt()
  if (inProgress !== null) {
    return done(new FreshetError('OVERLOADED', `${inProgress} requests are in progress, which is the limit; try again in a second`))
  }
  whenClosed(request.raw, reply.raw, leave)
  done()
}

/**
 * @param {import('prom-client').Registry} registry
 * @param {number} [maxRequests]
 * @returns {import('fastify').onRequestHookHandler} refuses with OVERLOADED
 */
export const createLimit = (registry, maxRequests) => limitTo(createPermits(registry, maxRequests))
