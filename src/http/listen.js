import { once } from 'node:events'
import { createServer } from 'node:net'
import { SettingsInvalid } from '../errors.js'
import { FreshetError } from './errors.js'

/** @typedef {{ host: string, port: number, setting: string }} Where `setting`: the flag that chose the port */

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {Where} where
 * @returns {Promise<string>} the URL
 * @throws {FreshetError} PORT_IN_USE; SETTINGS_INVALID: two routes are the same
 */
export const listen = async (app, { host, port, setting }) =>
  app.listen({ host, port }).catch((error) => { throw refusalOf(error, { host, port, setting }) })

/**
 * Takes a port until it is released. Connections are closed at once, so a client that polls the port does not delay that.
 * @param {Where} where port 0 = any free port
 * @returns {Promise<{ port: number, release: () => Promise<unknown> }>}
 * @throws {FreshetError} PORT_IN_USE
 */
export async function holdPort ({ host, port, setting }) {
  const server = createServer((socket) => socket.destroy()).listen({ host, port })
  try {
    await once(server, 'listening')
  } catch (error) {
    throw refusalOf(error, { host, port, setting })
  }
  return {
    port: /** @type {import('node:net').AddressInfo} */ (server.address()).port,
    release: () => once(server.close(), 'close')
  }
}

/**
 * Checks a port before anything is started for the process that will listen on it.
 * @param {Where} where port 0 = any free port
 * @throws {FreshetError} PORT_IN_USE
 */
export async function expectFreePort (where) {
  if (where.port !== 0) await (await holdPort(where)).release()
}

/** @param {any} error @param {Where} where */
function refusalOf (error, { host, port, setting }) {
  if (error.code === 'EADDRINUSE') {
    return new FreshetError('PORT_IN_USE',
      `port ${port} on ${host} is in use; stop the other program, or choose another --${setting} (0 = any free port)`)
  }
  if (['EACCES', 'EADDRNOTAVAIL', 'ENOTFOUND'].includes(error.code)) {
    return new FreshetError('PORT_IN_USE', `cannot listen on ${host} port ${port} (${error.code}); choose another --host or --${setting}`)
  }
  if (error.code === 'FST_ERR_DUPLICATED_ROUTE') {
    return new SettingsInvalid([`systems: a route of a system is one of Freshet's own: ${error.message}; choose another path`])
  }
  return error
}
