/**
 * The partitions of a view, as one: each follows its own primary's nodes in sessions of its own, so that a partition that moves, or whose
 * servers are away, delays no other.
 */
import { publicReason } from '../errors.js'
import { partitionKey } from '../feeds/index.js'
import { createdMsOf, encodeOffsets } from '../item/index.js'
import { runSessions } from '../store/index.js'
import { createLogFeed } from './log-feed.js'

/** @typedef {import('../feeds/index.js').Definition} Definition */

/**
 * @param {Omit<Parameters<typeof createLogFeed>[0], 'key' | 'store' | 'partitions' | 'retention'> & {
 *   layout: import('../layouts/index.js').Layout, definition: Definition, stores: import('./view.js').Store[],
 *   deployment: import('../store/index.js').Servers, keyPrefix: string, log: import('pino').Logger }} parts
 */
export function createViewPartitions ({ layout, definition, stores, deployment, keyPrefix, log, ...parts }) {
  const { feed: name, partitions } = definition
  const createdMs = createdMsOf(definition)
  const feeds = stores.map((store, partition) => {
    const own = { ...parts, partitions, retention: definition, key: partitionKey(keyPrefix, definition, partition), store }
    return createLogFeed({ ...own, layout })
  })
  const followers = feeds.map(({ follow }, partition) => {
    const key = partitionKey(keyPrefix, definition, partition)('')
    return createFollower({ deployment, key, name: `view-${name}`, log, follow })
  })

  /** @returns {() => string} the position as it is now */
  function takePosition () {
    const read = feeds.map((feed, i) => feed.position(followers[i].lagMs))
    const readMs = Math.min(...read.map((one) => one.readMs))
    return () => encodeOffsets(name, { readMs, offsets: read.map(({ offset }) => offset) }, createdMs)
  }

  return {
    /** Whether everything that is live has been read. */
    get isComplete () { return feeds.every((feed) => feed.isComplete) },
    /** As of each (log-feed.js): of the one that has least. @returns {number | null | undefined} */
    get heldMs () {
      const held = feeds.map(({ heldMs }) => heldMs)
      if (held.some((ms) => ms === undefined)) return undefined
      const partly = held.filter((ms) => typeof ms === 'number')
      return partly.length === 0 ? null : Math.max(...partly)
    },
    /** When each last had everything that its node had: the earliest, ms since 1970. */
    get asOf () { return Math.min(...feeds.map((feed) => feed.asOf)) },
    /** of the node that is furthest behind; null = one is unknown */
    get lagMs () {
      const lags = followers.map(({ lagMs }) => lagMs)
      const known = lags.filter((lagMs) => lagMs !== null)
      return known.length < lags.length ? null : Math.max(...known)
    },
    /** Why a partition is not followed. @returns {Error & { code?: string } | null} */
    get lastError () { return followers.map(({ lastError }) => lastError).find((one) => one !== null) ?? null },
    /** The same, in public words. @returns {string | null} */
    get failure () { return this.lastError ? publicReason(this.lastError) : null },

    /** @param {number} nowMs */
    settle (nowMs) { for (const feed of feeds) feed.settle(nowMs) },

    /** As View.position, encoded when it is needed. */
    takePosition,
    /** As View.position. @returns {string} */
    position: () => takePosition()(),

    /** To the node of a partition that is followed; null = none is. @param {number} partition */
    connectionOf: (partition) => feeds[partition].connection,

    /** As caughtUp, of one. @param {number} partition @param {import('../store/index.js').Router} node */
    caughtUpIn: (partition, node) => feeds[partition].caughtUp(node),

    /** Resolves when all have what nodes have now. @param {import('../store/index.js').Router} nodes */
    caughtUp: (nodes) => Promise.all(feeds.map((feed) => feed.caughtUp(nodes))),

    /** @param {Definition} changed */
    setRetention (changed) { for (const feed of feeds) feed.setRetention(changed) },

    close: () => Promise.all(followers.map((follower) => follower.close()))
  }
}

const OF_FEED = /** @type {const} */ (['layout', 'partitions', 'format', 'createdAt'])

/**
 * Whether what follows a feed can go on with another definition: only its retention may differ.
 * @param {import('../feeds/index.js').Definition} definition @param {import('../feeds/index.js').Definition} other
 */
export const isSameFeed = (definition, other) => OF_FEED.every((field) => other[field] === definition[field])

const FIRST_WAIT_MS = 20
/** a read blocks for at most so long, so an idle feed is confirmed this often */
const BLOCK_MS = 100
/** share of the deadline: the reply must arrive before the server counts as silent */
const BLOCK_SHARE = 0.25

/** @typedef {import('../store/index.js').Connection} Connection that sends and closes */
/** @typedef {ReturnType<typeof createFollower>} Following */

/**
 * Follows a partition of a feed. Partitions share connections, because reading logs blocks (src/store/stream-follower.js). When the
 * connection ends, or the deployment leaves its node while another may answer, the next session resumes where this one was.
 * @param {{ deployment: import('../store/index.js').Servers, key: string, name: string, log: import('pino').Logger,
 *   follow: (connection: Connection, options: Options) => Promise<void> }} parts `key`: has the hash tag of what is followed;
 *   `follow` runs until the connection ends, and rejects with the reason
 * @typedef {{ blockMs: number, answered: () => void, taken?: () => void }} Options `answered`: to be
 *   called when the feed could be read; `taken`: when a reply of XREAD is of no more use
 */
function createFollower ({ deployment, key, name, log, follow }) {
  const stop = new AbortController()
  const { signal } = stop
  const blockMs = Math.max(1, Math.min(BLOCK_MS, Math.floor(deployment.deadlineMs * BLOCK_SHARE)))
  /** @type {{ lagMs: () => number | null } | null} */
  let node = null
  /** @type {Error & { code?: string } | null} */
  let lastError = null

  /** @returns {Promise<'used' | 'unused' | 'refused'>} whether the feed could be read, or the server refused it */
  async function session () {
    const shard = deployment.shard(key)
    const opened = await deployment.streams.open(signal, key, { purpose: name })
    const connection = /** @type {Connection} */ (opened.connection)
    let isOfUse = false
    /** @type {any} */
    let refusal = null
    node = opened
    const unwatch = deployment.watch(() => {
      if (opened.isLeft() || deployment.shard(key) !== shard) connection.close('the node is left')
    })
    const abort = () => connection.close()
    const answered = () => {
      lastError = null
      isOfUse = true
    }
    signal.addEventListener('abort', abort, { once: true })
    try {
      if (!signal.aborted) await follow(connection, { blockMs, answered, taken: opened.taken })
    } catch (error) {
      failed(error)
      if (error.outcome === 'forbidden') refusal = error
    } finally {
      unwatch()
      signal.removeEventListener('abort', abort)
      node = null
      opened.end(refusal)
    }
    if (refusal) return 'refused'
    return isOfUse ? 'used' : 'unused'
  }

  /** @param {Error & { code?: string }} error */
  function failed (error) {
    if (!signal.aborted && error.code !== lastError?.code) {
      log.warn({ view: name, code: error.code, reason: error.message }, 'view is not followed, retrying')
    }
    lastError = error
  }

  const keepSession = () => session().catch((error) => {
    failed(error)
    return error.retryable === false ? 'refused' : 'unused'
  })
  const kept = runSessions(keepSession, { firstWaitMs: FIRST_WAIT_MS, signal })

  return {
    /** Lag of the node that is followed behind its primary; null = not known. */
    get lagMs () { return node?.lagMs() ?? null },
    /** Why the feed is not followed, if it is not. */
    get lastError () { return lastError },
    async close () {
      stop.abort()
      await kept
    }
  }
}
