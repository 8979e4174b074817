/**
 * A service on this machine that stands for one elsewhere: JSON over HTTP, with faults on request.
 *
 *     GET, PUT, DELETE /faults
 *     GET /livez
 *
 * Pages on this machine may use it, for example to switch faults; those from elsewhere get 403.
 */
import cors from '@fastify/cors'
import fastify from 'fastify'
import { isLocalRequest, REFUSED } from '../../src/embedded/index.js'
import { unknownName } from '../../src/settings/index.js'

const HERE = /^https?:\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/
const METHODS = /** @type {const} */ (['GET', 'PUT', 'DELETE', 'POST'])
const MAX_BODY_BYTES = 10_000

/**
 * @template F
 * @param {{ table: FaultTable, log: import('pino').Logger, facts?: Record<string, string> }} parts `facts`: logged
 *   with its faults
 * @returns {{ app: import('fastify').FastifyInstance, faults: () => F }} `app` does not listen yet; `faults`: at the moment
 */
export function createLocalService ({ table, log, facts = {} }) {
  const app = fastify({
    forceCloseConnections: true,
    bodyLimit: MAX_BODY_BYTES,
    ajv: { customOptions: { removeAdditional: false, coerceTypes: true } },
    // a path that cannot be decoded
    frameworkErrors: (_error, _request, /** @type {any} */ reply) => reply.code(404).send({ error: 'there is no such path' })
  })
  let faults = offOf(table)
  app.addHook('onRequest', async (request, reply) => {
    if (!isLocalRequest(request.headers)) return reply.code(403).send({ error: REFUSED })
  })
  app.register(cors, { origin: HERE, methods: ['GET', 'PUT', 'DELETE'] })
  app.setErrorHandler((error, _request, reply) => {
    const { statusCode = 500, message } = /** @type {{ statusCode?: number, message: string }} */ (error)
    reply.code(statusCode).send({ error: message })
  })
  app.setNotFoundHandler((request, reply) => {
    const [url] = request.url.split('?')
    const allowed = METHODS.filter((method) => app.hasRoute({ method, url })).join(', ')
    if (allowed !== '') return reply.code(405).header('allow', allowed).send({ error: `expected ${allowed}` })
    return reply.code(404).send({ error: `${url} is no route` })
  })

  /** @param {any} next */
  function change (next) {
    faults = next
    log.info({ ...facts, faults }, 'faults')
    return faults
  }
  app.get('/faults', async () => faults)
  app.delete('/faults', async () => change(offOf(table)))
  app.register(async (texts) => {
    // whatever its type
    texts.removeAllContentTypeParsers()
    texts.addContentTypeParser('*', { parseAs: 'string' }, async (/** @type {any} */ _request, /** @type {any} */ text) => text)
    texts.put('/faults', async (request, reply) => {
      try {
        return change(readFaults(String(request.body ?? ''), table))
      } catch (error) {
        return reply.code(400).send({ error: error.message })
      }
    })
  })
  app.get('/livez', async () => ({ status: 'ok' }))
  return { app, faults: () => faults }
}

/**
 * Faults of a local service, switched over HTTP. Fields that a request does not name are off.
 *
 * @typedef {Record<string, { off: number | boolean | null, range?: readonly [low: number, high: number] }>} FaultTable by name; `range` of
 *   a number, the others are true or false
 */

/** @param {FaultTable} table @returns {any} none of them */
const offOf = (table) => Object.freeze(Object.fromEntries(Object.entries(table).map(([name, { off }]) => [name, off])))

/**
 * @param {string} text JSON @param {FaultTable} table
 * @returns {any} the faults @throws {Error} one sentence per mistake
 */
function readFaults (text, table) {
  const names = Object.keys(table)
  const example = JSON.stringify({ [names[1]]: table[names[1]].range?.[1] ?? true })
  /** @type {any} */
  let faults
  try {
    faults = JSON.parse(text)
  } catch {
    throw new Error(`the body is not JSON; expected an object such as ${example}`)
  }
  if (faults === null || typeof faults !== 'object' || Array.isArray(faults)) {
    throw new Error(`the body is not an object; expected one such as ${example}`)
  }
  const wrong = Object.entries(faults).flatMap(([name, value]) => {
    if (!Object.hasOwn(table, name)) return [unknownName(name, names, `the faults are ${names.join(' ')}`)]
    const { range } = table[name]
    if (!range) return typeof value === 'boolean' ? [] : [`${name}: ${JSON.stringify(value)}; expected true or false`]
    const isValid = typeof value === 'number' && value >= range[0] && value <= range[1]
    return isValid ? [] : [`${name}: ${JSON.stringify(value)}; expected a number from ${range.join(' to ')}`]
  })
  if (wrong.length > 0) throw new Error(wrong.join('\n'))
  return { ...offOf(table), ...faults }
}
