/**
 * Pushes changes as server-sent events: a hub per followed feed, and bounds on streams.
 *
 *     route -> caps -> stream -> hub of the feed -> view
 */
import { createBudget } from './budget.js'
import { createCaps } from './caps.js'
import { createHubs } from './hubs.js'
import { createCounts, exposeCounts } from './metrics.js'
import { checkPosition } from './positions.js'
import { createStream } from './stream.js'

const LINGER_MS = 10_000

/**
 * @typedef {import('./caps.js').Caps} Caps
 * @typedef {ReturnType<typeof createPush>} Push
 * @typedef {{ watch: import('../view/index.js').Views['watch'] } & Pick<import('../view/index.js').Queries,
 *   'definition' | 'ofLog'>} PushQueries
 * @typedef {{ feed: string, limit: number, periodMs: number, ids: ReadonlySet<string> | null, encoding: string,
 *   position: string | null }} Wanted
 *   `ids`: latin1 strings of their bytes, null = all; `position`: from which it resumes
 * @typedef {import('node:http').ServerResponse} Response
 */

/**
 * @param {{ queries: PushQueries, now: () => number, registry: import('prom-client').Registry, caps: Caps,
 *   log: import('pino').Logger, lingerMs?: number }} parts
 */
export function createPush ({ queries, now, registry, caps: limits, log, lingerMs = LINGER_MS }) {
  const counts = createCounts()
  const budget = createBudget()
  const caps = createCaps({ caps: limits, budget, counts })
  const hubs = createHubs({ queries, now, budget, counts, log, lingerMs })
  exposeCounts(registry, counts, budget)

  /** @param {Response} response @param {Wanted} wanted @param {string | null} token @param {import('./hubs.js').Followed} followed */
  function begin (response, { feed, ids, position, ...wanted }, token, followed) {
    caps.enter(token, ids)
    const stream = createStream({
      ...wanted,
      response,
      budget,
      ids,
      token,
      onEnd (reason) {
        counts.ended[reason]++
        caps.leave(token, ids)
        followed.hub.remove(stream)
        hubs.lingerIfEmpty(feed, followed)
      }
    })
    followed.hub.add(stream, position)
  }

  return {
    /**
     * Streams to a client until either side ends it.
     * @param {Wanted} wanted
     * @param {{ identify: () => string | null, open: () => Response }} client `identify`: its token, null = none is needed; throws
     *   if it is unknown. `open` writes the head, after all checks
     * @throws {import('../errors.js').FreshetError} OVERLOADED, UNAUTHORIZED, FEED_UNKNOWN, POSITION_INVALID, VIEW_NEEDED; then
     *   nothing was sent
     */
    async stream (wanted, { identify, open }) {
      const { feed, position, ids } = wanted
      const check = () => {
        const token = identify()
        hubs.throwIfClosed()
        caps.check(token, ids)
        return token
      }
      check()
      if (position !== null) checkPosition(feed, position)
      const known = await hubs.get(feed)
      if (!known?.hub.hasView) await queries.definition(feed)
      const followed = await hubs.follow(feed)
      try {
        // again, since other streams may have opened, or the token may have been revoked
        const token = check()
        const response = open()
        if (!response.destroyed) begin(response, wanted, token, followed)
      } finally {
        hubs.lingerIfEmpty(feed, followed)
      }
    },

    /** Ends the streams of revoked tokens. @param {(token: string) => boolean} isKnown */
    revoke: (isKnown) => hubs.forEach(({ hub }) => hub.end(({ token }) => token !== null && !isKnown(token), 'revoked')),

    /** Ends all streams. */
    close: hubs.close
  }
}

export { retryAfter } from './events.js'
export { TICK_MS } from './hub.js'
