/**
 * A reader inside of a server that there is already: Express, Fastify, Next.js or plain Node.js. `freshet-feed/reader` exports it.
 *
 *     import { openReaderHandler } from 'freshet-feed/reader'
 *     const feeds = await openReaderHandler({ redisUrl: 'redis://127.0.0.1:6379', feeds: ['positions'] })
 *     app.use('/feeds', feeds)                    // Express: GET /feeds/v1/feeds/positions/items
 *     await feeds.close()
 */
// requests are those of Node.js, whose types must be referenced
/// <reference types="node" preserve="true" />
import { invalid, shown } from '../src/arguments.js'
import { checkFeedName } from '../src/feeds/index.js'
import { ALL_FEEDS, permits } from '../src/http/index.js'
import { EXPECTED_IDS, readIdFilter } from '../src/item/index.js'
import { openReader } from '../src/index.js'
import { insideOfReader } from '../src/inside.js'
import { createReaderRegistry } from '../src/metrics/index.js'
import { createReaderApp } from './app.js'

const MAX_STREAMS = 1000
/** of the last replies, which are served while the servers are unreachable */
const MAX_STALE_MS = 10_000
const PREFIX = /^(\/[^/?#]+)+$/

/**
 * @typedef {import('node:http').IncomingMessage} Request
 * @typedef {import('node:http').ServerResponse} Response
 * @typedef {readonly string[] | ((request: Request) => readonly string[] | Promise<readonly string[]>)} Feeds names of feeds, or
 *   beginnings such as `tenant-3.*`, or a function that returns those of a request; others are 403. `*` = all
 * @typedef {readonly string[] | ((request: Request) => readonly string[] | Promise<readonly string[]>)} Ids ids of items, or beginnings
 *   such as `bus-*`, or a function that returns those of a request; nothing of others shows. `*` = all
 */

/**
 * Servers as for openReader, and what is served.
 * @typedef {object} HandlerOptions
 * @property {Feeds} [feeds] which may be read; default: all
 * @property {Ids} [ids] which items of these feeds may be read; default: all
 * @property {string} [prefix] what comes before /v1 in the URLs that the handler gets, such as /api/feeds; default: nothing, as with
 *   `app.use('/feeds', feeds)` of Express, which removes it
 * @property {number} [maxStreams] concurrent /live streams; further ones are 503; default: 1,000
 */

/**
 * @typedef {object} ReaderHandler
 * @property {() => Promise<string>} metrics in the text format of Prometheus, for your own /metrics
 * @property {() => import('../src/reader.js').ReaderStatus} status whether queries can be answered, and the state of each server
 * @property {() => Promise<void>} close ends streams and closes all connections; requests that come later are 503
 */

/**
 * Opens servers for reading, and returns a handler of requests: pages of items, items by id, counts, definitions and live streams.
 * @param {import('../src/options.js').ServerOptions & HandlerOptions} options
 * @returns {Promise<((request: Request, response: Response) => void) & ReaderHandler>}
 * @throws {import('../src/errors.js').FreshetError} ARGUMENT_INVALID, FEED_NAME_INVALID, SETTINGS_INVALID (all faults at once),
 *   SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_UNTRUSTED
 */
export async function openReaderHandler (options) {
  const { feeds = [ALL_FEEDS], ids = [ALL_FEEDS], prefix = '', maxStreams = MAX_STREAMS, ...servers } = options ?? {}
  const access = accessTo(feeds, ids)
  if (prefix !== '' && !(typeof prefix === 'string' && PREFIX.test(prefix))) {
    throw invalid(`prefix ${shown(prefix)}; expected a path such as "/api/feeds", without a slash at its end`)
  }
  if (!Number.isInteger(maxStreams) || maxStreams < 0) throw invalid(`maxStreams ${shown(maxStreams)}; expected an integer of 0 or more`)
  const reader = await openReader(servers)
  const { queries, deployment } = insideOfReader(reader)
  const registry = createReaderRegistry(deployment, queries.figures)
  const app = createReaderApp({
    queries,
    registry,
    maxStaleMs: MAX_STALE_MS,
    security: { access, tls: null, corsOrigin: null, rateLimit: null, trustedProxies: null, close () {} },
    caps: { maxStreams, maxStreamsPerToken: maxStreams },
    deployment,
    onlyFeeds: true
  })
  await app.ready()

  /** @param {Request} request @param {Response} response */
  function handle (request, response) {
    const { url = '' } = request
    // a request for another path is answered by 404, as it is
    if (prefix !== '' && url.startsWith(`${prefix}/`)) request.url = url.slice(prefix.length)
    app.server.emit('request', request, response)
  }

  return Object.assign(handle, {
    metrics: () => registry.metrics(),
    status: reader.status,
    async close () {
      await app.close()
      await reader.close()
    }
  })
}

/**
 * @param {Feeds} feeds @param {Ids} ids
 * @returns {import('../src/http/index.js').Access} what takes the place of tokens
 */
function accessTo (feeds, ids) {
  const always = typeof feeds === 'function' || typeof ids === 'function' ? null : grantOf(feeds, ids)
  /** @param {Feeds | Ids} permitted @param {Request} request */
  const of = (permitted, request) => typeof permitted === 'function' ? permitted(request) : permitted
  return {
    identify: (_authorization, request) =>
      always ?? Promise.all([of(feeds, request), of(ids, request)])
        .then(([permittedFeeds, permittedIds]) => grantOf(permittedFeeds, permittedIds)),
    stillPermits: permits,
    listen () {},
    close () {}
  }
}

/** @param {readonly string[]} names @param {readonly string[]} ids @returns {import('../src/http/index.js').Grant} */
function grantOf (names, ids) {
  if (!Array.isArray(names)) throw invalid(`feeds: ${shown(names)}; expected an array of names, or a function that returns one`)
  for (const name of names) if (name !== ALL_FEEDS) checkFeedName(typeof name === 'string' ? name.replace(/\*$/, '') : name)
  const filter = readIdFilter(ids)
  if (typeof filter === 'string') throw invalid(`ids: ${filter}; expected ${EXPECTED_IDS}, or a function that returns them`)
  return { id: null, scopes: new Set(['read']), feeds: new Set(names), ids: filter, untilMs: Infinity }
}
