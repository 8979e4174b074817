/**
 * OpenAPI, built from the schemas of the routes: the document at /docs/json, a page at /docs. The page loads nothing from
 * other hosts, and its content security policy forbids it.
 */
import { readFileSync } from 'node:fs'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { addProblems } from './route-schemas.js'

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

const STYLE = new URL('docs.css', import.meta.url)
/** Swagger UI has the colours, but does not look at what the visitor prefers. */
const DARK = `const dark = matchMedia('(prefers-color-scheme: dark)')
const show = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', show)
show()
`

const FOR_ALL = 'Errors are application/problem+json with a stable `code`. Another method of a path is 405 with Allow.'
const BEARER = Object.freeze({ type: 'http', scheme: 'bearer', description: 'a token of --tokens, or a JSON Web Token' })

/**
 * Before any route: routes are described as they are added.
 * @param {import('fastify').FastifyInstance} app
 * @param {{ title: string, description: string, tags?: readonly string[], security?: import('./security/index.js').Security | null }} info
 *   `tags`: of routes besides those of feeds and processes
 */
export function describeRoutes (app, { title, description, tags = [], security = null }) {
  const bearer = Boolean(security?.access)
  const codes = [...(bearer ? ['UNAUTHORIZED', 'FORBIDDEN'] : []), ...(security?.rateLimit ? ['RATE_LIMITED'] : [])]
  /** @param {any} schema of a route */
  const guarded = (schema) => ({
    ...schema,
    ...(bearer ? { security: [{ bearer: [] }] } : {}),
    response: addProblems(schema.response, codes)
  })
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title, description: `${description} ${FOR_ALL}`, version: '1' },
      tags: ['feeds', ...tags, 'operating'].map((name) => ({ name })),
      ...(bearer ? { components: { securitySchemes: { bearer: /** @type {any} */ (BEARER) } } } : {})
    },
    transform: ({ schema, url, route }) => ({ url, schema: codes.length === 0 || isOpen(route) ? schema : guarded(schema) }),
    transformObject: (/** @type {any} */ { openapiObject }) => withOptionalBodies(openapiObject)
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
      theme: {
        title,
        css: [{ filename: 'docs.css', content: readFileSync(STYLE, 'utf8') }],
        js: [{ filename: 'dark.js', content: DARK }]
      },
      uiConfig: { layout: 'BaseLayout', tryItOutEnabled: true, syntaxHighlight: { theme: 'obsidian' } },
      staticCSP: /** @type {any} */ (CONTENT_POLICY)
    })
  })
}

/**
 * A body whose fields are all optional may be absent (input.js); the plugin says of every body that it is required.
 * @param {any} whole document
 */
function withOptionalBodies (whole) {
  for (const { requestBody } of Object.values(whole.paths).flatMap(Object.values)) {
    if (requestBody?.content['application/json']?.schema.required?.length === 0) requestBody.required = false
  }
  return whole
}

/** @param {any} route */
const isOpen = ({ config }) => ['public', 'optional'].includes(config?.access)
