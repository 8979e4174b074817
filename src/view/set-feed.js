/**
 * Follows one partition of a feed whose layout does not keep the order of arrival, by polling a node, and puts what it reads into its
 * store of a view. A round reads what came (set-partition.js). Reading takes at most half of the time.
 *
 * Nodes of one replication history have the same items sooner or later. A node that is behind the view gets a second to catch
 * up, because what it does not have yet would look removed. A node of another history may lack items for good, so the view is
 * rebuilt then, also where a slot of a cluster has moved: that looks the same as a primary that took over without the newest items.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { readInfo } from '../store/index.js'
import { createRoundWaiters } from './round-waiters.js'
import { createSetPartition } from './set-partition.js'

const ROUND_MS = 10
/** how long a node that is behind the view may take to catch up */
const CATCH_UP_MS = 1000
const CATCH_UP_LOOK_MS = 20

/** @typedef {import('../store/index.js').Connection} Connection */
/** @typedef {import('../layouts/index.js').Retention} Retention */
/** @typedef {ReturnType<typeof createSetPartition>} SetPartition */

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

  /** @param {Connection} connection */
  async function checkHistory (connection) {
    const { master_replid: found = '' } = readInfo(await connection.send('INFO', 'replication'), connection.address)
    const isAnother = history !== '' && found !== history
    history = found
    if (!isAnother) return
    part.reset()
    onRebuilt('the node has another replication history')
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
    async follow (connection, { answered }) {
      await checkHistory(connection)
      await waitUntilCaughtUp(connection, part)
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

/**
 * Waits, for a while, until a node has the newest item of the partition. That item may have been removed.
 * @param {Connection} connection
 * @param {SetPartition} part
 */
async function waitUntilCaughtUp (connection, part) {
  for (const untilMs = performance.now() + CATCH_UP_MS; performance.now() < untilMs; await sleep(CATCH_UP_LOOK_MS)) {
    if (await part.hasNewest(connection)) return
  }
}
