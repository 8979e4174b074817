/**
 * A bound on requests in progress: beyond it a request is refused at once instead of queued, so that those inside
 * still end in time. Health and metrics are not counted: a busy process must still be able to say that it is alive.
 * A slot is given back when the response closes, finished or not.
 */
import { Gauge } from 'prom-client'
import { whenClosed } from './closed.js'
import { HttpError } from './problem.js'

const MAX_REQUESTS = 1000

/** @typedef {ReturnType<typeof createPlaces>} Places */

/**
 * @param {import('prom-client').Registry} registry
 * @param {number} [maxRequests]
 */
export function createPlaces (registry, maxRequests = MAX_REQUESTS) {
  let inProgress = 0
  // eslint-disable-next-line no-new
  new Gauge({
    name: 'freshet_http_requests_in_progress',
    help: 'Requests for feeds being answered',
    registers: [registry],
    collect () { this.set(inProgress) }
  })
  return {
    /** @returns {number | null} how many are in progress, when none may come; null: one place is taken, and must be left */
    refusedAt () {
      if (inProgress >= maxRequests) return inProgress
      inProgress++
      return null
    },
    leave () { inProgress-- }
  }
}

/**
 * @param {Places} places
 * @returns {import('fastify').onRequestHookHandler} refuses with OVERLOADED
 */
export const limitTo = ({ refusedAt, leave }) => (request, reply, done) => {
  const inProgress = refusedAt()
  if (inProgress !== null) return done(new HttpError('OVERLOADED', `${inProgress} requests are in progress, which is the limit; try again in a second`))
  whenClosed(request.raw, reply.raw, leave)
  done()
}

/**
 * @param {import('prom-client').Registry} registry
 * @param {number} [maxRequests]
 * @returns {import('fastify').onRequestHookHandler} refuses with OVERLOADED
 */
export const createLimit = (registry, maxRequests) => limitTo(createPlaces(registry, maxRequests))
