/**
 * Figures of feeds for the live page and `feed show --watch`: write rate, live items and node load, now and over the last ten minutes. They
 * are sampled once a second, so the load on the servers does not grow with the number of watchers. An answer never waits long
 * for servers: values that miss the deadline are null.
 *
 *     each second    names of feeds, heartbeats of their writers (rates.js)    from one node, in one pipeline
 *                    processor time of each node
 *     on demand      definition, count, newest, reach                          at most once a second
 *     always known   state and lag of nodes                                    store/servers.js
 *
 * @typedef {{ role: string, address: string, engine: string | null, state: string, lagMs: number | null, cpu: number | null }} NodeNow
 *   `cpu`: share of one core over the last second
 * @typedef {Contents & { itemsPerSecond: number | null, writers: number | null,
 *   lastWriteAt: number | null, ready: boolean, reasons: string[],
 *   nodes: NodeNow[], history: Sample[] }} FeedFigures null = unknown; `lastWriteAt`: ms since 1970, on the
 *   reader's clock
 * @typedef {ReturnType<typeof createFigures>} Figures
 */
import { keptMs } from '../feeds/index.js'
import { oneAtATime, within } from '../runtime/index.js'
import { createReads } from '../store/index.js'
import { eachTick } from '../ticks.js'
import { createRates } from './rates.js'

/**
 * Definition of a feed, number of live ids, time of the newest item, and how far back it reaches if `maxItems` ends before the window.
 * Read on demand, at most once a second per feed, with a short deadline: values that miss it are null.
 *
 * @typedef {import('../feeds/index.js').Definition} Definition
 * @typedef {{ definition: Definition | null, count: number | null, exact: boolean | null, newestTs: number | null, keptMs: number | null }}
 *   Contents `definition`: as last read; null = never read; `keptMs`: null = the window decides, or unknown
 */

const FRESH_MS = 1000
/** older answers are too old to show */
const COUNTS_USABLE_MS = 2000
const COUNTS_WAIT_MS = 600
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
function createContents ({ queries, queriesOf, reach, elapsed }) {
  /** by feed and filter, most recently used last @type {Map<string, Answered>} */
  const answers = new Map()
  /** @type {Map<string, Promise<Answered | Error>>} */
  const pending = new Map()

  /** @param {string} key @param {string} feed @param {IdFilter | null} filter @returns {Promise<Answered | Error>} a fault of the feed */
  async function readAll (key, feed, filter) {
    const definition = await queries.definition(feed).catch((error) =>
      OF_THE_FEED.includes(error.code) ? error : answers.get(key)?.contents.definition ?? null)
    if (definition instanceof Error) {
      answers.delete(key)
      return definition
    }
    const filtered = filter && queriesOf(filter)
    const [counted, newestTs, reached] = await Promise.all([
      (filtered ? filtered.count(feed) : queries.count(feed)).catch(() => null),
      (filtered
        ? filtered.newestTs(feed)
        : queries.latest(feed, { limit: 1 }).then(({ items: [item] }) => item?.ts ?? null)).catch(() => null),
      definition && !filter ? reach(definition).catch(() => null) : null
    ])
    const answeredMs = elapsed()
    const before = answers.get(key)
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
    answers.delete(key)
    if (answers.size >= MAX_FEEDS) answers.delete(/** @type {string} */ (answers.keys().next().value))
    answers.set(key, answered)
  }

  return {
    /**
     * @param {string} feed @param {IdFilter | null} [filter] of the ids that count; null = all
     * @returns {Promise<Contents>}
     * @throws {Error} FEED_UNKNOWN and other faults of the feed
     */
    async of (feed, filter = null) {
      const key = filter === null ? feed : `${feed} ${filter.of}`
      const last = answers.get(key)
      if (last) keep(key, last)
      if (last && elapsed() - last.answeredMs <= FRESH_MS) return last.contents
      const answer = await within(shared(key, feed, filter), COUNTS_WAIT_MS) ?? last
      if (answer instanceof Error) throw answer
      if (answer && elapsed() - answer.answeredMs <= COUNTS_USABLE_MS) return answer.contents
      return { definition: answer?.contents.definition ?? null, ...NOTHING }
    }
  }
}

/** @param {Definition | null} a @param {Definition | null} b */
const isSameRetention = (a, b) => a?.windowMs === b?.windowMs && a?.maxItems === b?.maxItems

/**
 * Samples of the last ten minutes: one series for the nodes, one rate per feed. Keeps at most MAX_FEEDS feeds, least recently
 * used ones go first, so memory is bounded: 600 samples of the nodes and 4.8 KB per feed.
 *
 * @typedef {{ at: number, lagMs: number | null, cpu: Record<string, number | null> }} NodeSample `at`: ms since 1970
 * @typedef {{ at: number, itemsPerSecond: number | null, lagMs: number | null, cpu: Record<string, number | null> }} Sample
 */

const SAMPLES = 600
export const MAX_FEEDS = 100

/** @typedef {ReturnType<typeof createHistory>} History */

export function createHistory () {
  /** sample n is at n % SAMPLES @type {NodeSample[]} */
  const samples = []
  let taken = 0
  /** most recently used last @type {Map<string, { since: number, rates: Float64Array }>} `since`: its first sample; NaN = unknown */
  const feeds = new Map()

  const create = () => ({ since: taken, rates: new Float64Array(SAMPLES) })

  return {
    /** Selects the feeds to keep. @param {string[]} names all existing feeds @returns {string[]} */
    choose (names) {
      const existing = new Set(names)
      for (const feed of feeds.keys()) if (!existing.has(feed)) feeds.delete(feed)
      for (const feed of names) {
        if (feeds.size >= MAX_FEEDS) break
        if (!feeds.has(feed)) feeds.set(feed, create())
      }
      return [...feeds.keys()]
    },

    /** Marks an existing feed as recently used. @param {string} feed */
    touch (feed) {
      const entry = feeds.get(feed) ?? create()
      feeds.delete(feed)
      if (feeds.size >= MAX_FEEDS) feeds.delete(/** @type {string} */ (feeds.keys().next().value))
      feeds.set(feed, entry)
    },

    /** @param {NodeSample} sample @param {(feed: string) => number | null} rateOf */
    add (sample, rateOf) {
      const at = taken % SAMPLES
      samples[at] = sample
      for (const [feed, { rates }] of feeds) rates[at] = rateOf(feed) ?? NaN
      taken++
    },

    /** @param {string} feed @param {number} sinceMs exclusive @returns {Sample[]} oldest first */
    of (feed, sinceMs) {
      const entry = feeds.get(feed)
      const series = /** @type {Sample[]} */ ([])
      for (let n = Math.max(taken - SAMPLES, entry?.since ?? 0); n < taken; n++) {
        const { at, lagMs, cpu } = samples[n % SAMPLES]
        const rate = entry ? entry.rates[n % SAMPLES] : NaN
        if (at > sinceMs) series.push({ at, itemsPerSecond: Number.isNaN(rate) ? null : rate, lagMs, cpu })
      }
      return series
    }
  }
}

export const EVERY_MS = 1000
const HISTORY_MS = 600_000
/** deadline of a sample */
const WAIT_MS = 500
/** older samples are too old to show */
const USABLE_MS = 3000
/** from clients that may see some ids only */
const none = () => { throw new Error('queriesOf is needed for figures of some ids') }
const HIDDEN = Object.freeze({ itemsPerSecond: null, writers: null, lastWriteAt: null, keptMs: null, nodes: [], history: [] })

/**
 * @param {{ queries: Queries & Pick<import('../view/index.js').Views, 'status'>,
 *   queriesOf?: QueriesOf,
 *   deployment: Pick<import('../store/index.js').Servers, 'shard' | 'nodes' | 'figures'>, keyPrefix: string,
 *   now: () => number, elapsed?: () => number, log: { warn: (facts: object, message: string) => void } }} parts `queriesOf`: for
 *   `ofPermitted`; `now`: ms since 1970; `elapsed`: monotonic ms
 */
export function createFigures ({ queries, queriesOf = none, deployment, keyPrefix, now, elapsed = () => performance.now(), log }) {
  const history = createHistory()
  /** @param {import('../feeds/index.js').Definition} definition */
  const reach = (definition) => keptMs(createReads(deployment).router, keyPrefix, definition, now())
  const contents = createContents({ queries, queriesOf, reach, elapsed })
  const rates = createRates({ deployment, keyPrefix, elapsed, log })
  const processors = createProcessors(deployment)
  const readRates = oneAtATime(() => rates.read(history.choose))
  const readProcessors = oneAtATime(processors.read)
  /** @type {{ rates: Map<string, import('./rates.js').Rate | null> | null, cpuOf: (address: string) => number | null, takenMs: number }} */
  let last = { rates: null, cpuOf: () => null, takenMs: -Infinity }
  let isClosed = false

  async function sample () {
    const [feedRates, cpuOf] = await Promise.all([within(readRates(), WAIT_MS), within(readProcessors(), WAIT_MS)])
    if (isClosed) return
    last = { rates: feedRates, cpuOf: cpuOf ?? (() => null), takenMs: elapsed() }
    const nodes = deployment.nodes()
    const lags = nodes.flatMap(({ role, lagMs }) => role === 'replica' && lagMs !== null ? [lagMs] : [])
    const lagMs = lags.length > 0 ? Math.max(...lags) : null
    const cpu = Object.fromEntries(nodes.map(({ address }) => [address, last.cpuOf(address)]))
    history.add({ at: Math.floor(now()), lagMs, cpu }, (feed) => feedRates?.get(feed)?.itemsPerSecond ?? null)
  }
  const end = eachTick(EVERY_MS, sample)
  sample()

  return {
    /**
     * @param {string} feed @param {number} sinceMs history after it
     * @returns {Promise<FeedFigures>} within a second, whatever the state of the servers
     * @throws {import('../errors.js').FreshetError} FEED_UNKNOWN and other faults of the feed
     */
    async of (feed, sinceMs) {
      const feedContents = await contents.of(feed)
      if (feedContents.definition !== null) history.touch(feed)
      const { rates: sampled, cpuOf } = elapsed() - last.takenMs < USABLE_MS ? last : { rates: null, cpuOf: () => null }
      const rate = sampled?.get(feed)
      const { ready, reasons, nodes } = queries.status(feed)
      const writeMs = rates.lastWriteMs(feed)
      return {
        ...feedContents,
        itemsPerSecond: rate?.itemsPerSecond ?? null,
        writers: rate?.writers ?? null,
        lastWriteAt: writeMs === null ? null : Math.floor(now() - (elapsed() - writeMs)),
        ready,
        reasons,
        nodes: nodes.map(({ role, address, engine, state, lagMs }) =>
          ({ role, address, engine, state, lagMs: role === 'replica' ? lagMs : null, cpu: cpuOf(address) })),
        // after a suspend of the process there are older ones
        history: history.of(feed, Math.max(sinceMs, now() - HISTORY_MS))
      }
    },

    /**
     * Of the ids of a filter: numbers that other ids have a part in are null.
     * @param {string} feed @param {import('../item/index.js').IdFilter} filter @returns {Promise<FeedFigures>} @throws as `of`
     */
    async ofPermitted (feed, filter) {
      const { ready, reasons } = queries.status(feed)
      return {
        ...await contents.of(feed, filter),
        ...HIDDEN,
        ready,
        reasons: reasons.length > 0 ? ['a token without ids is shown the reasons'] : []
      }
    },

    close () {
      isClosed = true
      end()
    }
  }
}

// The share of a core that each node used between two samples, on its own clock, so delays of replies do not matter.

const DEFAULT_PORT = '6379'

/** Node addresses may lack the port; addresses of figures have it. @param {string} address */
const withPort = (address) => /:\d+$/.test(address) ? address : `${address}:${DEFAULT_PORT}`

/** @param {Pick<import('../store/index.js').Servers, 'figures'>} deployment */
function createProcessors ({ figures }) {
  /** @type {Map<string, import('../store/index.js').NodeFigures>} */
  let before = new Map()

  return {
    /** @returns {Promise<(address: string) => number | null>} share by address; null = unknown */
    async read () {
      const now = new Map((await figures()).map((node) => [node.address, node]))
      const shares = new Map([...now].map(([address, node]) => [address, shareOf(before.get(address), node)]))
      before = now
      return (address) => shares.get(withPort(address)) ?? null
    }
  }
}

/**
 * @param {import('../store/index.js').NodeFigures | undefined} before @param {import('../store/index.js').NodeFigures} now
 * @returns {number | null}
 */
function shareOf (before, now) {
  // a restarted server counts from 0 again
  if (!before || before.runId !== now.runId) return null
  const passedMs = now.timeMs - before.timeMs
  return passedMs > 0 ? Math.round((now.cpuSeconds - before.cpuSeconds) * 1000 / passedMs * 10_000) / 10_000 : null
}
