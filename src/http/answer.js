/**
 * Answers about feeds: made once, given to all who ask meanwhile, and what is said when the servers are gone.
 *
 *     with a view      an answer is given again while its question's revision is the same, for 1 s (its `asOf` is in its
 *                      body), and after a change for as long as making it anew would be dear: 5 ms, or ten times what the
 *                      last making took when that is more. So a question costs a tenth of a core at most, whoever asks.
 *     without a view   one fetch is under way for a question; who asks meanwhile gets what it brings. Nothing is kept on.
 *
 * The body is fixed when it is made, with `asOf` in it; everything that changes while it lies around (age, replica lag)
 * is in headers (head.js), so one body can be given again, and a client that has it hears only that (304).
 *
 * When the servers cannot answer, the last answer to the same question is given while it is younger than maxStaleMs, and
 * so is what a view holds that has not heard of its feed for longer than 1 s. Both are marked three ways: Age,
 * Cache-Status (RFC 9211), Freshet-Stale. After that the error itself goes out, 503. A question is the request's URL
 * and the type of its answer.
 *
 * @typedef {object} Made what a route makes
 * @property {number} asOf @property {number | null} lagMs @property {Buffer} body
 * @property {(Buffer | string)[]} content all of the answer that is not its time
 * @property {string | null} [next] the cursor, for answers that have it in a header
 *
 * @typedef {object} Kept what becomes of it
 * @property {string} question @property {string | null} feed that a view may know @property {string} type @property {string} vary @property {string} tag
 * @property {import('./metrics.js').RouteRecord | undefined} record
 * @property {string | null} revision of the view that it was made from
 * @property {import('./head.js').Live} live
 * @property {number} madeMs on the clock of `elapsed` @property {number} tookMs
 * @property {number} goodUntilMs before it, it is given without a further look
 * @property {Buffer | null | undefined} zipped null: it does not pay; undefined: nobody asked
 * @property {number} zipAgainMs before it, compressing it is not tried
 * @property {Partial<Record<import('./head.js').Kind, string[]>>} heads as `live` has them
 * @property {Partial<Record<import('./head.js').Kind, Buffer>>} wholes the same with their bodies, as they go out
 * @typedef {Made & Kept} Answer
 * @typedef {{ question: string, feed: string | null, type: string, vary: string, request: import('fastify').FastifyRequest }} About
 *
 * @typedef {{ key: string, asOf: number, lagMs: number | null }} Revision of a feed's view: while `key` is the same, so is
 *   its content; `asOf`: when it last heard of its feed
 * @typedef {{ key: string, isTooOld: boolean, live: import('./head.js').Live }} Seen of a view, now
 */
import { performance } from 'node:perf_hooks'
import { Counter } from 'prom-client'
import { FreshetError } from '../errors.js'
import { createAnswerCache } from './answer-cache.js'
import { Flights } from './flights.js'
import { headOf } from './head.js'
import { isKnown, tagOf } from './tag.js'
import { acceptsGzip, zip, zipAgainMs } from './zip.js'

export const JSON_TYPE = 'application/json; charset=utf-8'
export const NDJSON_TYPE = 'application/x-ndjson; charset=utf-8'

/** Nothing is made anew, or looked at again, within it. */
const LOOK_EVERY_MS = 5
/** A question is being made for so small a part of the time at most, but it is made at least so often. */
const SHARE = 10
const LOOK_AT_LEAST_MS = 50
/** Unchanged content is made anew after it, so that the time in it goes on. */
const RENEW_MS = 1000
/** A view that has heard nothing of its feed for so long is behind. */
const BEHIND_MS = 1000

const monotonic = () => performance.now()

/** @typedef {ReturnType<typeof createAnswers>} Answers */
/** @typedef {import('node:stream').Readable} Readable */

/**
 * @param {{ registry: import('prom-client').Registry, maxStaleMs: number, clock: () => number, elapsed?: () => number,
 *   revisionOf?: (feed: string) => Revision | null }} options `clock`: ms since 1970; `elapsed`: ms that never go back;
 *   `revisionOf`: null when no view of the feed answers
 */
export function createAnswers ({ registry, maxStaleMs, clock, elapsed = monotonic, revisionOf = () => null }) {
  const cache = createAnswerCache(registry)
  /** @type {Flights<Answer | Readable>} */
  const flights = new Flights()
  /** @type {Flights<Answer>} */
  const zipping = new Flights()
  const staleAnswers = new Counter({ name: 'freshet_stale_answers_total', help: 'Answers given from memory because the servers could not answer', registers: [registry] })
  const shared = { again: 0, together: 0 }
  const zips = new Counter({ name: 'freshet_zipped_answers_total', help: 'Answers compressed for those who take it, and those for which it does not pay', labelNames: ['pays'], registers: [registry] })
  // eslint-disable-next-line no-new
  new Counter({
    name: 'freshet_shared_answers_total',
    help: 'Answers that were not made for their request alone: made before, or under way when it came',
    labelNames: ['how'],
    registers: [registry],
    collect () {
      this.reset()
      this.inc({ how: 'again' }, shared.again)
      this.inc({ how: 'together' }, shared.together)
    }
  })

  /** @param {number} tookMs */
  const pauseOf = (tookMs) => Math.min(LOOK_AT_LEAST_MS, Math.max(LOOK_EVERY_MS, SHARE * tookMs))

  /** @param {string | null} feed @returns {Seen | null} null: it is not answered from a view */
  function lookAt (feed) {
    const revision = feed === null ? null : revisionOf(feed)
    if (!revision) return null
    const { key, asOf, lagMs } = revision
    const ageMs = clock() - asOf
    if (ageMs < BEHIND_MS) return { key, isTooOld: false, live: { asOf, lagMs, stale: null } }
    return { key, isTooOld: ageMs >= maxStaleMs, live: { asOf, lagMs: null, stale: 'VIEW_BEHIND' } }
  }

  /** @param {{ asOf: number, lagMs: number | null }} made @param {Seen | null} seen before it was made @returns {import('./head.js').Live} */
  const liveOf = ({ asOf, lagMs }, seen) => seen?.live.stale ? { ...seen.live, asOf } : { asOf, lagMs, stale: null }

  /**
   * @param {Answer} answer
   * @param {number} nowMs of `elapsed`
   * @returns {boolean} it may be given now: it was looked at a moment ago, or its content is still the same
   */
  function isGood (answer, nowMs) {
    if (nowMs < answer.goodUntilMs) return true
    if (answer.revision === null || nowMs - answer.madeMs >= RENEW_MS) return false
    const seen = lookAt(answer.feed)
    if (seen?.key !== answer.revision || seen.isTooOld) return false
    answer.live = seen.live
    answer.heads = {}
    answer.wholes = {}
    answer.goodUntilMs = Math.min(nowMs + LOOK_EVERY_MS, answer.madeMs + RENEW_MS)
    return true
  }

  /**
   * @param {About} about
   * @param {Seen | null} seen
   * @param {() => Promise<Made | Readable>} make
   * @returns {Promise<Answer | Readable>}
   */
  async function makeKept ({ question, feed, type, vary, request }, seen, make) {
    const madeMs = elapsed()
    const made = await make()
    if (!('body' in made)) return made
    const tookMs = elapsed() - madeMs
    /** @type {Answer} */
    const answer = {
      ...made,
      question,
      feed,
      type,
      vary,
      record: /** @type {any} */ (request.routeOptions.config).record,
      tag: tagOf(made.content),
      content: [],
      revision: seen && seen.key,
      live: liveOf(made, seen),
      madeMs,
      tookMs,
      goodUntilMs: seen ? madeMs + pauseOf(tookMs) : -Infinity,
      zipped: undefined,
      zipAgainMs: cache.find(question)?.zipAgainMs ?? -Infinity,
      heads: {},
      wholes: {}
    }
    if (seen || maxStaleMs > 0) cache.keep(answer)
    return answer
  }

  /**
   * @param {About} about
   * @param {() => Promise<Made | Readable>} make
   */
  async function find (about, make) {
    const known = cache.find(about.question)
    if (known && isGood(known, elapsed())) return again(known)
    const seen = lookAt(about.feed)
    if (seen?.isTooOld) throw new FreshetError('VIEW_BEHIND', `the view of feed ${about.feed} has heard nothing for so long that nothing is answered from it; answers may be ${maxStaleMs} ms old`)
    const { result, isFirst } = flights.join(about.question, () => makeKept(about, seen, make))
    if (isFirst) return result
    const answer = await result
    if (!('body' in answer)) return makeKept(about, seen, make)
    shared.together++
    return answer
  }

  /** @param {Answer} answer */
  function again (answer) {
    shared.again++
    return answer
  }

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
      if (answer.revision !== null) answer.goodUntilMs = Math.max(answer.goodUntilMs, answer.madeMs + pauseOf(answer.tookMs + nowMs - startedMs))
      return answer
    }).result
  }

  /** @param {Answer} answer @param {import('./head.js').Kind} kind */
  function headOfKept (answer, kind) {
    answer.heads[kind] ??= headOf(answer, answer.live, kind, { maxStaleMs, nowMs: clock() })
    return answer.heads[kind]
  }

  return {
    clock,
    elapsed,
    headOf: headOfKept,

    /**
     * An answer that lies ready, to a question of JSON.
     * @param {string} url @param {number} nowMs of `elapsed`
     * @returns {Answer | undefined}
     */
    ready (url, nowMs) {
      const answer = cache.find(url)
      return answer !== undefined && isGood(answer, nowMs) && answer.live.stale === null ? answer : undefined
    },

    /** It was given. */
    again,

    /**
     * The head of a stream, which is nobody else's.
     * @param {import('fastify').FastifyReply} reply
     * @param {import('./head.js').Said & { lagMs: number | null }} said
     * @param {string} feed
     */
    setHead (reply, said, feed) {
      const live = liveOf(said, lookAt(feed))
      if (live.stale) staleAnswers.inc()
      setLines(reply, headOf(said, live, 'identity', { maxStaleMs, nowMs: clock() }))
    },

    /**
     * Gives what is known, or makes it, or repeats itself.
     * @param {import('fastify').FastifyRequest} request
     * @param {import('fastify').FastifyReply} reply
     * @param {{ type?: string, feed?: string | null, vary?: string }} about `feed`: a view of it may have the answer
     * @param {() => Promise<Made | Readable>} make a stream has set its headers itself and is not kept
     * @returns {Promise<unknown>} what a handler returns
     */
    async give (request, reply, { type = JSON_TYPE, feed = null, vary = 'accept-encoding' }, make) {
      const { url, headers } = request
      const about = { question: type === JSON_TYPE ? url : `${type} ${url}`, feed, type, vary, request }
      let answer
      let live
      try {
        answer = await find(about, make)
        if (!('body' in answer)) return answer
        live = answer.live
      } catch (error) {
        const kept = error.retryable ? cache.findLast(about.question) : undefined
        if (!kept || clock() - kept.asOf >= maxStaleMs) throw error
        answer = kept
        live = { asOf: kept.asOf, lagMs: null, stale: error.code }
      }
      if (acceptsGzip(headers['accept-encoding'])) answer = await zipped(answer)
      if (live.stale) staleAnswers.inc()
      const isOut = isKnown(headers['if-none-match'], answer.tag)
      const kind = isOut ? 'known' : acceptsGzip(headers['accept-encoding']) && answer.zipped ? 'gzip' : 'identity'
      setLines(reply, live === answer.live ? headOfKept(answer, kind) : headOf(answer, live, kind, { maxStaleMs, nowMs: clock() }))
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
