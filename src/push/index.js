/**
 * Pushes changes as server-sent events: a hub for what is viewed, and bounds on streams.
 *
 *     route -> caps -> stream -> viewers of a feed  (hub.js)                    -> view
 *                             -> viewers of a key   (src/systems/viewers.js)    -> key view
 */
import { createBudget, createCaps } from './caps.js'
import { createHubs } from './hub.js'
import { createCounts, exposeCounts } from './metrics.js'
import { createOpening, createWaiting } from './opening.js'
import { createPassing, createStreams } from './streams.js'
import { createTicks, createViewers } from './viewers.js'

const LINGER_MS = 10_000

/**
 * @typedef {import('./caps.js').Caps} Caps
 * @typedef {ReturnType<typeof createPush>} Push
 * @typedef {import('../view/index.js').Queries} Queries
 * @typedef {Pick<import('../view/index.js').Views, 'watch' | 'scan'> & Pick<Queries, 'definition' | 'ofLog' | 'untilFeed'>} PushQueries
 * @typedef {object} Wanted
 * @property {string} feed
 * @property {ReadonlySet<string> | null} ids latin1 strings of their bytes, null = all
 * @property {readonly string[]} [beginnings] of further ids, the same
 * @property {number} limit of the snapshot
 * @property {string} encoding
 * @property {number} periodMs minimum between deliveries of changes
 * @property {string | null} position from which it resumes; one that is none costs a reset
 * @property {import('./positions.js').Start | null} [start] where it begins without a position, in place of a snapshot
 * @property {boolean} wait for the first item of a feed that does not exist
 * @property {import('./sealed-positions.js').PositionSeal | null} [seal] of a client that may see some ids only
 * @typedef {Omit<Wanted, 'feed' | 'wait'> & { feeds: readonly string[] }} WantedOfSeveral each is waited for
 * @typedef {import('./several.js').Subject} Subject
 * @typedef {import('./streams.js').Source} Source
 * @typedef {import('./stream.js').Viewer} Stream
 * @typedef {import('./stream.js').Viewer} Viewer
 * @typedef {ReturnType<typeof createViewers>} Viewers
 * @typedef {import('node:http').ServerResponse} Response
 * @typedef {{ token: string | null, isPermitted: () => boolean, open: () => Response }} Client `token`: identifies its token, null =
 *   none is needed; `isPermitted`: whether it may read the feed now; `open` writes the head, after all checks
 */

/**
 * @param {{ queries: PushQueries, now: () => number, registry: import('prom-client').Registry, caps: Caps,
 *   log: import('pino').Logger, lingerMs?: number, hold?: () => () => void }} parts `hold`: as createStreams
 */
export function createPush ({ queries, now, registry, caps: limits, log, lingerMs = LINGER_MS, hold = () => () => {} }) {
  const counts = createCounts()
  const budget = createBudget()
  const caps = createCaps({ caps: limits, budget, counts })
  const ticks = createTicks()
  const hubs = createHubs({ queries, now, budget, counts, log, lingerMs, ticks })
  const streams = createStreams({ budget, caps, counts, hold })
  const waiting = createWaiting({ queries, hubs, log })
  const passing = createPassing({ viewersOf, counts })
  exposeCounts(registry, counts, budget)

  /** @template R @param {import('./viewers.js').Encoder<R>} encoder */
  function viewersOf (encoder) {
    return createViewers({ encoder, ticks, budget, log, onError: (error) => log.error({ err: error }, 'pushing failed, retrying') })
  }

  const opening = createOpening({ queries, hubs, waiting, streams, caps })

  return {
    ...opening,

    /** The hub of a subject whose events are encoded elsewhere. */
    viewersOf,
    /** A source whose events come ready (streams.js). */
    sourceFrom: passing.sourceFrom,

    /** Ends the streams whose tokens were revoked, have expired, or no longer permit their feed. */
    revoke: streams.revoke,

    counts,

    /** Ends all streams. */
    async close () {
      streams.close()
      passing.close()
      await hubs.close()
    }
  }
}

export { resetEvent, retryAfter } from './events.js'
export { createPositionSeal, createSeveralSeal } from './sealed-positions.js'
export { HEARTBEAT_MS } from './stream.js'
export { TICK_MS } from './viewers.js'
