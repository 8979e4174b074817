import { FreshetError } from './errors.js'

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ host: string, port: number, setting: string }} where `setting`: the flag that chose the port
 * @returns {Promise<string>} the URL
 * @throws {FreshetError} PORT_IN_USE
 */
export async function listen (app, { host, port, setting }) {
  try {
    return await app.listen({ host, port })
  } catch (error) {
    if (error.code === 'EADDRINUSE') {
      throw new FreshetError('PORT_IN_USE',
        `port ${port} on ${host} is in use; stop the other program, or choose another --${setting} (0 = any free port)`)
    }
    if (['EACCES', 'EADDRNOTAVAIL', 'ENOTFOUND'].includes(error.code)) {
      throw new FreshetError('PORT_IN_USE', `cannot listen on ${host} port ${port} (${error.code}); choose another --host or --${setting}`)
    }
    throw error
  }
}
