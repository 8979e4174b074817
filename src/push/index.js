/**
 * Pushing changes: a hub for each feed that somebody follows, and bounds on how many do.
 *
 *     route -> admit (caps) -> stream -> hub of the feed -> view
 */
import { HttpError } from '../http/problem.js'
import { createBudget } from './budget.js'
import { createHub } from './hub.js'
import { createCounts, exposeCounts } from './metrics.js'
import { checkPosition } from './missed.js'
import { createStream } from './stream.js'

/** a view that nobody follows any more is kept for so long: who was cut off comes again */
const LINGER_MS = 10_000
/** that clients follow by id, all together: each costs up to 200 bytes */
const MOST_WANTED_IDS = 250_000

/** @typedef {ReturnType<typeof createPush>} Push */
/** @typedef {{ feed: string, limit: number, periodMs: number, ids: ReadonlySet<string> | null, encoding: string, position: string | null }} Wanted
 *   `ids`: byte for character, null = all; `position`: where it goes on */
/** @typedef {{ request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse }} Exchange */
/** @typedef {{ hub: import('./hub.js').Hub, watched: { view: () => import('../view/view.js').View | null, release: () => void } }} Followed */
/** @typedef {{ maxStreams: number, maxStreamsPerToken: number }} Caps */

/**
 * @param {{ ask: { watch: import('../view/views.js').Views['watch'], definition: import('../view/ask.js').Ask['definition'], ofLog: import('../view/ask.js').Ask['ofLog'] },
 *   now: () => number, registry: import('prom-client').Registry, caps: Caps, log: import('pino').Logger, lingerMs?: number }} parts
 */
export function createPush ({ ask, now, registry, caps, log, lingerMs = LINGER_MS }) {
  /** @type {Map<string, Promise<Followed>>} */
  const followed = new Map()
  /** @type {Map<string, NodeJS.Timeout>} feeds that nobody follows at the moment */
  const lingering = new Map()
  /** @type {Map<string, number>} streams by token */
  const byToken = new Map()
  const counts = createCounts()
  const budget = createBudget()
  let wantedIds = 0
  let isClosed = false
  exposeCounts(registry, counts, budget)

  const stopping = () => new HttpError('OVERLOADED', 'this reader is stopping; try again, or ask another one')

  /** @param {string} feed */
  async function open (feed) {
    const watched = await ask.watch(feed)
    if (isClosed) {
      watched.release()
      throw stopping()
    }
    return { watched, hub: createHub({ feed, watched, ask, now, budget, counts, log }) }
  }

  /** @param {string} feed */
  function follow (feed) {
    if (isClosed) throw stopping()
    clearTimeout(lingering.get(feed))
    lingering.delete(feed)
    const known = followed.get(feed)
    if (known) return known
    const opening = open(feed)
    followed.set(feed, opening)
    opening.catch(() => followed.delete(feed))
    return opening
  }

  /** @param {string} feed @param {Followed} one */
  function lingerIfEmpty (feed, one) {
    if (one.hub.streams > 0 || isClosed || lingering.has(feed)) return
    lingering.set(feed, setTimeout(() => {
      lingering.delete(feed)
      if (one.hub.streams > 0) return
      followed.delete(feed)
      release(one)
    }, lingerMs).unref())
  }

  /** @param {Followed} one */
  async function release ({ hub, watched }) {
    await hub.close()
    watched.release()
  }

  /** @param {string | null} token @param {1 | -1} more */
  function countToken (token, more) {
    if (token === null) return
    const streams = (byToken.get(token) ?? 0) + more
    if (streams > 0) byToken.set(token, streams)
    else byToken.delete(token)
  }

  /**
   * @param {string | null} token @param {Wanted['ids']} ids
   * @throws {HttpError} OVERLOADED
   */
  function checkCaps (token, ids) {
    if (isClosed) throw stopping()
    if (budget.streams >= caps.maxStreams) {
      counts.refused.process++
      throw new HttpError('OVERLOADED', `${budget.streams} clients are pushed to, which is the limit of this reader (--max-streams); try again, or ask another one`)
    }
    if (ids !== null && wantedIds + ids.size > MOST_WANTED_IDS) {
      counts.refused.process++
      throw new HttpError('OVERLOADED', `the clients of this reader follow ${wantedIds} ids of their own, and ${MOST_WANTED_IDS} together is the limit; try again, or ask another one`)
    }
    if (token !== null && (byToken.get(token) ?? 0) >= caps.maxStreamsPerToken) {
      counts.refused.token++
      throw new HttpError('OVERLOADED', `${byToken.get(token)} clients with this token are pushed to, which is the limit (--max-streams-per-token); try again when one of them has ended`)
    }
  }

  /** @param {Exchange} exchange @param {Wanted} wanted @param {string | null} token @param {Followed} one */
  function begin ({ request, response }, { feed, limit, periodMs, ids, encoding, position }, token, one) {
    countToken(token, 1)
    wantedIds += ids?.size ?? 0
    const stream = createStream({
      request,
      response,
      budget,
      ids,
      limit,
      encoding,
      periodMs,
      token,
      onEnd (why) {
        counts.ended[why]++
        countToken(token, -1)
        wantedIds -= ids?.size ?? 0
        one.hub.remove(stream)
        lingerIfEmpty(feed, one)
      }
    })
    one.hub.add(stream, position)
  }

  return {
    /**
     * Streams to a client from now on, until one of them ends it.
     * @param {Wanted} wanted
     * @param {{ identify: () => string | null, open: () => Exchange }} client `identify`: by its token, null = nobody in particular; throws when it has
     *   none that is known. `open`: writes the head, when all is checked
     * @throws {HttpError | import('../errors.js').FreshetError} OVERLOADED, UNAUTHORIZED, FEED_UNKNOWN, POSITION_INVALID, VIEW_NEEDED; then nothing was sent
     */
    async stream (wanted, { identify, open }) {
      const { feed, position } = wanted
      checkCaps(identify(), wanted.ids)
      if (position !== null) checkPosition(feed, position)
      const known = await followed.get(feed)?.catch(() => null)
      if (!known?.hub.hasView) await ask.definition(feed)
      const one = await follow(feed)
      try {
        // meanwhile others may have come, or its token is gone
        const token = identify()
        checkCaps(token, wanted.ids)
        const exchange = open()
        if (!exchange.response.destroyed) begin(exchange, wanted, token, one)
      } finally {
        lingerIfEmpty(feed, one)
      }
    },

    /** Ends the streams of tokens that are gone. @param {(token: string) => boolean} isKnown */
    async revoke (isKnown) {
      await Promise.all([...followed.values()].map(async (opening) => {
        const one = await opening.catch(() => null)
        one?.hub.end(({ token }) => token !== null && !isKnown(token), 'revoked')
      }))
    },

    /** Ends all streams; clients are told when to come again. */
    async close () {
      isClosed = true
      for (const timer of lingering.values()) clearTimeout(timer)
      const all = [...followed.values()]
      followed.clear()
      await Promise.all(all.map(async (opening) => {
        const one = await opening.catch(() => null)
        if (one) await release(one)
      }))
    }
  }
}
