/**
 * The API described from the routes themselves, as a document at /docs/json and as a page at /docs. The page loads
 * nothing from outside, and its content policy would not let it.
 */
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'

/** 'unsafe-inline' is for style alone: the page sets style attributes. */
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

/**
 * Before any route: routes are described as they are added.
 * @param {import('fastify').FastifyInstance} app
 * @param {{ title: string, description: string }} info
 */
export function describeRoutes (app, { title, description }) {
  app.register(swagger, { openapi: { openapi: '3.1.0', info: { title, description, version: '1' }, tags: [{ name: 'feeds' }, { name: 'operating' }] } })
  app.register(swaggerUi, {
    routePrefix: '/docs',
    theme: { title },
    uiConfig: { layout: 'BaseLayout', tryItOutEnabled: true },
    staticCSP: /** @type {any} */ (CONTENT_POLICY)
  })
}

const PARAMS = Object.freeze({
  feed: { type: 'string', description: 'name of the feed', maxLength: 64 },
  id: { type: 'string', description: 'id of the item, percent-encoded: 1-128 bytes of UTF-8' }
})

const HEADERS = Object.freeze({
  'Freshet-As-Of': { type: 'integer', description: 'when the answer was true: milliseconds since 1970, on the clock of this reader' },
  Age: { type: 'integer', description: 'seconds since then' },
  'Freshet-Lag-Ms': { type: 'integer', description: 'how far the replica that answered is behind; absent when that is not known' },
  'Freshet-Stale': { type: 'string', description: '"true": the servers cannot answer, this is the last answer to the same question' }
})

/**
 * What a route about feeds says of itself.
 * @param {{ summary: string, params?: ('feed' | 'id')[], query: Record<string, unknown>, content: Record<string, unknown> }} route
 *   `content`: media types of the 200 answer with their schemas
 */
export const feedRoute = ({ summary, params = [], query, content }) => ({
  tags: ['feeds'],
  summary,
  ...(params.length ? { params: { type: 'object', required: params, properties: Object.fromEntries(params.map((name) => [name, PARAMS[name]])) } } : {}),
  querystring: query,
  response: {
    200: { description: summary, headers: HEADERS, content: Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema }])) },
    default: PROBLEM
  }
})
