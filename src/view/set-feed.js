/**
 * Follows a feed whose layout does not keep the order of arrival, by polling a node, and puts what it reads into the stores of
 * a view. A round reads what came to each partition (set-partition.js). Reading takes at most half of the time.
 *
 * Nodes of one replication history have the same items sooner or later. A node that is behind the view gets a second to catch
 * up, because what it does not have yet would look removed. A node of another history may lack items for good, so the view is
 * rebuilt then.
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
 * @param {{ layout: import('../layouts/index.js').Layout, key: (partition: number) => (part: string) => string,
 *   stores: import('./partitioned-store.js').Store[], retention: Retention, now: () => number, onRebuilt: (why: string) => void }} parts
 */
export function createSetFeed ({ layout, key, stores, retention: given, now, onRebuilt }) {
  let retention = given
  let asOf = 0
  const rounds = createRoundWaiters()
  let rest = new AbortController()
  /** replication id of the nodes of earlier sessions */
  let history = ''
  const parts = stores.map((store, partition) =>
    createSetPartition({ layout, key: key(partition), store, now, retention: () => retention }))

  /** @param {number} nowMs */
  function settle (nowMs) {
    for (const store of stores) store.advance(nowMs, 0)
  }

  /** @param {Connection} connection */
  async function checkHistory (connection) {
    const { master_replid: found = '' } = readInfo(await connection.send('INFO', 'replication'), connection.address)
    const isAnother = history !== '' && found !== history
    history = found
    if (!isAnother) return
    for (const part of parts) part.reset()
    onRebuilt('the node has another replication history')
  }

  /** @param {Connection} connection */
  async function round (connection) {
    const isThorough = rounds.isAwaited
    const end = rounds.begin()
    let isWhole = false
    try {
      await Promise.all(parts.map((part) => part.round(connection, { isThorough })))
      isWhole = true
    } finally {
      end(isWhole)
    }
  }

  const isComplete = () => parts.every((part) => part.isComplete)

  return {
    /** When the last round began, ms since 1970. */
    get asOf () { return asOf },
    /** Whether everything that is live has been read. */
    get isComplete () { return asOf > 0 && isComplete() },
    settle,

    /** The newest event time read, by partition. @returns {number[]} */
    times: () => parts.map(({ newestMs }) => newestMs),

    /** @param {Retention} changed */
    setRetention (changed) {
      retention = changed
      for (const store of stores) store.setRetention({ windowMs: changed.windowMs, maxItems: 0 })
      // removed items may be live again
      for (const part of parts) part.refill()
    },

    /**
     * One session: runs until the connection ends.
     * @param {Connection} connection @param {import('./follower.js').Options} options
     * @returns {Promise<void>} rejects
     */
    async follow (connection, { answered }) {
      await checkHistory(connection)
      await waitUntilCaughtUp(connection, parts)
      for (;;) {
        const begunMs = performance.now()
        const askedMs = now()
        await round(connection)
        answered()
        asOf = askedMs
        settle(now())
        if (rounds.isAwaited || !isComplete()) continue
        await sleep(Math.max(ROUND_MS, performance.now() - begunMs), undefined, { signal: rest.signal }).catch(() => {})
        rest = new AbortController()
      }
    },

    /** Resolves when the stores have what the node has now. */
    async caughtUp () {
      const next = rounds.next()
      rest.abort()
      await next
    }
  }
}

/**
 * Waits, for a while, until a node has the newest item of each partition. That item may have been removed.
 * @param {Connection} connection
 * @param {SetPartition[]} parts
 */
async function waitUntilCaughtUp (connection, parts) {
  for (const untilMs = performance.now() + CATCH_UP_MS; performance.now() < untilMs; await sleep(CATCH_UP_LOOK_MS)) {
    const isThere = await Promise.all(parts.map((part) => part.hasNewest(connection)))
    if (isThere.every(Boolean)) return
  }
}
