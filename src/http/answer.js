/**
 * Answers about feeds: what they say about their age, and what is said when the servers are gone.
 *
 * The body is fixed when it is made, with `asOf` in it; everything that changes while it lies around (age, replica lag)
 * is in headers, so one body can be given again. When the servers cannot answer, the last answer to the same question
 * is given while it is younger than maxStaleMs, marked three ways: Age, Cache-Status (RFC 9211), Freshet-Stale. After
 * that the error itself goes out, 503. A question is the request's URL and the type of its answer.
 *
 * `max-age=0, stale-if-error` tells caches in front the same rule. Rejected: no-cache, which forbids them the second half.
 *
 * @typedef {{ asOf: number, lagMs: number | null, type: string, body: Buffer, next?: string | null }} Answer
 *   `next`: the cursor, for answers that have it in a header
 */
import { Counter } from 'prom-client'
import { createAnswerCache } from './answer-cache.js'

export const JSON_TYPE = 'application/json; charset=utf-8'
export const NDJSON_TYPE = 'application/x-ndjson; charset=utf-8'

/** @typedef {ReturnType<typeof createAnswers>} Answers */

/**
 * @param {{ registry: import('prom-client').Registry, maxStaleMs: number, clock: () => number }} options
 */
export function createAnswers ({ registry, maxStaleMs, clock }) {
  const cache = createAnswerCache(registry)
  const staleAnswers = new Counter({ name: 'freshet_stale_answers_total', help: 'Answers given from memory because the servers could not answer', registers: [registry] })
  const cacheControl = `max-age=0, stale-if-error=${Math.floor(maxStaleMs / 1000)}`

  /**
   * @param {import('fastify').FastifyReply} reply
   * @param {Omit<Answer, 'body'>} answer
   */
  function setHeaders (reply, { asOf, lagMs, type, next }) {
    reply.header('content-type', type).header('freshet-as-of', asOf).header('age', ageSeconds(asOf))
      .header('cache-control', cacheControl).header('x-content-type-options', 'nosniff')
    if (lagMs !== null) reply.header('freshet-lag-ms', Math.round(lagMs))
    if (next) reply.header('freshet-next', next)
  }

  /** @param {number} asOf */
  const ageSeconds = (asOf) => Math.max(0, Math.floor((clock() - asOf) / 1000))

  return {
    clock,
    setHeaders,

    /**
     * Asks, or repeats itself.
     * @param {import('fastify').FastifyRequest} request
     * @param {import('fastify').FastifyReply} reply
     * @param {string} type of the answer
     * @param {() => Promise<Answer | import('node:stream').Readable>} ask a stream has set its headers itself and is not kept
     * @returns {Promise<Buffer | import('node:stream').Readable>} the body
     */
    async give (request, reply, type, ask) {
      const question = `${type} ${request.url}`
      try {
        const answer = await ask()
        if (!('body' in answer)) return answer
        if (maxStaleMs > 0) cache.keep(question, answer)
        setHeaders(reply, answer)
        return answer.body
      } catch (error) {
        const kept = error.retryable ? cache.find(question) : null
        if (!kept || clock() - kept.asOf >= maxStaleMs) throw error
        staleAnswers.inc()
        setHeaders(reply, { ...kept, lagMs: null })
        reply.header('freshet-stale', 'true').header('cache-status', `freshet; hit; ttl=-${ageSeconds(kept.asOf)}; detail=${error.code}`)
        return kept.body
      }
    }
  }
}
