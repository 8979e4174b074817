/**
 * What changed lately in a feed, for those who follow it: of layouts that keep one version of an id. Changes are read as they come, and of
 * ids that no one wants, nothing but the id. Items that do not change are read when someone asks for them, by key:
 *
 *     log of arrivals ─▶ ids that are wanted ─▶ what is stored of them ─▶ kept for a second ─▶ newest(id)
 *                                                                               ▲
 *     snapshot, or an id that is not kept (recent-reads.js) ────────────────────┘
 *
 * Everything is read from the node that is followed, so what is loaded is at least as new as the position, and no id goes back by it. An
 * entry that comes while something is loaded goes before it.
 *
 * It has the part of a view (view.js) that hubs use, and answers no queries.
 */
import { partitionKey } from '../feeds/index.js'
import { compareOrder } from '../item/index.js'
import { createReadSize, layoutOf, MAX_READ } from '../layouts/index.js'
import { newestArrivals } from './arrivals-newer.js'
import { createKeptVersions, createRecentReads } from './recent-reads.js'
import { newerReader } from './log-newer.js'
import { createViewPartitions, isSameFeed } from './view-partitions.js'

/** What is followed so of all feeds. */

/** of versions that are kept, of all feeds together; each has at least LEAST_BYTES */
const KEPT_BYTES = 64 * 1024 * 1024
const LEAST_BYTES = 4 * 1024 * 1024

/**
 * @param {Pick<Parameters<typeof createRecent>[0], 'deployment' | 'keyPrefix' | 'now' | 'log'> & {
 *   countsOf: (feed: string) => import('./view-registry.js').ViewCounts }} parts
 */
export function createRecents ({ countsOf, ...parts }) {
  /** @type {Map<string, Recent>} */
  const recents = new Map()
  const maxBytes = () => Math.max(LEAST_BYTES, KEPT_BYTES / recents.size)

  /** @param {string} feed */
  async function shut (feed) {
    const known = recents.get(feed)
    recents.delete(feed)
    await known?.close()
  }

  return {
    names: () => [...recents.keys()],

    /** @param {string} feed @returns {Recent | null} */
    of: (feed) => recents.get(feed) ?? null,

    /** As the feed is stored now. @param {Definition} definition @param {boolean} isWanted */
    follow (definition, isWanted) {
      const { feed } = definition
      const known = recents.get(feed)
      if (isWanted && known?.isOf(definition)) return known.setDefinition(definition)
      shut(feed)
      if (!isWanted) return
      const counted = countsOf(feed)
      recents.set(feed, createRecent({
        ...parts,
        definition,
        maxBytes,
        onSkipped (reason) { counted.skipped[reason]++ },
        onRebuilt () { counted.rebuilt++ }
      }))
    },

    shut,
    close: () => Promise.all([...recents.keys()].map(shut))
  }
}

/**
 * Reads the entries of a log of arrivals behind the newest one read, and the versions that they name of ids that someone wants: what the
 * node has stored of them, which may be newer than the entry.
 */

/** what arrives later may be beyond maxItems */
const LATE_MS = 1000
const FLOOR_EVERY_MS = 1000

/** @typedef {import('../item/index.js').VersionPlace} VersionPlace */

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (part: string) => string, part: import('./log-partition.js').Part,
 *   size: ReturnType<typeof import('./log-newer.js').createReplySize>,
 *   intake: ReturnType<typeof import('./log-newer.js').createLogIntake>, retention: () => import('../layouts/index.js').Retention,
 *   now: () => number, onSkipped: (reason: string, error?: Error) => void, isWanted: (id: string) => boolean,
 *   arrived: (id: string) => void,
 *   taken: (id: string, arrival: Arrival, version: import('../layouts/index.js').StoredVersion | null) => void }} of `arrived`: an entry
 *   names the id; `taken`: then, of an id that is wanted, what is stored. Ids as latin1
 * @returns {import('./log-feed.js').Newer}
 */
function createRecentNewer ({ layout, key, part, size, intake, retention, now, onSkipped, isWanted, arrived, taken }) {
  const log = /** @type {import('../layouts/index.js').Log} */ (layout.arrivals)
  const versionsAt = /** @type {NonNullable<typeof layout.versionsAt>} */ (layout.versionsAt)
  const readSize = createReadSize()
  /** @type {VersionPlace | null} */
  let floor = null
  let dueMs = 0

  /**
   * What maxItems excludes, asked for when an item is late.
   * @param {import('../store/index.js').Connection} connection @param {Arrival[]} all
   */
  async function lookAtFloor (connection, all) {
    if (retention().maxItems === 0) floor = null
    else if (performance.now() > dueMs && all.some(({ ts }) => ts < now() - LATE_MS)) {
      dueMs = performance.now() + FLOOR_EVERY_MS
      floor = await /** @type {NonNullable<typeof layout.floor>} */ (layout.floor)(connection, key, retention())
    }
  }

  return {
    read: newerReader({ log, part, size, now }),

    async take (found, connection) {
      const newest = newestArrivals(log, found, onSkipped)
      size.learn(found)
      for (const id of newest.keys()) {
        arrived(id)
        if (!isWanted(id)) newest.delete(id)
      }
      const arrivals = [...newest.values()]
      await lookAtFloor(connection, arrivals)
      const ids = [...newest.keys()]
      for (let at = 0; at < arrivals.length; at += MAX_READ) {
        const piece = arrivals.slice(at, at + MAX_READ)
        const versions = await versionsAt(connection, key, piece, readSize)
        piece.forEach((arrival, i) => {
          const version = versions[i]
          const isOut = version !== null && floor !== null && !version.deleted && compareOrder({ ...version, id: arrival.id }, floor) <= 0
          taken(ids[at + i], arrival, isOut ? null : version)
        })
        if (intake.isOver(piece.length)) await intake.yieldLoop()
      }
      const last = found.at(-1)
      if (last) part.taken = last.entryId
    }
  }
}

/** @typedef {import('../feeds/index.js').Definition} Definition */
/** @typedef {import('../layouts/index.js').Arrival} Arrival */
/** @typedef {import('../layouts/index.js').StoredVersion} StoredVersion */
/** @typedef {import('./view.js').Watcher} Watcher */
/** @typedef {ReturnType<typeof createRecent>} Recent */

/**
 * Whether a feed can be followed so. Where many versions of an id are stored, nothing leads from an id to its newest one: whether an item
 * that arrives is late, what a deletion hides, and what a client that wants some ids gets first, is known only after reading every version
 * that is live.
 * @param {string} layout
 */
export const hasRecent = (layout) => layoutOf(layout).describe().versions === 'one'

/**
 * @param {{ definition: Definition, deployment: import('../store/index.js').Servers, keyPrefix: string, now: () => number,
 *   log: import('pino').Logger, maxBytes: () => number, onSkipped: (reason: string) => void, onRebuilt: () => void }} options `maxBytes`:
 *   of versions that are kept
 */
export function createRecent ({ definition: given, deployment, keyPrefix, now, log, maxBytes, onSkipped, onRebuilt }) {
  let definition = given
  const begunMs = now()
  const { feed, partitions } = definition
  const layout = layoutOf(definition.layout)
  const keys = Array.from({ length: partitions }, (_, partition) => partitionKey(keyPrefix, definition, partition))
  const kept = createKeptVersions(maxBytes)
  /** of each load that is under way: ids that arrived since it was asked for @type {Set<Set<string>>} */
  const loads = new Set()
  /** @type {Watcher | null} */
  let watcher = null
  /** @param {string} id */
  const isWanted = (id) => watcher !== null && watcher.isWanted(id)

  /** @param {string} id */
  function arrived (id) {
    for (const load of loads) load.add(id)
    if (!isWanted(id)) kept.drop(id)
  }

  /**
   * Whether an entry names what is stored. A newer version has an entry of its own; of an older one the entry is that of a batch that the
   * server refused. Where the last write counts, what is stored may be older, and its entry was read together with this one.
   * @param {Arrival} arrival @param {StoredVersion} version
   */
  const isNamed = (arrival, version) => definition.late === 'overwrite' || compareOrder(version, arrival) === 0

  /** @param {string} id @param {Arrival} arrival @param {StoredVersion | null} version */
  function taken (id, arrival, version) {
    kept.put(id, version)
    // of an arrival that is no longer stored and was not deleted, another entry says what happened
    const isNews = version === null ? arrival.deleted : isNamed(arrival, version)
    if (isNews) watcher?.changed(arrival.id, 0, arrival.id.length, version === null || version.deleted)
  }

  const followed = createViewPartitions({
    layout,
    definition,
    stores: keys.map(() => /** @type {any} */ (storeOf(kept))),
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
    readingOf: (of) => ({ newer: createRecentNewer({ ...of, isWanted, arrived, taken }), older: nothingOlder(of.onRebuilt) })
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

    /** There is one watcher at a time. @param {Watcher} one @returns {() => void} removes it */
    watch (one) {
      watcher = one
      return () => { if (watcher === one) watcher = null }
    },

    /**
     * @param {Buffer} bytes @param {string} [id] the same as latin1
     * @returns {{ ts: number, value: Buffer, deleted: false } | { ts: null, value: null, deleted: true } | null | undefined} null: it is
     *   not live; undefined: it is not kept, and is to be loaded
     */
    newest (bytes, id = bytes.toString('latin1')) {
      const version = kept.get(id)
      if (version === undefined || version === null) return version
      if (version.deleted) return { ts: null, value: null, deleted: true }
      return isLive(version) ? { ts: version.ts, value: version.value, deleted: false } : null
    },

    ...createRecentReads({
      layout, keys, loads, kept, now, definition: () => definition, connectionOf: followed.connectionOf, caughtUpIn: followed.caughtUpIn
    }),

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

/** The place of a store of items, of which there are none. @param {import('./recent-reads.js').KeptVersions} kept */
const storeOf = (kept) => ({
  advance () {},
  setRetention () {},
  clear: kept.clear,
  // there may be items of the log that was followed
  stats: () => ({ items: 1, tombstones: 0, floor: null })
})

/** @param {(why: string) => void} onRebuilt @returns {import('./log-feed.js').Older} */
const nothingOlder = (onRebuilt) => ({
  isWanted: false,
  heldMs: undefined,
  begin () { onRebuilt('retention was widened') },
  rewind () {},
  read: async () => null,
  take: async () => {}
})
