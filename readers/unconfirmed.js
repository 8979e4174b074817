/** What clients see while neither this reader nor a replica hears from the primary (src/store/primary-contact.js). */
import { FreshetError } from './errors.js'

/**
 * Replies are marked as stale, and refused once `maxUnconfirmedMs` is over. Figures are about servers, and are always answered.
 * @param {import('fastify').FastifyInstance} app
 * @param {{ deployment: Pick<import('../src/store/index.js').Servers, 'unconfirmedMs'>, maxUnconfirmedMs: number | null }} options
 *   null = never refused
 * @returns {() => boolean} whether they are refused now
 */
export function markUnconfirmed (app, { deployment, maxUnconfirmedMs }) {
  const isTooLong = () => maxUnconfirmedMs !== null && deployment.unconfirmedMs > maxUnconfirmedMs
  app.addHook('onRequest', (request, reply, done) => {
    if (deployment.unconfirmedMs === 0) return done()
    const path = request.routeOptions.url ?? ''
    if (!path.startsWith('/v1/') || path.endsWith('/figures')) return done()
    if (isTooLong()) {
      return done(new FreshetError('PRIMARY_UNCONFIRMED',
        `no contact with the primary for more than ${maxUnconfirmedMs} ms; try again, or ask another reader`))
    }
    reply.header('freshet-stale', 'true')
    done()
  })
  return isTooLong
}
