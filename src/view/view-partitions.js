/**
 * The partitions of a view, as one: each follows its own primary's nodes in sessions of its own, so that a partition that moves, or whose
 * servers are away, delays no other.
 */
import { publicReason } from '../errors.js'
import { partitionKey } from '../feeds/index.js'
import { createdMsOf, encodeOffsets } from '../item/index.js'
import { createLogFeed } from './log-feed.js'
import { createFollower } from './partition-follower.js'

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
    const feedOptions = { ...parts, partitions, retention: definition, key: partitionKey(keyPrefix, definition, partition), store }
    return createLogFeed({ ...feedOptions, layout })
  })
  const followers = feeds.map(({ follow }, partition) => {
    const key = partitionKey(keyPrefix, definition, partition)('')
    return createFollower({ deployment, key, name: `view-${name}`, log, follow })
  })

  /** @param {boolean} isDecided @returns {() => string} the position as it is now */
  function takePosition (isDecided) {
    const read = feeds.map((feed, i) => feed.position(followers[i].lagMs, isDecided))
    const readMs = Math.min(...read.map((position) => position.readMs))
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
      const reported = lags.filter((lagMs) => lagMs !== null)
      return reported.length < lags.length ? null : Math.max(...reported)
    },
    /** Why a partition is not followed. @returns {Error & { code?: string } | null} */
    get lastError () { return followers.map(({ lastError }) => lastError).find((error) => error !== null) ?? null },
    /** The same, in public words. @returns {string | null} */
    get failure () { return this.lastError ? publicReason(this.lastError) : null },

    /** @param {number} nowMs */
    settle (nowMs) { for (const feed of feeds) feed.settle(nowMs) },

    /** As View.position, encoded when it is needed; before arrivals that are not decided (recent-newer.js). */
    takePosition: () => takePosition(true),
    /** As View.position. @returns {string} */
    position: () => takePosition(false)(),

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
