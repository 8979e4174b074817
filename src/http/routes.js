/**
 * Requests that no route takes: 405 with Allow if the path has routes for other methods, else 404. The router does not tell which
 * methods a path has, so the patterns are matched again; only requests that are refused pay for it.
 */
import { FreshetError } from './errors.js'

/**
 * @returns {{ onRoute: (route: import('fastify').RouteOptions) => void,
 *   faultOf: (request: import('fastify').FastifyRequest) => FreshetError }} a hook, and the error for a request without a route
 */
export function createUnrouted () {
  /** @type {Map<string, { pattern: RegExp, methods: Set<string> }>} by URL of the routes */
  const routes = new Map()
  return {
    onRoute ({ url, method }) {
      // a route for every path makes none of them known
      if (url === '*' || url === '/*') return
      const route = routes.get(url) ?? { pattern: patternOf(url), methods: new Set() }
      routes.set(url, route)
      for (const one of [method].flat()) route.methods.add(one)
    },

    faultOf ({ method, url }) {
      const path = url.split('?', 1)[0]
      const known = [...routes.values()].filter(({ pattern }) => pattern.test(path))
      const allow = [...new Set(known.flatMap(({ methods }) => [...methods]))].sort()
      // a route for files refuses names that it does not have
      if (allow.length === 0 || allow.includes(method)) {
        return new FreshetError('NOT_FOUND', `${method} ${path} is not a route; /docs lists them`)
      }
      return new FreshetError('METHOD_NOT_ALLOWED', `${method} ${path}; expected ${allow.join(' or ')}`, { allow })
    }
  }
}

/** @param {string} url of a route, such as /v1/feeds/:feed or /docs/static/* */
const patternOf = (url) => new RegExp('^' + url.split('/').map((part) => part.startsWith(':')
  ? '[^/]*'
  : part.split('*').map((text) => text.replace(/[^\w-]/g, '\\$&')).join('.*')).join('/') + '$')
