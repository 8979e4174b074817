/**
 * Answers about feeds: how they are given, and what is said when the servers are gone. making.js says when one is made.
 *
 * A client that has the content hears only how fresh it is (304). When the servers cannot answer, the last answer to the
 * same question is given while it is younger than maxStaleMs, and so is what a view holds that has not heard of its feed
 * for longer than 1 s. Both are marked three ways: Age, Cache-Status (RFC 9211), Freshet-Stale. After that the error
 * itself goes out, 503. A question is the request's URL and the type of its answer.
 */
import { performance } from 'node:perf_hooks'
import { Counter } from 'prom-client'
import { createAnswerCache } from './answer-cache.js'
import { Flights } from './flights.js'
import { headOf } from './head.js'
import { createLoopUse } from './loop-use.js'
import { createMaking, liveOf, pauseOf } from './making.js'
import { isKnown } from './tag.js'
import { acceptsGzip, zip, zipAgainMs } from './zip.js'

export const JSON_TYPE = 'application/json; charset=utf-8'
export const NDJSON_TYPE = 'application/x-ndjson; charset=utf-8'

/** @typedef {ReturnType<typeof createAnswers>} Answers */
/** @typedef {import('./making.js').Answer} Answer */
/** @typedef {import('./head.js').Kind} Kind */
/** @typedef {import('./head.js').Live} Live */

const monotonic = () => performance.now()

/**
 * @param {{ registry: import('prom-client').Registry, maxStaleMs: number, clock: () => number, elapsed?: () => number,
 *   loopUse?: (nowMs: number) => number, revisionOf?: (feed: string) => import('./making.js').Revision | null }} options `clock`: ms since 1970; `elapsed`: ms that
 *   never go back; `loopUse`: how busy the loop is, 0 to 1; `revisionOf`: null when no view of the feed answers
 */
export function createAnswers ({ registry, maxStaleMs, clock, elapsed = monotonic, loopUse = createLoopUse(), revisionOf = () => null }) {
  const cache = createAnswerCache(registry)
  const { find, ready, lookAt } = createMaking({ registry, cache, maxStaleMs, clock, elapsed, loopUse, revisionOf })
  /** @type {Flights<Answer>} */
  const zipping = new Flights()
  const staleAnswers = new Counter({ name: 'freshet_stale_answers_total', help: 'Answers given from memory because the servers could not answer', registers: [registry] })
  const zips = new Counter({ name: 'freshet_zipped_answers_total', help: 'Answers compressed for those who take it, and those for which it does not pay', labelNames: ['pays'], registers: [registry] })

  /**
   * The same, or one made a little earlier, when that is being compressed.
   * @param {Answer} answer
   * @returns {Promise<Answer>}
   */
  async function zipped (answer) {
    if (answer.zipped !== undefined || elapsed() < answer.zipAgainMs) return answer
    return zipping.join(answer.question, async () => {
      const startedMs = elapsed()
      answer.zipped = await zip(answer.body)
      const nowMs = elapsed()
      zips.inc({ pays: answer.zipped === null ? 'no' : 'yes' })
      if (answer.zipped === null) answer.zipAgainMs = zipAgainMs(nowMs)
      else cache.grown(answer, answer.zipped.length)
      // other threads compress: how busy they are is not known
      if (answer.revision !== null) answer.goodUntilMs = Math.max(answer.goodUntilMs, answer.madeMs + pauseOf(answer.costMs + nowMs - startedMs, 1))
      return answer
    }).result
  }

  /** @param {import('./head.js').Said} said @param {Live} live @param {Kind} kind */
  const makeHead = (said, live, kind) => headOf(said, live, kind, { maxStaleMs, nowMs: clock() })

  /** @param {Answer} answer @param {Kind} kind @returns {string[]} as its `live` has it */
  function headOfKept (answer, kind) {
    const head = answer.heads[kind] ?? makeHead(answer, answer.live, kind)
    answer.heads[kind] = head
    return head
  }

  /**
   * @param {import('./making.js').Question} question
   * @param {import('./making.js').Make} make
   * @returns {Promise<{ answer: Answer, live: Live } | import('./making.js').Readable>}
   */
  async function findOrRepeat (question, make) {
    try {
      const answer = await find(question, make)
      return 'body' in answer ? { answer, live: answer.live } : answer
    } catch (error) {
      // what was true is not any more
      if (!error.retryable) cache.drop(question.question)
      const answer = error.retryable ? cache.findLast(question.question) : undefined
      if (!answer || clock() - answer.asOf >= maxStaleMs) throw error
      return { answer, live: { asOf: answer.asOf, lagMs: null, stale: error.code } }
    }
  }

  return {
    clock,
    elapsed,
    headOf: headOfKept,

    /** For those who answer in front of the router. @param {string} url @param {number} nowMs of `elapsed` @returns {Answer | undefined} */
    ready (url, nowMs) {
      const answer = ready(url, nowMs)
      return answer?.live.stale === null ? answer : undefined
    },

    /**
     * The head of a stream, which is nobody else's.
     * @param {import('fastify').FastifyReply} reply
     * @param {import('./head.js').Said & { lagMs: number | null }} said
     * @param {string} feed
     */
    setHead (reply, said, feed) {
      const live = liveOf(said, lookAt(feed))
      if (live.stale) staleAnswers.inc()
      setLines(reply, makeHead(said, live, 'identity'))
    },

    /**
     * Gives what is known, or makes it, or repeats itself.
     * @param {import('fastify').FastifyRequest} request
     * @param {import('fastify').FastifyReply} reply
     * @param {{ type?: string, feed?: string | null, vary?: string, makeNow?: import('./making.js').MakeNow }} about `feed`: a
     *   view of it may have the answer
     * @param {import('./making.js').Make} make a stream has set its headers itself
     * @returns {Promise<unknown>} what a handler returns
     */
    async give (request, reply, { type = JSON_TYPE, feed = null, vary = 'accept-encoding', makeNow }, make) {
      const { url, headers } = request
      const { record } = /** @type {any} */ (request.routeOptions.config)
      const found = await findOrRepeat({ question: type === JSON_TYPE ? url : `${type} ${url}`, feed, type, vary, record, makeNow }, make)
      if (!('answer' in found)) return found
      const takesGzip = !isKnown(headers['if-none-match'], found.answer.tag) && acceptsGzip(headers['accept-encoding'])
      const answer = takesGzip ? await zipped(found.answer) : found.answer
      const live = answer === found.answer ? found.live : answer.live
      if (live.stale) staleAnswers.inc()
      const kind = isKnown(headers['if-none-match'], answer.tag) ? 'known' : takesGzip && answer.zipped ? 'gzip' : 'identity'
      setLines(reply, live === answer.live ? headOfKept(answer, kind) : makeHead(answer, live, kind))
      if (kind === 'known') reply.code(304)
      // of HEAD fastify takes the length of what there would be
      if (kind === 'known' && request.method !== 'HEAD') return reply.send()
      return kind === 'gzip' ? answer.zipped : answer.body
    }
  }
}

/** @param {import('fastify').FastifyReply} reply @param {string[]} lines */
function setLines (reply, lines) {
  for (let i = 0; i < lines.length; i += 2) reply.header(lines[i], lines[i + 1])
}
