/**
 * What a feed is and what is in it: definition, number of live ids, time of the newest item. Asked when somebody wants to
 * know, at most once a second for each feed; nobody waits long for it, and what is not there then is null.
 *
 * @typedef {import('../feeds/definitions.js').Definition} Definition
 * @typedef {{ definition: Definition | null, count: number | null, exact: boolean | null, newestTs: number | null }} Contents
 *   `definition`: as it was last; null = it was never answered
 */
import { within } from './within.js'

const FRESH_MS = 1000
/** an answer that is older says nothing of now */
const USABLE_MS = 2000
const WAIT_MS = 600
const MAX_FEEDS = 100
/** what is wrong with the feed and not with the servers */
const OF_THE_FEED = ['FEED_UNKNOWN', 'FEED_LAYOUT_UNKNOWN', 'FEED_DEFINITION_DIFFERS', 'KEY_HOLDS_OTHER']
const NOTHING = Object.freeze({ count: null, exact: null, newestTs: null })

/** @typedef {Pick<import('../view/views.js').Views, 'definition' | 'count' | 'latest'>} Ask */
/** @typedef {{ contents: Contents, answeredMs: number }} Answered */

/** @param {{ ask: Ask, elapsed: () => number }} parts `elapsed`: ms of a clock that never goes back */
export function createContents ({ ask, elapsed }) {
  /** the one that was asked about last is the last @type {Map<string, Answered>} */
  const known = new Map()
  /** @type {Map<string, Promise<Answered | Error>>} */
  const underWay = new Map()

  /** @param {string} feed @returns {Promise<Answered | Error>} an error: what is wrong with the feed */
  async function askAll (feed) {
    const definition = await ask.definition(feed).catch((error) => OF_THE_FEED.includes(error.code) ? error : known.get(feed)?.contents.definition ?? null)
    if (definition instanceof Error) {
      known.delete(feed)
      return definition
    }
    const [counted, newest] = await Promise.all([ask.count(feed).catch(() => null), ask.latest(feed, { limit: 1 }).catch(() => null)])
    const contents = { definition, count: counted?.count ?? null, exact: counted?.exact ?? null, newestTs: newest?.items[0]?.ts ?? null }
    const answered = { contents, answeredMs: elapsed() }
    if (definition !== null) keep(feed, answered)
    return answered
  }

  /** @param {string} feed @returns {Promise<Answered | Error>} that of all who ask meanwhile */
  function asked (feed) {
    const answer = underWay.get(feed) ?? askAll(feed).finally(() => underWay.delete(feed))
    underWay.set(feed, answer)
    return answer
  }

  /** @param {string} feed @param {Answered} answered */
  function keep (feed, answered) {
    known.delete(feed)
    if (known.size >= MAX_FEEDS) known.delete(/** @type {string} */ (known.keys().next().value))
    known.set(feed, answered)
  }

  return {
    /**
     * @param {string} feed
     * @returns {Promise<Contents>}
     * @throws {Error} FEED_UNKNOWN and whatever else is wrong with the feed itself
     */
    async of (feed) {
      const last = known.get(feed)
      if (last) keep(feed, last)
      if (last && elapsed() - last.answeredMs <= FRESH_MS) return last.contents
      const answer = await within(asked(feed), WAIT_MS) ?? last
      if (answer instanceof Error) throw answer
      if (answer && elapsed() - answer.answeredMs <= USABLE_MS) return answer.contents
      return { definition: answer?.contents.definition ?? null, ...NOTHING }
    }
  }
}
