/**
 * The live items of one feed in memory, updated by following the feed on a node. Answers are immediate, exact, and as of the
 * last time the view had everything that its node had.
 *
 *     for each partition: node -> follower -> log feed | set feed -> store -> answers
 *
 * Items and bytes are bounded. Beyond the bound the oldest items are evicted; answers above the `floor` stay exact.
 */
import { layoutOf } from '../layouts/index.js'
import { createPartitionedStore } from './partitioned-store.js'
import { createViewStore } from './store/index.js'
import { createViewAnswers } from './view-answers.js'
import { createViewPartitions, isSameFeed } from './view-partitions.js'

/** a view that is behind by more does not answer */
export const BEHIND_MS = 1000
const REPORT_EVERY_MS = 10_000

/** @typedef {import('../feeds/index.js').Definition} Definition */
/** @typedef {import('./view-answers.js').Question} Question */
// named here for the published types, which do not find the names of what is spread below
/** @typedef {import('../item/index.js').Place} Place */
/** @typedef {import('../layouts/index.js').Item} Item */
/** @typedef {import('./partitioned-store.js').Visit} Visit */
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
