/**
 * The live items of one feed in memory, updated by following the feed on a node. Answers are immediate, exact, and as of the
 * last time the view had everything that its node had.
 *
 *     for each partition: node -> follower -> log feed -> store -> answers
 *
 * Items and bytes are bounded. Beyond the bound the oldest items are evicted; answers above the `floor` stay exact.
 */
import { FreshetError } from '../errors.js'
import { compareOrder, partitionOf } from '../item/index.js'
import { layoutOf } from '../layouts/index.js'
import { createViewStore } from './store/index.js'
import { createViewPartitions, isSameFeed } from './view-partitions.js'

/**
 * The stores of a view, one per partition, as one: retention by number holds per partition, so each has its own store.
 * With one partition, the usual case, a query goes straight to its store.
 */

/** in standard deviations: by how much the share of a partition may exceed the mean */
const SPREAD = 4
/** items read from a partition at once: a page may end after a few hundred */
const MAX_WAITING = 512

/** @typedef {ReturnType<typeof import('./store/index.js').createViewStore>} Store */
/** @typedef {{ limit: number, after: Place | null, sinceMs: number | null, nowMs: number }} StoreQuestion */
/**
 * @typedef {(bytes: Buffer, idAt: number, idEnd: number, ts: number, seq: number, valueAt: number,
 *   valueEnd: number) => boolean | void} Visit
 *   of an item: where its id and value are, valid until the visit returns; false = the page ends after this item */
/** @typedef {{ bytes: Buffer, idAt: number, idEnd: number, ts: number, seq: number, valueAt: number, valueEnd: number }} Shown */

/** @param {Store[]} stores by partition */
export function createPartitionedStore (stores) {
  const [only] = stores
  return {
    /** @param {StoreQuestion} question @param {Visit} visit @returns {{ next: Place | null, count: number }} */
    latest: (question, visit) => stores.length === 1 ? only.latest(question, visit) : merged(stores, question, visit),

    /** @param {Buffer} id */
    storeOf: (id) => stores[partitionOf(id, stores.length)],

    /** @param {number} nowMs */
    count: (nowMs) => stores.reduce((sum, store) => sum + store.count(nowMs), 0),

    /** Text that differs after every visible change. */
    revision: () => stores.length === 1 ? String(only.revision) : stores.map(({ revision }) => revision).join('.'),

    /** @returns {{ items: number, tombstones: number, bytes: number, floor: Place | null }} `floor`: the newest place of an evicted item */
    stats () {
      const all = stores.map((store) => store.stats())
      const sum = (/** @type {'items' | 'tombstones' | 'bytes'} */ name) => all.reduce((total, one) => total + one[name], 0)
      const floors = all.flatMap(({ floor }) => floor ?? [])
      return { items: sum('items'), tombstones: sum('tombstones'), bytes: sum('bytes'), floor: floors.sort(compareOrder).at(-1) ?? null }
    }
  }
}

/** @param {Store[]} stores @param {StoreQuestion} question @param {Visit} visit */
function merged (stores, { limit, after, sinceMs, nowMs }, visit) {
  const share = limit / stores.length
  const wanted = Math.min(limit, MAX_WAITING, Math.ceil(share + SPREAD * Math.sqrt(share)))
  const sources = stores.map((store) => ({ store, waiting: /** @type {Shown[]} */ ([]), at: 0, next: after, isDone: false }))

  /** @param {typeof sources[0]} source */
  function refill (source) {
    while (source.at === source.waiting.length && !source.isDone) {
      /** @type {Shown[]} */
      const waiting = []
      const {
        next
      } = source.store.latest({ limit: wanted, after: source.next, sinceMs, nowMs }, (bytes, idAt, idEnd, ts, seq, valueAt, valueEnd) => {
        waiting.push({ bytes, idAt, idEnd, ts, seq, valueAt, valueEnd })
      })
      Object.assign(source, { waiting, at: 0, next, isDone: next === null })
    }
    return source.at < source.waiting.length
  }

  let count = 0
  /** @type {Shown | null} */
  let last = null
  for (let isFull = limit <= 0; ;) {
    const heads = sources.filter(refill)
    if (heads.length === 0) return { next: null, count }
    if (isFull) return { next: last && placeOf(last), count }
    const newest = heads.reduce((a, b) => compareShown(a.waiting[a.at], b.waiting[b.at]) > 0 ? a : b)
    last = newest.waiting[newest.at++]
    count++
    isFull = visit(last.bytes, last.idAt, last.idEnd, last.ts, last.seq, last.valueAt, last.valueEnd) === false || count === limit
  }
}

/** @param {Shown} a @param {Shown} b */
const compareShown = (a, b) => a.ts - b.ts || a.seq - b.seq || a.bytes.compare(b.bytes, b.idAt, b.idEnd, a.idAt, a.idEnd)

/** @param {Shown} shown @returns {Place} */
const placeOf = ({ bytes, idAt, idEnd, ts, seq }) => ({ ts, seq, id: Buffer.from(bytes.subarray(idAt, idEnd)) })

/** Answers from the stores of a view. Above the `floor` they are exact; older items were evicted to keep the bound. */

/** @typedef {{ limit: number, sinceMs?: number | null, after?: Place | null }} Question */
/** @typedef {ReturnType<typeof createPartitionedStore>} PartitionedStore */

/**
 * @param {{ store: PartitionedStore, feed: string, boundItems: number, boundBytes: number, now: () => number,
 *   heldMs: () => number | null | undefined }} parts `heldMs`: what is newer is in the store, null = everything
 */
function createViewAnswers ({ store, feed, boundItems, boundBytes, now, heldMs }) {
  /** @param {Place} floor */
  const overBound = (floor) => new FreshetError('VIEW_OVER_BOUND', `the view of feed ${feed} holds at most ${boundItems} items and ` +
    `${boundBytes} bytes, and nothing of ${floor.ts} (ms since 1970) or before; request newer items, or raise maxViewItems or ` +
    'maxViewBytes (--max-view-items, --max-view-bytes)')

  return {
    /**
     * Items, newest first.
     * @param {Question} question @param {Visit} visit
     * @returns {{ next: Place | null, count: number } | null} null = what the question needs was evicted, or is not read yet
     */
    visit ({ limit, sinceMs = null, after = null }, visit) {
      const floorMs = Math.max(store.stats().floor?.ts ?? -1, heldMs() ?? -1)
      const question = { limit, after, sinceMs, nowMs: now() }
      if (floorMs < 0 || (sinceMs !== null && sinceMs > floorMs)) return store.latest(question, visit)
      return visitAbove(floorMs, store, question, visit)
    },

    /** @param {Buffer[]} ids @returns {(Item | null)[]} @throws {FreshetError} VIEW_OVER_BOUND */
    get (ids) {
      const nowMs = now()
      const { floor } = store.stats()
      return ids.map((id) => {
        const partition = store.storeOf(id)
        const item = partition.get(id, nowMs)
        if (item === null && floor !== null && partition.versionOf(id) === null) throw overBound(floor)
        return item
      })
    },

    /** @returns {number} @throws {FreshetError} VIEW_OVER_BOUND */
    count () {
      const { floor } = store.stats()
      if (floor !== null) throw overBound(floor)
      return store.count(now())
    },

    /**
     * The newest version of an id that the view holds.
     * @param {Buffer} id
     * @returns {{ ts: number, value: Buffer, deleted: false } | { ts: number, value: null, deleted: true } | null} null: no
     *   longer live, or evicted
     */
    newest (id) {
      const partition = store.storeOf(id)
      const item = partition.get(id, now())
      if (item) return { ts: item.ts, value: item.value, deleted: false }
      const version = partition.versionOf(id)
      return version?.deleted ? { ts: version.ts, value: null, deleted: true } : null
    }
  }
}

/** @param {number} floorMs @param {PartitionedStore} store @param {StoreQuestion} question @param {Visit} visit */
function visitAbove (floorMs, store, question, visit) {
  let count = 0
  /** @type {Place | null} */
  let last = null
  let isEnded = false
  const { next } = store.latest(question, (bytes, idAt, idEnd, ts, seq, valueAt, valueEnd) => {
    // the floor is that of all partitions: one of them may hold older items
    if (ts <= floorMs) {
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

const REPORT_EVERY_MS = 10_000

/** @typedef {import('../feeds/index.js').Definition} Definition */
// named here for the published types, which do not find the names of what is spread below
/** @typedef {import('../item/index.js').Place} Place */
/** @typedef {import('../layouts/index.js').Item} Item */
/** @typedef {ReturnType<typeof createView>} View */
/**
 * @typedef {object} Watcher
 * @property {(bytes: Uint8Array, idAt: number, idEnd: number, isForgotten: boolean) => void} changed an id became visible,
 *   changed or went; the bytes are valid during the call. `isForgotten`: it was removed, and no trace of it is kept
 * @property {(id: string) => boolean} isWanted whether changes of an id, as latin1, are of use
 * @property {() => void} rebuilt the view is rebuilt: changes are incomplete until it is complete again
 */

let views = 0

/**
 * @param {{ definition: Definition, deployment: import('../store/index.js').Servers, keyPrefix: string, now: () => number,
 *   log: import('pino').Logger, boundItems: number, boundBytes: number, onSkipped: (reason: string) => void,
 *   onRebuilt: () => void }} options
 * @throws {import('../errors.js').FreshetError} FEED_LAYOUT_UNKNOWN
 */
export function createView ({ definition: given, deployment, keyPrefix, now, log, boundItems, boundBytes, onSkipped, onRebuilt }) {
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
  const store = createPartitionedStore(stores)
  const logSkipped = createReport((facts) => log.warn({ feed: name, ...facts }, 'log entries skipped'))
  const followed = createViewPartitions({
    layout,
    definition,
    stores,
    deployment,
    keyPrefix,
    log,
    now,
    onRebuilt (/** @type {string} */ why) {
      onRebuilt()
      watcher?.rebuilt()
      log.warn({ feed: name, reason: why }, 'view is rebuilt')
    },
    onSkipped (/** @type {string} */ reason, /** @type {Error | undefined} */ error) {
      onSkipped(reason)
      logSkipped({ reason, cause: error?.message })
    }
  })

  return {
    ...createViewAnswers({ store, feed: name, boundItems, boundBytes, now, heldMs: () => followed.heldMs }),
    get definition () { return definition },
    /** Whether it has read everything that is live. */
    get isComplete () { return followed.isComplete },
    /** Whether it answers pages of the newest, perhaps before it is complete. */
    get hasNewest () { return followed.heldMs !== undefined },
    /** When it last had everything that its node had, ms since 1970. */
    get asOf () { return followed.asOf },
    /** The same, or earlier while the primary is not confirmed. */
    get confirmedMs () { return Math.min(followed.asOf, deployment.confirmedAt(now())) },
    /** of the node that is furthest behind; null = one is unknown */
    get lagMs () { return followed.lagMs },
    get floor () { return store.stats().floor },
    /** Why the feed is not followed. */
    get lastError () { return followed.lastError },
    /** The same, in public words. @returns {string | null} */
    get failure () { return followed.failure },
    stats: () => store.stats(),

    /** @returns {string} equal = the same content */
    revision () {
      followed.settle(now())
      return `${number}-${store.revision()}`
    },

    /** There is one watcher at a time. @param {Watcher} one @returns {() => void} removes it */
    watch (one) {
      watcher = one
      for (const each of stores) each.watcher = one.changed
      return () => {
        if (watcher !== one) return
        watcher = null
        for (const each of stores) each.watcher = null
      }
    },

    /** The position from which a subscription misses nothing that came after this view's content. @returns {string} */
    position: followed.position,
    /** The same, encoded by what it returns. */
    takePosition: followed.takePosition,

    /** Resolves when the view has what nodes have now. @param {import('../store/index.js').Router} nodes */
    caughtUp: followed.caughtUp,

    /** Whether the view can continue with that definition. @param {Definition} other */
    isOf: (other) => isSameFeed(definition, other),

    /** Applies a changed retention. @param {Definition} changed */
    setDefinition (changed) {
      const { windowMs, maxItems } = definition
      definition = changed
      if (changed.windowMs !== windowMs || changed.maxItems !== maxItems) followed.setRetention(changed)
    },

    close: followed.close
  }
}

/** Limits a log message to one per period, with how often it happened. @param {(facts: Record<string, unknown>) => void} write */
function createReport (write) {
  let writtenMs = -Infinity
  let times = 0
  return (/** @type {Record<string, unknown>} */ facts) => {
    times++
    if (performance.now() - writtenMs < REPORT_EVERY_MS) return
    writtenMs = performance.now()
    write({ ...facts, times })
    times = 0
  }
}
