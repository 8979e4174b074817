/**
 * Answers, each made once for all who ask for it.
 *
 *     with a view      an answer is given again while its question's revision is the same, for 1 s (its `asOf` is in its
 *                      body), and after a change for as long as making it anew would be dear: twice what making it costs
 *                      while this process has time to spare, twenty times when it has none, between 1 and 50 ms. Of a page
 *                      of 100 items that is 1 to 2 ms.
 *     without a view   one fetch is under way for a question; who asks meanwhile gets what it brings. Nothing is kept on.
 *
 * The body is fixed when it is made, with `asOf` in it; everything that changes while it lies around (age, replica lag)
 * is in headers (head.js), so one body can be given again.
 *
 * @typedef {object} Made what a route makes
 * @property {number} asOf @property {number | null} lagMs @property {Buffer} body
 * @property {(Buffer | string)[]} content all of the answer that is not its time
 * @property {string | null} [next] the cursor, for answers that have it in a header
 *
 * @typedef {object} Question
 * @property {string} question the request's URL, and the type of the answer if that is not JSON
 * @property {string | null} feed that a view may know @property {string} type @property {string} vary
 * @property {import('./metrics.js').RouteRecord | undefined} record
 * @property {MakeNow | undefined} makeNow
 *
 * @typedef {object} Kept what becomes of it
 * @property {string} tag
 * @property {string | null} revision of the view that it was made from
 * @property {import('./head.js').Live} live
 * @property {number} madeMs on the clock of `elapsed`
 * @property {number} costMs what making it costs: what it took, unless that is more than twice what it cost before, since
 *   then it is likelier that something else had the processor
 * @property {number} goodUntilMs before it, it is given without a further look
 * @property {Buffer | null | undefined} zipped null: it does not pay; undefined: nobody asked
 * @property {number} zipAgainMs before it, compressing it is not tried
 * @property {Partial<Record<import('./head.js').Kind, string[]>>} heads as `live` has them
 * @property {Partial<Record<import('./head.js').Kind, Buffer>>} wholes the same with their bodies, as they go out
 *
 * @typedef {Question & Omit<Made, 'content'> & Kept} Answer
 * @typedef {import('node:stream').Readable} Readable
 * @typedef {() => Promise<Made | Readable>} Make a stream is nobody else's, and not kept
 * @typedef {(live: import('./head.js').Live) => Made | null} MakeNow from a view, at once, as of then; null: it cannot now
 * @typedef {{ key: string, asOf: number, lagMs: number | null }} Revision of a feed's view: while `key` is the same, so is
 *   its content; `asOf`: when it last heard of its feed
 * @typedef {{ key: string, isTooOld: boolean, live: import('./head.js').Live }} Seen of a view, now
 */
import { Counter } from 'prom-client'
import { FreshetError } from '../errors.js'
import { Flights } from './flights.js'
import { tagOf } from './tag.js'

/** Nothing is made anew, or looked at again, within it. */
const LOOK_EVERY_MS = 1
/** An answer is given on for so many times what it costs, by how busy the loop is, but it is made at least so often. */
const TIMES = Object.freeze({ idle: 2, busy: 20 })
const LOOK_AT_LEAST_MS = 50
/** a loop that is so busy has no time to spare */
const BUSY = 0.8
/** Unchanged content is made anew after it, so that the time in it goes on. */
const RENEW_MS = 1000
/** A view that has heard nothing of its feed for so long is behind. */
const BEHIND_MS = 1000

/** @param {number} costMs @param {number} loopUse 0 to 1 @returns {number} ms for which an answer is given on, once it has changed */
export function pauseOf (costMs, loopUse) {
  const times = TIMES.idle + (TIMES.busy - TIMES.idle) * Math.min(1, loopUse / BUSY)
  return Math.min(LOOK_AT_LEAST_MS, Math.max(LOOK_EVERY_MS, times * costMs))
}

/** @param {{ asOf: number, lagMs: number | null }} made @param {Seen | null} seen before it was made @returns {import('./head.js').Live} */
export const liveOf = ({ asOf, lagMs }, seen) => seen?.live.stale ? { ...seen.live, asOf } : { asOf, lagMs, stale: null }

/**
 * @param {{ registry: import('prom-client').Registry, cache: import('./answer-cache.js').AnswerCache, maxStaleMs: number,
 *   clock: () => number, elapsed: () => number, loopUse: (nowMs: number) => number, revisionOf: (feed: string) => Revision | null }} options
 */
export function createMaking ({ registry, cache, maxStaleMs, clock, elapsed, loopUse, revisionOf }) {
  const made = new Counter({ name: 'freshet_made_answers_total', help: 'Answers made, out of a view or by asking; all others were given again, or to several at once', registers: [registry] })
  /** @type {Flights<Answer | Readable>} */
  const flights = new Flights()

  /** @param {string | null} feed @returns {Seen | null} null: it is not answered from a view */
  function lookAt (feed) {
    const revision = feed === null ? null : revisionOf(feed)
    if (!revision) return null
    const { key, asOf, lagMs } = revision
    const ageMs = clock() - asOf
    if (ageMs < BEHIND_MS) return { key, isTooOld: false, live: { asOf, lagMs, stale: null } }
    return { key, isTooOld: ageMs >= maxStaleMs, live: { asOf, lagMs: null, stale: 'VIEW_BEHIND' } }
  }

  /** It was looked at a moment ago, or its content is still the same. @param {Answer} answer @param {number} nowMs */
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
   * @param {Question} question
   * @param {Seen | null} seen before it was made
   * @param {Made} what
   * @param {number} madeMs when that began
   * @returns {Answer}
   */
  function keep ({ question, feed, type, vary, record, makeNow }, seen, { asOf, lagMs, body, content, next }, madeMs) {
    const tag = tagOf(content)
    const before = cache.find(question)
    const nowMs = elapsed()
    const costMs = Math.min(nowMs - madeMs, 2 * (before?.costMs || Infinity))
    /** @type {Answer} */
    const answer = {
      question,
      feed,
      type,
      vary,
      record,
      makeNow,
      asOf,
      lagMs,
      body,
      next,
      tag,
      revision: seen && seen.key,
      live: liveOf({ asOf, lagMs }, seen),
      madeMs,
      costMs,
      goodUntilMs: seen ? madeMs + pauseOf(costMs, loopUse(nowMs)) : -Infinity,
      zipped: undefined,
      zipAgainMs: before?.zipAgainMs ?? -Infinity,
      heads: {},
      wholes: {}
    }
    made.inc()
    if (seen || maxStaleMs > 0) cache.keep(answer)
    return answer
  }

  /** @param {Question} question @param {Seen | null} seen @param {Make} make @returns {Promise<Answer | Readable>} */
  async function makeKept (question, seen, make) {
    const startedMs = elapsed()
    const now = (seen && question.makeNow?.(seen.live)) ?? null
    if (now) return keep(question, seen, now, startedMs)
    const what = await make()
    // what cannot be made at once is not tried at once before it is made again
    return 'body' in what ? keep({ ...question, makeNow: undefined }, seen, what, startedMs) : what
  }

  return {
    lookAt,

    /**
     * @param {Question} question @param {Make} make
     * @returns {Promise<Answer | Readable>}
     * @throws {FreshetError} VIEW_BEHIND, and what `make` throws
     */
    async find (question, make) {
      const known = cache.find(question.question)
      if (known && isGood(known, elapsed())) return known
      const seen = lookAt(question.feed)
      if (seen?.isTooOld) throw new FreshetError('VIEW_BEHIND', `the view of feed ${question.feed} has heard nothing for too long; answers may be ${maxStaleMs} ms old`)
      const { result, isFirst } = flights.join(question.question, () => makeKept(question, seen, make))
      const answer = await result
      return isFirst || 'body' in answer ? answer : makeKept(question, seen, make)
    },

    /**
     * An answer that lies ready, or can be made at once, to a question of JSON that was answered before.
     * @param {string} url @param {number} nowMs of `elapsed`
     * @returns {Answer | undefined}
     */
    ready (url, nowMs) {
      const known = cache.find(url)
      if (known === undefined || isGood(known, nowMs)) return known
      const seen = known.makeNow ? lookAt(known.feed) : null
      const what = seen && !seen.isTooOld ? known.makeNow?.(seen.live) : null
      return what ? keep(known, seen, what, nowMs) : undefined
    }
  }
}
