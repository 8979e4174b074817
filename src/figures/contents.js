/**
 * What a feed is and what is in it: definition, number of live ids, time of the newest item. Asked when somebody wants to
 * know, at most once a second for each feed; nobody waits long for it, and what is not there then is null.
 *
 * @typedef {import('../feeds/definitions.js').Definition} Definition
 * @typedef {{ definition: Definition | null, count: number | null, exact: boolean | null, newestTs: number | null }} Contents
 *   `definition`: as it was last; null = it was never answered
 */
import { oneAtATime, within } from './within.js'

const FRESH_MS = 1000
/** an answer that is older says nothing of now */
const USABLE_MS = 2000
const WAIT_MS = 600
const MAX_FEEDS = 100
/** what is wrong with the feed and not with the servers */
const OF_THE_FEED = ['FEED_UNKNOWN', 'FEED_LAYOUT_UNKNOWN', 'FEED_DEFINITION_DIFFERS', 'KEY_HOLDS_OTHER']

/** @typedef {Pick<import('../view/views.js').Views, 'definition' | 'count' | 'latest'>} Ask */
/** @typedef {{ refresh: () => Promise<unknown>, contents: Contents, failure: Error | null, answeredMs: number }} Known */

/**
 * @param {{ ask: Ask, elapsed: () => number }} parts `elapsed`: ms of a clock that never goes back
 */
export function createContents ({ ask, elapsed }) {
  /** the one that was asked about last is the last @type {Map<string, Known>} */
  const known = new Map()

  /** @param {string} feed @returns {Known} */
  function create (feed) {
    /** @type {Known} */
    const one = {
      refresh: oneAtATime(() => refresh(feed, one)),
      contents: { definition: null, count: null, exact: null, newestTs: null },
      failure: null,
      answeredMs: -Infinity
    }
    return one
  }

  /** @param {string} feed @param {Known} one */
  async function refresh (feed, one) {
    one.failure = null
    const definition = await ask.definition(feed).catch((error) => {
      if (OF_THE_FEED.includes(error.code)) one.failure = error
      return one.contents.definition
    })
    if (one.failure) return
    const [counted, newest] = await Promise.all([
      ask.count(feed).catch(() => null),
      ask.latest(feed, { limit: 1 }).catch(() => null)
    ])
    one.contents = { definition, count: counted?.count ?? null, exact: counted?.exact ?? null, newestTs: newest?.items[0]?.ts ?? null }
    one.answeredMs = elapsed()
  }

  /** @param {string} feed @param {Known} one */
  function keep (feed, one) {
    known.delete(feed)
    if (known.size >= MAX_FEEDS) known.delete(/** @type {string} */ (known.keys().next().value))
    known.set(feed, one)
  }

  return {
    /**
     * @param {string} feed
     * @returns {Promise<Contents>}
     * @throws {import('../errors.js').FreshetError} FEED_UNKNOWN and whatever else is wrong with the feed itself
     */
    async of (feed) {
      const one = known.get(feed) ?? create(feed)
      keep(feed, one)
      if (elapsed() - one.answeredMs > FRESH_MS) await within(one.refresh(), WAIT_MS)
      if (one.failure) {
        known.delete(feed)
        throw one.failure
      }
      const { definition } = one.contents
      return elapsed() - one.answeredMs <= USABLE_MS ? one.contents : { definition, count: null, exact: null, newestTs: null }
    }
  }
}
