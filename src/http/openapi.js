/**
 * OpenAPI, built from the schemas of the routes: the document at /docs/json, a page at /docs. The page loads nothing from
 * other hosts, and its content security policy forbids it.
 */
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'

/** 'unsafe-inline' for styles only: the page sets style attributes. */
const CONTENT_POLICY = Object.freeze({
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'", "'unsafe-inline'"],
  'img-src': ["'self'", 'data:'],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"]
})

const PROBLEM = Object.freeze({
  description: 'A problem (RFC 9457); test `code`, never the text',
  content: {
    'application/problem+json': {
      schema: {
        type: 'object',
        required: ['type', 'title', 'status', 'detail', 'code', 'retryable'],
        properties: {
          type: { type: 'string' },
          title: { type: 'string' },
          status: { type: 'integer' },
          detail: { type: 'string' },
          code: { type: 'string' },
          retryable: { type: 'boolean' }
        }
      }
    }
  }
})

const BEARER = Object.freeze({ type: 'http', scheme: 'bearer', description: 'a token of --tokens, or a JSON Web Token' })

/**
 * Before any route: routes are described as they are added.
 * @param {import('fastify').FastifyInstance} app
 * @param {{ title: string, description: string, bearer?: boolean }} info `bearer`: routes need a token
 */
export function describeRoutes (app, { title, description, bearer = false }) {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title, description, version: '1' },
      tags: [{ name: 'feeds' }, { name: 'operating' }],
      ...(bearer ? { components: { securitySchemes: { bearer: /** @type {any} */ (BEARER) } } } : {})
    },
    transform: ({ schema, url, route }) =>
      ({ url, schema: bearer && !isOpen(route) ? { ...schema, security: [{ bearer: [] }] } : schema })
  })
  app.register(async (docs) => {
    docs.addHook('onRequest', (request, reply, done) => {
      reply.header('x-content-type-options', 'nosniff')
      // the plugin would redirect it to itself if it has a query
      if (request.routeOptions.url === '/docs/static/index.html') reply.redirect('/docs/')
      else done()
    })
    docs.register(swaggerUi, {
      routePrefix: '/docs',
      theme: { title },
      uiConfig: { layout: 'BaseLayout', tryItOutEnabled: true },
      staticCSP: /** @type {any} */ (CONTENT_POLICY)
    })
  })
}

/** @param {any} route */
const isOpen = ({ config }) => ['public', 'optional'].includes(config?.access)

const PARAMS = Object.freeze({
  feed: { type: 'string', description: 'name of the feed', maxLength: 64 },
  id: { type: 'string', description: 'id of the item, percent-encoded: 1-128 bytes of UTF-8' }
})

const HEADERS = Object.freeze({
  'Freshet-As-Of': {
    type: 'integer', description: 'time at which the content was current: milliseconds since 1970, on the clock of this reader'
  },
  Age: { type: 'integer', description: 'seconds since Freshet-As-Of' },
  ETag: { type: 'string', description: 'of the content without its time; with If-None-Match, unchanged content is 304 without a body' },
  'Freshet-Lag-Ms': { type: 'integer', description: 'lag of the replica that was read; absent when unknown' },
  'Freshet-Stale': { type: 'string', description: '"true": the servers are unavailable, this is an earlier response to the same request' }
})

/** @param {Record<string, unknown>} content media types with their schemas */
const described = (content) => Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema }]))

/**
 * The schema of a route about feeds.
 * @param {{ summary: string, params?: ('feed' | 'id')[], query: Record<string, unknown>, body?: Record<string, unknown>,
 *   content: Record<string, unknown>, headers?: Record<string, unknown> }} route
 *   `body`: accepted media types with their schemas; `content`: those of the 200 response; `headers`: of the 200 response,
 *   in place of those about its age
 */
export const feedRoute = ({ summary, params = [], query, body, content, headers }) => ({
  tags: ['feeds'],
  summary,
  ...(params.length
    ? { params: { type: 'object', required: params, properties: Object.fromEntries(params.map((name) => [name, PARAMS[name]])) } }
    : {}),
  querystring: query,
  ...(body ? { body: { content: described(body) } } : {}),
  response: {
    200: { description: summary, headers: headers ?? HEADERS, content: described(content) },
    ...(headers ? {} : { 304: { description: 'The content is the one that If-None-Match names', headers: HEADERS } }),
    default: PROBLEM
  }
})
