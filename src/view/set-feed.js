/**
 * Follows one partition of a feed whose layout does not keep the order of arrival, by polling a node, and puts what it reads into its
 * store of a view. A round reads what came (set-partition.js). Reading takes at most half of the time.
 *
 * Nodes of one replication history have the same items sooner or later. What a node does not have yet would look removed, or would be
 * replaced by an older version. So another node, or the same one again, is read once it has everything that the primary had by then. If
 * that is not known within seconds, because the primary is away, the view is rebuilt; also with a node of another history, which may lack
 * items for good. A slot of a cluster that has moved looks the same.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { readInfo } from '../store/index.js'
import { createRoundWaiters } from './round-waiters.js'
import { createSetPartition } from './set-partition.js'

const ROUND_MS = 10
/** how long a node that may be behind the view may take to catch up */
const CATCH_UP_MS = 3000
const CATCH_UP_LOOK_MS = 20

/** @typedef {import('../store/index.js').Connection} Connection */
/** @typedef {import('../layouts/index.js').Retention} Retention */
/** @typedef {import('./follower.js').Options['hasReached']} HasReached */

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (part: string) => string,
 *   store: import('./partitioned-store.js').Store, retention: Retention, now: () => number, onRebuilt: (why: string) => void }} parts
 */
export function createSetFeed ({ layout, key, store, retention: given, now, onRebuilt }) {
  let retention = given
  let asOf = 0
  const rounds = createRoundWaiters()
  let rest = new AbortController()
  /** replication id of the nodes of earlier sessions */
  let history = ''
  const part = createSetPartition({ layout, key, store, now, retention: () => retention })

  /** @param {number} nowMs */
  const settle = (nowMs) => store.advance(nowMs, 0)

  /** @param {Connection} connection @param {HasReached} hasReached */
  async function continueOn (connection, hasReached) {
    const { master_replid: found = '' } = readInfo(await connection.send('INFO', 'replication'), connection.address)
    const before = history
    history = found
    const isSame = found === before
    if (before === '' || (isSame && await hasCaughtUp(hasReached))) return
    part.reset()
    onRebuilt(isSame ? 'the node may lack what was read' : 'the node has another replication history')
  }

  /** @param {Connection} connection */
  async function round (connection) {
    const isThorough = rounds.isAwaited
    const end = rounds.begin()
    let isWhole = false
    try {
      await part.round(connection, { isThorough })
      isWhole = true
    } finally {
      end(isWhole)
    }
  }

  return {
    /** When the last round began, ms since 1970. */
    get asOf () { return asOf },
    /** Whether everything that is live has been read. */
    get isComplete () { return asOf > 0 && part.isComplete },
    settle,

    /** The newest event time read. @returns {number} */
    position: () => part.newestMs,

    /** @param {Retention} changed */
    setRetention (changed) {
      retention = changed
      store.setRetention({ windowMs: changed.windowMs, maxItems: 0 })
      // removed items may be live again
      part.refill()
    },

    /**
     * One session: runs until the connection ends.
     * @param {Connection} connection @param {import('./follower.js').Options} options
     * @returns {Promise<void>} rejects
     */
    async follow (connection, { answered, hasReached }) {
      await continueOn(connection, hasReached)
      for (;;) {
        const begunMs = performance.now()
        const askedMs = now()
        await round(connection)
        answered()
        asOf = askedMs
        settle(now())
        if (rounds.isAwaited || !part.isComplete) continue
        await sleep(Math.max(ROUND_MS, performance.now() - begunMs), undefined, { signal: rest.signal }).catch(() => {})
        rest = new AbortController()
      }
    },

    /** Resolves when the store has what the node has now. */
    async caughtUp () {
      const next = rounds.next()
      rest.abort()
      await next
    }
  }
}

/** Waits until a node has what the primary has now. @param {HasReached} hasReached */
async function hasCaughtUp (hasReached) {
  const sinceMs = performance.now()
  while (!hasReached(sinceMs) && performance.now() < sinceMs + CATCH_UP_MS) {
    await sleep(CATCH_UP_LOOK_MS)
  }
  return hasReached(sinceMs)
}
