/**
 * Follows a feed whose layout keeps no order of arrival, by asking a node again and again, and puts what it reads into
 * the stores of a view.
 *
 * A round reads what came to each partition (set-partition.js). Asking takes no more than half of the time.
 *
 * Nodes of one replication history have the same, sooner or later. One that is behind what was read gets a second to get
 * there: what it does not have yet would look removed. A node of another history may lack what was read, so what was read is
 * forgotten then.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { readInfo } from '../store/nodes.js'
import { createRounds } from './rounds.js'
import { createSetPartition } from './set-partition.js'

const ROUND_MS = 10
/** how long a node that has not got as far as the view gets for it */
const CATCH_UP_MS = 1000
const CATCH_UP_LOOK_MS = 20

/** @typedef {import('../store/connection.js').Connection} Connection */
/** @typedef {import('./shelves.js').Store} Store */

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (partition: number) => (part: string) => string, stores: Store[],
 *   retention: import('../layouts/index.js').Retention, now: () => number, onRebuilt: (why: string) => void }} parts
 */
export function createSetFeed ({ layout, key, stores, retention: given, now, onRebuilt }) {
  let retention = given
  let asOf = 0
  const rounds = createRounds()
  let rest = new AbortController()
  /** of the replication that the nodes of earlier epochs took part in */
  let history = ''
  const parts = stores.map((store, partition) => createSetPartition({ layout, key: key(partition), store, now, retention: () => retention }))

  /** @param {number} nowMs */
  function settle (nowMs) {
    for (const store of stores) store.advance(nowMs, 0)
  }

  /** @param {Connection} connection */
  async function sameHistory (connection) {
    const { master_replid: found = '' } = readInfo(await connection.send('INFO', 'replication'), connection.address)
    const isAnother = history !== '' && found !== history
    history = found
    if (!isAnother) return
    for (const part of parts) part.beginAnew()
    onRebuilt('the node has another history of replication')
  }

  /** Waits for a node that has not got as far; where what is newest was removed, in vain. @param {Connection} connection */
  async function untilThere (connection) {
    for (const untilMs = performance.now() + CATCH_UP_MS; performance.now() < untilMs; await sleep(CATCH_UP_LOOK_MS)) {
      const isThere = await Promise.all(parts.map((part) => part.isThere(connection)))
      if (isThere.every(Boolean)) return
    }
  }

  return {
    /** When it was asked for what was read last, ms since 1970. */
    get asOf () { return asOf },
    /** Whether all that is live has been read. */
    get isIn () { return asOf > 0 && parts.every(({ isIn }) => isIn) },
    settle,

    /** The newest event time taken in, by partition. @returns {number[]} */
    times: () => parts.map(({ newestMs }) => newestMs),

    /** @param {import('../layouts/index.js').Retention} changed */
    setRetention (changed) {
      retention = changed
      for (const store of stores) store.setRetention({ windowMs: changed.windowMs, maxItems: 0 })
      // what was let go may be live again
      for (const part of parts) part.fillAgain()
    },

    /**
     * One epoch: until the connection ends.
     * @param {Connection} connection @param {import('./following.js').Options} options
     * @returns {Promise<void>} rejects
     */
    async follow (connection, { answered }) {
      await sameHistory(connection)
      await untilThere(connection)
      for (;;) {
        const begunMs = performance.now()
        const askedMs = now()
        const isAwaited = rounds.isAwaited
        const end = rounds.begin()
        let isWhole = false
        try {
          await Promise.all(parts.map((part) => part.round(connection, { isThorough: isAwaited })))
          isWhole = true
        } finally {
          end(isWhole)
        }
        answered()
        asOf = askedMs
        settle(now())
        if (rounds.isAwaited || !parts.every(({ isIn }) => isIn)) continue
        await sleep(Math.max(ROUND_MS, performance.now() - begunMs), undefined, { signal: rest.signal }).catch(() => {})
        rest = new AbortController()
      }
    },

    /** Resolves when everything is taken in that the node has now. */
    async caughtUp () {
      const next = rounds.next()
      rest.abort()
      await next
    }
  }
}
