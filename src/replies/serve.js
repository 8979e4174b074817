/**
 * Sends replies about feeds, out of the cache where possible (reply-cache.js), as 304 to clients that have the content.
 *
 * While the servers are unavailable, the last reply to the same request is sent if it is younger than maxStaleMs; so is
 * the content of a view that is more than 1 s behind. Both are marked by Age, Cache-Status (RFC 9211) and Freshet-Stale.
 * After that the error itself is sent, 503.
 */
import { performance } from 'node:perf_hooks'
import { Counter } from 'prom-client'
import { whenClosed } from '../http/index.js'
import { acceptsGzip, headOf, matchesTag } from './headers.js'
import { createCompressor } from './compress.js'
import { createItemSizes } from './item-sizes.js'
import { createReplyCache, createReplyStore, freshnessOf } from './reply-cache.js'
import { bodyFor, kindFor } from './reply-kind.js'

export const JSON_TYPE = 'application/json; charset=utf-8'
export const NDJSON_TYPE = 'application/x-ndjson; charset=utf-8'

/** @typedef {ReturnType<typeof createReplies>} Replies */
/** @typedef {import('./reply-cache.js').CachedReply} CachedReply */
/** @typedef {import('./headers.js').Freshness} Freshness */
/** @typedef {import('./headers.js').Kind} Kind */

/**
 * @param {{ registry: import('prom-client').Registry, budget: import('./reply-cache.js').Budget, maxStaleMs: number,
 *   clock: () => number, elapsed?: () => number,
 *   revisionOf?: (feed: string) => import('./reply-cache.js').Revision | null }} options
 *   `clock`: ms since 1970; `elapsed`: monotonic, ms; `revisionOf`: null when no view of the feed answers
 */
export function createReplies ({ registry, budget, maxStaleMs, clock, elapsed = () => performance.now(), revisionOf = () => null }) {
  const store = createReplyStore(registry)
  const cache = createReplyCache({ registry, store, budget, maxStaleMs, clock, elapsed, revisionOf })
  const compressed = createCompressor({ registry, store, budget, elapsed })
  const staleReplies = new Counter({
    name: 'freshet_stale_replies_total',
    help: 'Total stale replies served because no server answered or the view was behind',
    registers: [registry]
  })

  /** @param {import('./headers.js').Headed} reply @param {Freshness} freshness @param {Kind} kind */
  const buildHead = (reply, freshness, kind) => headOf(reply, freshness, kind, { maxStaleMs, nowMs: clock() })

  /** @param {CachedReply} reply @param {Kind} kind @returns {string[]} with its `freshness` */
  function cachedHead (reply, kind) {
    const head = reply.heads[kind] ?? buildHead(reply, reply.freshness, kind)
    reply.heads[kind] = head
    return head
  }

  /**
   * @param {import('./reply-cache.js').ReplyRequest} request
   * @param {import('./reply-cache.js').Build} build
   * @returns {Promise<{ reply: CachedReply, freshness: Freshness } | import('./reply-cache.js').Readable>}
   */
  async function getOrStale (request, build) {
    try {
      const reply = await cache.get(request, build)
      return 'body' in reply ? { reply, freshness: reply.freshness } : reply
    } catch (error) {
      // an error that is not retryable (such as FEED_UNKNOWN) replaces the content
      if (!error.retryable && error.code !== 'CLIENT_GONE') store.delete(request.key)
      const reply = error.retryable ? store.getStale(request.key) : undefined
      if (!reply || clock() - reply.asOf >= maxStaleMs) throw error
      return { reply, freshness: { asOf: reply.asOf, lagMs: null, stale: error.code } }
    }
  }

  /** @param {string} url @param {number} nowMs of `elapsed` @returns {CachedReply | undefined} of JSON, not stale */
  function getNow (url, nowMs) {
    try {
      const reply = cache.getNow(url, nowMs)
      return reply?.freshness.stale === null ? reply : undefined
    } catch {
      // `serve` meets the same error and reports it
    }
  }

  return {
    clock,
    budget,
    sizes: createItemSizes(),

    /**
     * Sends a JSON reply that is cached or can be built at once; a handler leaves everything else to `serve`.
     * @param {import('fastify').FastifyRequest} request
     * @param {import('fastify').FastifyReply} reply
     * @returns {boolean} whether it was sent
     */
    serveNow (request, reply) {
      if (request.method !== 'GET') return false
      const nowMs = elapsed()
      const cachedReply = getNow(request.url, nowMs)
      const kind = cachedReply && kindFor(request.raw.rawHeaders, cachedReply, nowMs)
      if (!kind) return false
      setHeaders(reply, cachedHead(cachedReply, kind))
      if (kind === 'notModified') reply.code(304)
      // null would be sent as JSON
      reply.send(bodyFor(cachedReply, kind) ?? undefined)
      return true
    },

    /**
     * Sets the headers of a stream, which is not cached.
     * @param {import('fastify').FastifyReply} reply
     * @param {import('./headers.js').Headed & { lagMs: number | null }} headed
     * @param {string} feed
     */
    setStreamHeaders (reply, headed, feed) {
      const freshness = freshnessOf(headed, cache.viewStateOf(feed))
      if (freshness.stale) staleReplies.inc()
      setHeaders(reply, buildHead(headed, freshness, 'identity'))
    },

    /**
     * @param {import('fastify').FastifyRequest} request
     * @param {import('fastify').FastifyReply} reply
     * @param {{ type?: string, feed?: string | null, vary?: string, buildNow?: import('./reply-cache.js').BuildNow,
     *   bytesOf?: () => number, of?: string, isPrivate?: boolean }} about `feed`: a view of it may have the reply; `bytesOf`: an estimate
     *   of the memory that building it takes, default: little; `of`: for replies that differ by client: which one this is; `isPrivate`: it
     *   is of a client that may see some ids only
     * @param {import('./reply-cache.js').Build} build sets the headers itself if it returns a stream
     * @returns {Promise<unknown>} what a handler returns
     */
    async serve (request, reply, about, build) {
      const { type = JSON_TYPE, feed = null, vary = 'accept-encoding', buildNow, bytesOf = () => 0, of } = about
      const { isPrivate = false } = about
      const { url, headers } = request
      const key = type === JSON_TYPE && of === undefined ? url : `${type} ${url} ${of ?? ''}`
      const onGone = (/** @type {() => void} */ gone) => whenClosed(reply.raw, gone)
      const result = await getOrStale({ key, feed, type, vary, isPrivate, buildNow, bytesOf, onGone }, build)
      if (!('reply' in result)) return result
      const isMatch = (/** @type {CachedReply} */ { tag }) => matchesTag(headers['if-none-match'], tag)
      const takesGzip = !isMatch(result.reply) && acceptsGzip(headers['accept-encoding'])
      const sent = takesGzip ? await compressed(result.reply) : result.reply
      const freshness = sent === result.reply ? result.freshness : sent.freshness
      if (freshness.stale) staleReplies.inc()
      const kind = isMatch(sent) ? 'notModified' : takesGzip && sent.gzipped ? 'gzip' : 'identity'
      setHeaders(reply, freshness === sent.freshness ? cachedHead(sent, kind) : buildHead(sent, freshness, kind))
      if (kind === 'notModified') reply.code(304)
      // fastify computes the length of HEAD from the body
      if (kind === 'notModified' && request.method !== 'HEAD') return reply.send()
      return kind === 'gzip' ? sent.gzipped : sent.body
    }
  }
}

/** @param {import('fastify').FastifyReply} reply @param {string[]} lines */
function setHeaders (reply, lines) {
  for (let i = 0; i < lines.length; i += 2) reply.header(lines[i], lines[i + 1])
}
