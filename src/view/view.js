/**
 * The live items of one feed, held in memory and kept up by following the feed on a node. It answers at once, exactly,
 * and as of the time at which it was last known to have everything.
 *
 *     node -> following (a connection) -> log feed | set feed -> stores, one a partition -> answers
 *
 * It holds so many items and bytes at most. Beyond that the oldest are let go of, and what it says of newer ones stays
 * exact: pages end above the `floor`, an id that is not there may be below it.
 */
import { FreshetError, publicReason } from '../errors.js'
import { partitionKey } from '../feeds/keys.js'
import { createdMsOf, encodePlaces, encodeTimes } from '../item/position.js'
import { layoutOf } from '../layouts/index.js'
import { keepFollowing } from './following.js'
import { createLogFeed } from './log-feed.js'
import { createSetFeed } from './set-feed.js'
import { createShelves } from './shelves.js'
import { createViewStore } from './store/index.js'

/** from here on a view is behind */
export const BEHIND_MS = 1000
const SAY_AGAIN_MS = 10_000

/** @typedef {import('../feeds/definitions.js').Definition} Definition */
/** @typedef {import('../item/order.js').Place} Place */
/** @typedef {import('../layouts/index.js').Item} Item */
/** @typedef {{ limit: number, sinceMs?: number | null, after?: Place | null }} Question */
/** @typedef {ReturnType<typeof createView>} View */
/**
 * @typedef {object} Watcher
 * @property {(bytes: Uint8Array, idAt: number, idEnd: number, isForgotten: boolean) => void} changed something became visible, or went, for an id; it
 *   is copied or looked at during the call. `isForgotten`: it was removed, and nothing of it is kept
 * @property {() => void} anew the view is made anew: what changes until it is in again says nothing
 */

let views = 0

/**
 * @param {{ definition: Definition, deployment: import('../store/deployment.js').Deployment, keyPrefix: string, now: () => number,
 *   log: import('pino').Logger, boundItems: number, boundBytes: number, onPassedOver: (reason: string) => void, onRebuilt: () => void }} options
 * @throws {FreshetError} FEED_LAYOUT_UNKNOWN
 */
export function createView ({ definition: given, deployment, keyPrefix, now, log, boundItems, boundBytes, onPassedOver, onRebuilt }) {
  let definition = given
  const { feed: name, partitions } = definition
  const number = ++views
  /** @type {Watcher | null} */
  let watcher = null
  const layout = layoutOf(definition.layout)
  const stores = Array.from({ length: partitions }, () => createViewStore({
    windowMs: definition.windowMs,
    maxItems: layout.log ? definition.maxItems : 0,
    boundItems: Math.ceil(boundItems / partitions),
    boundBytes: Math.ceil(boundBytes / partitions)
  }))
  const shelves = createShelves(stores)
  const key = (/** @type {number} */ partition) => partitionKey(keyPrefix, name, partition)
  const sayPassedOver = createReport((facts) => log.warn({ feed: name, ...facts }, 'entries of the log were passed over'))
  const parts = {
    key,
    stores,
    retention: definition,
    now,
    onRebuilt (/** @type {string} */ why) {
      onRebuilt()
      watcher?.anew()
      log.warn({ feed: name }, `the view is made anew: ${why}`)
    }
  }
  const feed = layout.log
    ? createLogFeed({
      ...parts,
      log: layout.log,
      onPassedOver (reason, error) {
        onPassedOver(reason)
        sayPassedOver({ reason, cause: error?.message })
      }
    })
    : createSetFeed({ ...parts, layout })
  const following = keepFollowing({ deployment, name: `view-${name}`, isForLog: layout.log !== undefined, log, follow: feed.follow })

  /** @param {Place | null} floor @param {number | null} sinceMs whether all that is asked for is above what was let go of */
  const isWhole = (floor, sinceMs) => floor === null || (sinceMs !== null && sinceMs > floor.ts)

  /** @param {Place} floor */
  const overBound = (floor) => new FreshetError('VIEW_OVER_BOUND', `the view of feed ${name} holds no more than ${boundItems} items and ${boundBytes} bytes, so nothing from ${floor.ts} (ms since 1970) and before; ask for newer items, or raise maxViewItems or maxViewBytes (--max-view-items, --max-view-bytes)`)

  return {
    get definition () { return definition },
    get isIn () { return feed.isIn },
    /** When it was last known to have everything that its node had, ms since 1970. */
    get asOf () { return feed.asOf },
    /** of its node; null = not known */
    get lagMs () { return following.lagMs },
    get floor () { return shelves.stats().floor },
    /** Why it is not followed, for anybody to read. @returns {string | null} */
    get failure () { return following.lastError && publicReason(following.lastError) },

    /** @returns {string} equal = the same content */
    revision () {
      feed.settle(now())
      return `${number}-${shelves.revision()}`
    },

    /**
     * Items, newest first.
     * @param {Question} question @param {import('./shelves.js').Visit} visit
     * @returns {{ next: Place | null, count: number } | null} null = what is asked for was let go of
     */
    visit ({ limit, sinceMs = null, after = null }, visit) {
      const { floor } = shelves.stats()
      const question = { limit, after, sinceMs, nowMs: now() }
      if (isWhole(floor, sinceMs)) return shelves.latest(question, visit)
      return aboveFloor(/** @type {Place} */ (floor), question, visit)
    },

    /** @param {Buffer[]} ids @returns {(Item | null)[]} @throws {FreshetError} VIEW_OVER_BOUND */
    get (ids) {
      const nowMs = now()
      const { floor } = shelves.stats()
      return ids.map((id) => {
        const store = shelves.storeOf(id)
        const item = store.get(id, nowMs)
        if (item === null && floor !== null && store.versionOf(id) === null) throw overBound(floor)
        return item
      })
    },

    /** @returns {number} @throws {FreshetError} VIEW_OVER_BOUND */
    count () {
      const { floor } = shelves.stats()
      if (floor !== null) throw overBound(floor)
      return shelves.count(now())
    },

    stats: () => shelves.stats(),

    /** One may watch at a time. @param {Watcher} one @returns {() => void} ends it */
    watch (one) {
      watcher = one
      for (const store of stores) store.watcher = one.changed
      return () => {
        if (watcher !== one) return
        watcher = null
        for (const store of stores) store.watcher = null
      }
    },

    /** By which place everything was taken in, for whoever goes on there. @returns {string} */
    position: () => 'position' in feed
      ? encodePlaces(name, feed.position(following.lagMs), createdMsOf(definition))
      : encodeTimes(name, feed.times(), createdMsOf(definition)),

    /**
     * The newest version of an id that is held.
     * @param {Buffer} id
     * @returns {{ ts: number, value: Buffer, deleted: false } | { ts: number, value: null, deleted: true } | null} null: it is not
     *   live any more, or was let go of
     */
    newest (id) {
      const store = shelves.storeOf(id)
      const item = store.get(id, now())
      if (item) return { ts: item.ts, value: item.value, deleted: false }
      const version = store.versionOf(id)
      return version?.deleted ? { ts: version.ts, value: null, deleted: true } : null
    },

    /** Resolves when everything is taken in that a node has now. @param {import('../store/connection.js').Connection} connection to it */
    caughtUp: (connection) => feed.caughtUp(connection),

    /** Whether it can go on with that definition. @param {Definition} other */
    isOf: (other) => (/** @type {const} */ (['layout', 'partitions', 'format', 'createdAt'])).every((field) => other[field] === definition[field]),

    /** Follows another retention. @param {Definition} changed */
    setDefinition (changed) {
      const { windowMs, maxItems } = definition
      definition = changed
      if (changed.windowMs !== windowMs || changed.maxItems !== maxItems) feed.setRetention(changed)
    },

    close: () => following.close()
  }

  /**
   * @param {Place} floor @param {import('./shelves.js').Question} question @param {import('./shelves.js').Visit} visit
   */
  function aboveFloor (floor, question, visit) {
    let count = 0
    /** @type {Place | null} */
    let last = null
    let isEnded = false
    const { next } = shelves.latest(question, (bytes, idAt, idEnd, ts, seq, valueAt, valueEnd) => {
      // with several partitions another one may have more
      if (ts <= floor.ts) {
        isEnded = true
        return false
      }
      count++
      last = { ts, seq, id: Buffer.from(bytes.subarray(idAt, idEnd)) }
      return visit(bytes, idAt, idEnd, ts, seq, valueAt, valueEnd)
    })
    if (!isEnded && next !== null) return { next, count }
    return last === null ? null : { next: last, count }
  }
}

/** Says something at most so often, and how often it was. @param {(facts: Record<string, unknown>) => void} say */
function createReport (say) {
  let saidMs = -Infinity
  let times = 0
  return (/** @type {Record<string, unknown>} */ facts) => {
    times++
    if (performance.now() - saidMs < SAY_AGAIN_MS) return
    saidMs = performance.now()
    say({ ...facts, times })
    times = 0
  }
}
