/**
 * A bound on requests in progress. Beyond it requests are refused at once instead of queued, so that those in progress
 * still end in time. Health checks and metrics are exempt. A request counts until its response closes, finished or not.
 */
import { Gauge } from 'prom-client'
import { FreshetError } from './errors.js'
import { whenClosed } from './closed.js'

/**
 * @param {import('prom-client').Registry} registry
 * @param {number} maxRequests
 * @returns {import('fastify').onRequestHookHandler} refuses with OVERLOADED
 */
export function createLimit (registry, maxRequests) {
  let inProgress = 0
  // eslint-disable-next-line no-new
  new Gauge({
    name: 'freshet_http_requests_in_progress',
    help: 'Number of feed requests in progress',
    registers: [registry],
    collect () { this.set(inProgress) }
  })
  const leave = () => { inProgress-- }
  return (_request, reply, done) => {
    if (inProgress >= maxRequests) {
      return done(new FreshetError('OVERLOADED', `${inProgress} requests are in progress, which is the limit; try again in a second`))
    }
    inProgress++
    whenClosed(reply.raw, leave)
    done()
  }
}
