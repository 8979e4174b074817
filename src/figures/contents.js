/**
 * Definition of a feed, number of live ids, time of the newest item, and how far back it reaches if `maxItems` ends before the window.
 * Read on demand, at most once a second per feed, with a short deadline: values that miss it are null.
 *
 * @typedef {import('../feeds/index.js').Definition} Definition
 * @typedef {{ definition: Definition | null, count: number | null, exact: boolean | null, newestTs: number | null, keptMs: number | null }}
 *   Contents `definition`: as last read; null = never read; `keptMs`: null = the window decides, or unknown
 */
import { within } from '../runtime/index.js'

const FRESH_MS = 1000
/** older answers are too old to show */
const USABLE_MS = 2000
const WAIT_MS = 600
const MAX_FEEDS = 100
/** faults of the feed, not of the servers */
const OF_THE_FEED = ['FEED_UNKNOWN', 'FEED_LAYOUT_UNKNOWN', 'FEED_DEFINITION_DIFFERS', 'KEY_HOLDS_OTHER']
const NOTHING = Object.freeze({ count: null, exact: null, newestTs: null, keptMs: null })
/** Just trimmed, a set has nothing beyond `maxItems`; a reach counts until others must have been written. */
const REACH_FOR_MS = 3000

/** @typedef {import('../item/index.js').IdFilter} IdFilter */
/** @typedef {Pick<import('../view/index.js').Views, 'definition' | 'count' | 'latest'>} Queries */
/** @typedef {(filter: IdFilter) => Pick<ReturnType<typeof import('../view/index.js').filteredQueries>, 'count' | 'newestTs'>} QueriesOf */
/** @typedef {{ contents: Contents, answeredMs: number, reachedMs: number }} Answered `reachedMs`: when `keptMs` was read */

/**
 * @param {{ queries: Queries, queriesOf: QueriesOf, reach: (definition: Definition) => Promise<number | null>,
 *   elapsed: () => number }} parts `queriesOf` a client that may see some ids only; `reach`: keptMs; `elapsed`: monotonic ms
 */
export function createContents ({ queries, queriesOf, reach, elapsed }) {
  /** by feed and filter, most recently used last @type {Map<string, Answered>} */
  const known = new Map()
  /** @type {Map<string, Promise<Answered | Error>>} */
  const pending = new Map()

  /** @param {string} key @param {string} feed @param {IdFilter | null} filter @returns {Promise<Answered | Error>} a fault of the feed */
  async function readAll (key, feed, filter) {
    const definition = await queries.definition(feed).catch((error) =>
      OF_THE_FEED.includes(error.code) ? error : known.get(key)?.contents.definition ?? null)
    if (definition instanceof Error) {
      known.delete(key)
      return definition
    }
    const own = filter && queriesOf(filter)
    const [counted, newestTs, reached] = await Promise.all([
      (own ? own.count(feed) : queries.count(feed)).catch(() => null),
      (own ? own.newestTs(feed) : queries.latest(feed, { limit: 1 }).then(({ items: [item] }) => item?.ts ?? null)).catch(() => null),
      definition && !filter ? reach(definition).catch(() => null) : null
    ])
    const answeredMs = elapsed()
    const before = known.get(key)
    const isUsable = before && answeredMs - before.reachedMs < REACH_FOR_MS && isSameRetention(before.contents.definition, definition)
    const contents = {
      definition,
      count: counted?.count ?? null,
      exact: counted?.exact ?? null,
      newestTs,
      keptMs: reached ?? (isUsable ? before.contents.keptMs : null)
    }
    const answered = { contents, answeredMs, reachedMs: reached === null ? before?.reachedMs ?? -Infinity : answeredMs }
    if (definition !== null) keep(key, answered)
    return answered
  }

  /** @param {string} key @param {string} feed @param {IdFilter | null} filter @returns {Promise<Answered | Error>} of concurrent callers */
  function shared (key, feed, filter) {
    const answer = pending.get(key) ?? readAll(key, feed, filter).finally(() => pending.delete(key))
    pending.set(key, answer)
    return answer
  }

  /** @param {string} key @param {Answered} answered */
  function keep (key, answered) {
    known.delete(key)
    if (known.size >= MAX_FEEDS) known.delete(/** @type {string} */ (known.keys().next().value))
    known.set(key, answered)
  }

  return {
    /**
     * @param {string} feed @param {IdFilter | null} [filter] of the ids that count; null = all
     * @returns {Promise<Contents>}
     * @throws {Error} FEED_UNKNOWN and other faults of the feed
     */
    async of (feed, filter = null) {
      const key = filter === null ? feed : `${feed} ${filter.of}`
      const last = known.get(key)
      if (last) keep(key, last)
      if (last && elapsed() - last.answeredMs <= FRESH_MS) return last.contents
      const answer = await within(shared(key, feed, filter), WAIT_MS) ?? last
      if (answer instanceof Error) throw answer
      if (answer && elapsed() - answer.answeredMs <= USABLE_MS) return answer.contents
      return { definition: answer?.contents.definition ?? null, ...NOTHING }
    }
  }
}

/** @param {Definition | null} one @param {Definition | null} other */
const isSameRetention = (one, other) => one?.windowMs === other?.windowMs && one?.maxItems === other?.maxItems
