/**
 * A bound on requests in progress. Beyond it requests are refused at once instead of queued, so that those in progress
 * still end in time. Health checks and metrics are exempt. A request takes its place when its body has arrived, until its response
 * closes, finished or not: bodies that are arriving have bounds of their own (body.js).
 */
import { gauge, unlabelled } from '../metrics/index.js'
import { whenClosed } from './closed.js'
import { FreshetError } from './errors.js'

/**
 * @param {import('prom-client').Registry} registry
 * @param {number} maxRequests
 * @returns {(app: import('fastify').FastifyInstance) => void} bounds the routes of each app that it is given, together; beyond the bound
 *   they refuse with OVERLOADED
 */
export function createLimit (registry, maxRequests) {
  let begun = 0
  let inProgress = 0
  gauge(registry, {
    name: 'freshet_http_requests_in_progress', help: 'Number of feed requests in progress, those whose body is arriving included'
  }, () => unlabelled(begun))
  return (app) => {
    app.addHook('onRequest', (_request, reply, done) => {
      begun++
      whenClosed(reply.raw, () => { begun-- })
      done()
    })
    app.addHook('preValidation', (_request, reply, done) => {
      if (inProgress >= maxRequests) {
        return done(new FreshetError('OVERLOADED', `${inProgress} requests are in progress, which is the limit; try again in a second`))
      }
      inProgress++
      whenClosed(reply.raw, () => { inProgress-- })
      done()
    })
  }
}
