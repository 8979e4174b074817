/**
 * Routes of a system, from the tables of its definition (src/systems/definition.js): what a request must have is read and checked here, all
 * faults at once, and `run` gets it.
 *
 * @typedef {object} RequestInput of a request
 * @property {Record<string, string>} params of the path: ids
 * @property {Record<string, any>} query fields
 * @property {any} body fields, null for those that are absent; of a raw one the text
 * @property {string} requestId Idempotency-Key, or without one a new id
 * @property {import('node:http').IncomingHttpHeaders} headers
 * @property {string} id of the request in the log
 *
 * @typedef {RequestInput & { mayAs: (scope: 'read' | 'write' | 'admin') => boolean | null }} QueryInput `mayAs`: whether its token has the
 *   scope for the system; null: no tokens are needed
 *
 * @typedef {{ status: number, body?: unknown, isReplay?: boolean }} Reply
 *
 * @typedef {object} CommandRow
 * @property {string} [method] POST without it
 * @property {string} path each `:name` of it is an id
 * @property {'write' | 'admin' | 'public'} [access] write without it
 * @property {string} summary
 * @property {Record<string, import('../fields/index.js').BodyField>} [body] may be absent if no field is required
 * @property {boolean} [isRaw] any body, as text
 * @property {Record<number, object>} schemas of replies, by status
 * @property {string[]} codes of errors, besides those of every command
 * @property {(input: RequestInput, systemCommands: any, parts: any) => Reply | Promise<Reply>} run
 *
 * @typedef {object} QueryRow
 * @property {string} path
 * @property {'read' | 'write' | 'admin'} [access] read without it
 * @property {string} summary
 * @property {Record<string, import('../fields/index.js').Field>} [fields] of the query
 * @property {object} reply schema @property {Record<number, object>} [replies] instead, by status
 * @property {string[]} [codes] of errors
 * @property {string} [type] media type; application/json without it
 * @property {(input: RequestInput) => unknown} [none] the reply while nothing of the system is stored; without it, the error that says so
 * @property {boolean} [isOfDatabase] the servers are not asked: `run` gets the database
 * @property {(input: QueryInput, systemQueries: any, reply: import('fastify').FastifyReply, parts: any) => unknown} run
 */
import { randomUUID } from 'node:crypto'
import { ID_FIELD, NO_FIELDS } from '../fields/index.js'
import { bodyOf, takeBodies } from './body.js'
import { readObject } from './input.js'
import { commandRoute } from './route-schemas.js'

const JSON_TYPE = 'application/json'
const MAX_BODY_BYTES = 16 * 1024
const COMMAND_CODES = Object.freeze([
  'FIELD_INVALID', 'IDEMPOTENCY_KEY_REUSED', 'PAYLOAD_TOO_LARGE', 'MEDIA_TYPE_UNSUPPORTED', 'ADMISSION_FULL', 'ADMISSION_BACKLOG',
  'ADMISSION_LATE', 'NOT_CONFIRMED'
])

/** @param {string} path */
const paramsOf = (path) => Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, name]) => [name, ID_FIELD]))

/** The header Idempotency-Key, or without one a new id. @param {import('node:http').IncomingHttpHeaders} headers @returns {string} */
export const requestIdOf = ({ 'idempotency-key': key }) => key === undefined ? randomUUID() : String(key)

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ name: string, commands: Record<string, CommandRow>, systemCommands: unknown, parts: unknown,
 *   budget: import('./body.js').BodyBudget }} parts `systemCommands`: what `run` gets of the system; `parts`: of the process
 */
export async function commandRoutes (app, { name, commands, systemCommands, parts, budget }) {
  takeBodies(app, { types: [JSON_TYPE], maxBytes: MAX_BODY_BYTES, budget })
  for (const row of Object.values(commands)) {
    const { method = 'POST', path, access = 'write', summary, body = {}, isRaw, schemas, codes, run } = row
    app.route({
      method,
      url: path,
      config: /** @type {any} */ ({ access, system: name }),
      schema: commandRoute({
        summary,
        tag: name,
        params: paramsOf(path),
        command: isRaw ? null : body,
        content: schemas,
        codes: [...COMMAND_CODES, ...codes]
      }),
      ...(isRaw ? {} : { preValidation: readObject }),
      async handler (request, response) {
        const { headers, id } = request
        const params = /** @type {Record<string, string>} */ (request.params)
        const fields = isRaw ? bodyOf(request).bytes.toString() : request.body
        const input = { params, query: {}, body: fields, requestId: requestIdOf(headers), headers, id }
        const { status, body: text, isReplay } = await run(input, systemCommands, parts)
        if (isReplay) response.header('idempotent-replayed', 'true')
        return response.code(status).send(text)
      }
    })
  }
}

/**
 * The schema of a query, or of a stream.
 * @param {string} name of the system
 * @param {Pick<QueryRow, 'path' | 'summary' | 'fields' | 'reply' | 'replies' | 'codes' | 'type'>} row
 */
export const querySchemaOf = (name, { path, summary, fields = NO_FIELDS, reply, replies: content = { 200: reply }, codes = [], type }) =>
  commandRoute({ summary, tag: name, params: paramsOf(path), query: fields, content, type, codes })

/** @param {import('fastify').FastifyRequest} request @returns {RequestInput} */
export const inputOfQuery = ({ params, query, headers, id }) =>
  ({ params: /** @type {any} */ (params), query: /** @type {any} */ (query), body: null, requestId: '', headers, id })

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ name: string, queries: Record<string, QueryRow>, unknown: string, opened: () => Promise<{ systemReader: any, parts: any }>,
 *   database: unknown, access: import('./security/index.js').Access | null }} parts `unknown`: code of the error of `opened` while nothing
 *   of the system is stored
 */
export async function queryRoutes (app, { name, queries, unknown, opened, database, access }) {
  app.addHook('onSend', async (_request, reply) => { if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store') })
  for (const row of Object.values(queries)) {
    const { path, access: scope = 'read', none, isOfDatabase, run } = row
    app.get(path, {
      config: /** @type {any} */ ({ access: scope, system: name }),
      schema: querySchemaOf(name, row)
    }, async (request, reply) => {
      const { grant } = /** @type {{ grant?: import('./security/index.js').Grant }} */ (/** @type {unknown} */ (request))
      /** @type {QueryInput['mayAs']} */
      const mayAs = (neededScope) => access ? Boolean(grant && access.stillPermits(grant, neededScope, `@${name}`)) : null
      const input = { ...inputOfQuery(request), mayAs }
      if (isOfDatabase) return run(input, database, reply, null)
      const system = await opened().catch((error) => {
        if (none && error.code === unknown) return null
        throw error
      })
      return system === null ? none?.(input) : run(input, system.systemReader.queries, reply, system.parts)
    })
  }
}
