/**
 * What changed lately in a feed, for those who follow it, in layouts with a log of arrivals. Changes are read as they come, and of ids that
 * no one wants, nothing but the id. Items that do not change are read when someone asks for them, by key:
 *
 *     log of arrivals ─▶ ids that are wanted ─▶ what is stored of them ─▶ kept for a second ─▶ newest(id)
 *                                                                               ▲
 *     snapshot, or an id that is not kept (recent-reads.js) ────────────────────┘
 *
 * Everything is read from the node that is followed, so what is loaded is at least as new as the position, and no id goes back by it. An
 * entry that comes while something is loaded goes before it.
 *
 * Where several versions of an id are stored, an arrival may be late, and nothing leads from an id to its newest version: their orders are
 * kept (newest-orders.js), so arrivals of all ids are read.
 *
 * It has the part of a view (view.js) that hubs use, and answers no queries.
 */
import { partitionKey } from '../feeds/index.js'
import { compareOrder } from '../item/index.js'
import { layoutOf } from '../layouts/index.js'
import { createKeptVersions } from './kept-versions.js'
import { createNewestOrders } from './newest-orders.js'
import { createRecentNewer } from './recent-newer.js'
import { createRecentReads } from './recent-reads.js'
import { createViewPartitions, isSameFeed } from './view-partitions.js'

/** @typedef {import('../feeds/index.js').Definition} Definition */
/** @typedef {import('../layouts/index.js').Arrival} Arrival */
/** @typedef {import('../layouts/index.js').StoredVersion} StoredVersion */
/** @typedef {import('./view.js').Watcher} Watcher */
/** @typedef {ReturnType<typeof createRecent>} Recent */

/** Whether a feed can be followed so: its log names what arrives, and the server finds what is named. @param {string} layout */
export const hasRecent = (layout) => layoutOf(layout).versionsAt !== undefined

/**
 * @param {{ definition: Definition, deployment: import('../store/index.js').Servers, keyPrefix: string, now: () => number,
 *   log: import('pino').Logger, maxBytes: () => number, boundItems: number, boundBytes: number, onSkipped: (reason: string) => void,
 *   onRebuilt: () => void }} options `maxBytes`: of versions that are kept; `boundItems`, `boundBytes`: of ids whose orders are
 */
export function createRecent ({
  definition: initialDefinition, deployment, keyPrefix, now, log, maxBytes, boundItems, boundBytes, onSkipped, onRebuilt
}) {
  let definition = initialDefinition
  const begunMs = now()
  const { feed, partitions } = definition
  const layout = layoutOf(definition.layout)
  const keys = Array.from({ length: partitions }, (_, partition) => partitionKey(keyPrefix, definition, partition))
  const kept = createKeptVersions(maxBytes)
  const orders = ordersOf({ layout, keys, now, boundItems, boundBytes, windowMs: () => definition.windowMs })
  /** of each load that is under way: ids that arrived since it was asked for @type {Set<Set<string>>} */
  const loads = new Set()
  /** @type {Watcher | null} */
  let watcher = null
  /** @param {string} id */
  const isNeeded = (id) => watcher !== null && watcher.isNeeded(id)

  /** @param {string} id */
  function arrived (id) {
    for (const load of loads) load.add(id)
    if (!isNeeded(id)) kept.drop(id)
  }

  /**
   * Whether an entry names what is stored. A newer version has an entry of its own; of an older one the entry is that of a batch that the
   * server refused. Where the last write counts, what is stored may be older, and its entry was read together with this one.
   * @param {Arrival} arrival @param {StoredVersion} version
   */
  const isNamed = (arrival, version) => definition.late === 'overwrite' || compareOrder(version, arrival) === 0

  /** @param {string} id @param {Arrival} arrival @param {StoredVersion | null} version */
  function taken (id, arrival, version) {
    // it may have been needed when it arrived
    if (!isNeeded(id)) return kept.drop(id)
    kept.put(id, version)
    // of an arrival that is no longer stored and was not deleted, another entry says what happened
    const isNews = version === null ? arrival.deleted : isNamed(arrival, version)
    if (isNews) watcher?.changed(arrival.id, 0, arrival.id.length, version === null || version.deleted)
  }

  const followed = createViewPartitions({
    layout,
    definition,
    stores: keys.map((_, partition) => /** @type {any} */ (storeOf(kept, orders?.[partition] ?? null))),
    deployment,
    keyPrefix,
    log,
    now,
    isWhole: false,
    onSkipped,
    onRebuilt (why) {
      onRebuilt()
      watcher?.rebuilt()
      log.info({ feed, reason: why }, 'followers of the feed are reset')
    },
    readingOf (of) {
      const { orders } = /** @type {any} */ (of.part.store)
      return { newer: createRecentNewer({ ...of, isNeeded, arrived, orders, taken }), older: nothingOlder(of) }
    }
  })

  const isLive = (/** @type {{ ts: number }} */ { ts }) => definition.windowMs === 0 || ts >= now() - definition.windowMs

  return {
    get definition () { return definition },
    get isComplete () { return followed.isComplete },
    get confirmedMs () { return Math.min(followed.asOf, deployment.confirmedAt(now())) },
    /** When it last had everything that its node had, or when it began, ms since 1970. */
    get asOf () { return followed.isComplete ? followed.asOf : begunMs },
    /** As of a view (view.js). */
    get lagMs () { return followed.lagMs },
    get failure () { return followed.failure },
    /** As View.position. @returns {string} */
    position: followed.position,
    takePosition: followed.takePosition,

    /** There is one watcher at a time. @param {Watcher} newWatcher @returns {() => void} removes it */
    watch (newWatcher) {
      watcher = newWatcher
      return () => { if (watcher === newWatcher) watcher = null }
    },

    /**
     * @param {string} id as latin1
     * @returns {{ ts: number, value: Buffer, deleted: false } | { ts: null, value: null, deleted: true } | null | undefined} null: it is
     *   not live; undefined: it is not kept, and is to be loaded
     */
    newest (id) {
      const version = kept.get(id)
      if (version === undefined || version === null) return version
      if (version.deleted) return { ts: null, value: null, deleted: true }
      return isLive(version) ? { ts: version.ts, value: version.value, deleted: false } : null
    },

    ...createRecentReads({ ...followed, layout, keys, loads, kept, maxBytes, now, definition: () => definition, orders }),

    /** Whether it can continue with that definition. @param {Definition} other */
    isOf: (other) => isSameFeed(definition, other),

    /** @param {Definition} changed */
    setDefinition (changed) {
      const { windowMs, maxItems } = definition
      definition = changed
      if (changed.windowMs !== windowMs || changed.maxItems !== maxItems) followed.setRetention(changed)
    },

    close: followed.close
  }
}

/**
 * @param {{ layout: import('../layouts/index.js').Layout, keys: ((part: string) => string)[], windowMs: () => number, now: () => number,
 *   boundItems: number, boundBytes: number }} parts
 */
const ordersOf = ({ keys, boundItems, boundBytes, ...parts }) => parts.layout.describe().versions === 'one'
  ? null
  : keys.map((key) => createNewestOrders({ ...parts, key, maxIds: boundItems / keys.length, maxBytes: boundBytes / keys.length }))

/**
 * Stands in for a store of items, of which there are none.
 * @param {import('./kept-versions.js').KeptVersions} kept @param {import('./newest-orders.js').NewestOrders | null} orders
 */
const storeOf = (kept, orders) => ({
  orders,
  advance () {},
  setRetention () {},
  clear () {
    kept.clear()
    orders?.clear()
  },
  // there may be items of the log that was followed
  stats: () => ({ items: 1, tombstones: 0, floor: null })
})

/** @param {import('./log-feed.js').Reading} of @returns {import('./log-feed.js').Older} */
const nothingOlder = ({ part, onRebuilt }) => ({
  isIncomplete: false,
  heldMs: undefined,
  begin () {
    part.store.clear()
    onRebuilt('retention was widened')
  },
  rewind () {},
  read: async () => null,
  take: async () => {}
})
