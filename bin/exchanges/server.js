/**
 * One local exchange over HTTP.
 *
 *     GET /ticker/:symbol       {symbol, price, volume, ts}; 404: ids that begin with "none", and those that no asset has
 *     GET, PUT, DELETE /faults  its faults
 *     GET /calls?since=         {total, symbols, calls}; DELETE starts again at zero
 *     GET /livez
 *
 * Pages of other origins on this machine may use it, for example to switch faults; those from elsewhere get 403.
 */
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { isLocalRequest, REFUSED } from '../../src/embedded/index.js'
import { createCalls } from './calls.js'
import { NO_FAULTS, readFaults } from './faults.js'
import { reply } from './reply.js'
import { createTicker } from './ticker.js'

/**
 * @typedef {import('node:http').IncomingMessage} Request
 * @typedef {import('node:http').ServerResponse} Response
 * @typedef {(request: Request, response: Response, url: URL) => unknown} Route
 */

const BASE = 'http://localhost'
const MAX_BODY_BYTES = 10_000

/** @typedef {{ name: string, seed: number, tickMs: number, latencyMs: number, log: import('pino').Logger }} Exchange */

/** @param {Exchange} exchange @returns {import('node:http').Server} not listening yet */
export function createExchange (exchange) {
  const routes = createRoutes(exchange)
  return createServer((request, response) => {
    if (!isLocalRequest(request.headers)) return reply(response, 403, { error: REFUSED })
    const path = request.url ?? '/'
    const url = new URL(URL.canParse(path, BASE) ? path : '/', BASE)
    allowOrigin(request, response)
    const [, place] = url.pathname.split('/')
    const known = Object.hasOwn(routes, place) ? routes[place] : null
    if (!known) return reply(response, 404, { error: `the routes are ${Object.keys(routes).map((one) => '/' + one).join(' ')}` })
    if (request.method === 'OPTIONS') return response.writeHead(204).end()
    const route = known[/** @type {string} */ (request.method)]
    const allow = Object.keys(known).join(', ')
    if (!route) return reply(response, 405, { error: `expected ${allow}` }, { allow })
    return route(request, response, url)
  })
}

/** @param {Exchange} exchange @returns {Record<string, Record<string, Route>>} */
function createRoutes (exchange) {
  const answer = createTicker(exchange)
  const calls = createCalls()
  let faults = NO_FAULTS

  /** @param {import('./faults.js').Faults} next */
  function set (next) {
    faults = next
    exchange.log.info({ exchange: exchange.name, faults }, 'faults')
  }

  return {
    ticker: {
      async GET (_, response, { pathname }) {
        const symbol = symbolOf(pathname)
        const call = calls.add(symbol)
        response.once('close', () => { if (response.headersSent) call.status = response.statusCode })
        await answer(response, symbol, faults)
      }
    },
    faults: {
      GET: (_, response) => reply(response, 200, faults),
      async PUT (request, response) {
        if (Number(request.headers['content-length'] ?? Infinity) > MAX_BODY_BYTES) {
          return reply(response, 413, { error: `the body has no length, or more than ${MAX_BODY_BYTES} bytes` }, { connection: 'close' })
        }
        const read = readFaults(await text(request).catch(() => ''))
        if ('wrong' in read) return reply(response, 400, { error: read.wrong })
        set(read.faults)
        reply(response, 200, faults)
      },
      DELETE (_, response) {
        set(NO_FAULTS)
        reply(response, 200, faults)
      }
    },
    calls: {
      GET (_, response, { searchParams }) {
        const since = searchParams.get('since') ?? '0'
        if (!/^\d{1,15}$/.test(since)) return reply(response, 400, { error: `since: ${since}; expected the number of a call` })
        reply(response, 200, calls.shown(Number(since)))
      },
      DELETE (_, response) {
        calls.clear()
        reply(response, 200, calls.shown(0))
      }
    },
    livez: { GET: (_, response) => reply(response, 200, { status: 'ok' }) }
  }
}

/** @param {string} pathname @returns {string} as it is, if it cannot be decoded: such a symbol is not listed */
function symbolOf (pathname) {
  const part = pathname.slice('/ticker/'.length)
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** @param {Request} request @param {Response} response */
function allowOrigin ({ headers: { origin } }, response) {
  response.setHeader('vary', 'origin')
  if (!origin) return
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-allow-methods', 'GET, PUT, DELETE')
  response.setHeader('access-control-allow-headers', 'content-type')
}
