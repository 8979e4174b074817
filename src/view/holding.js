/**
 * Which feeds have a view: opened as feeds are discovered, and kept; or, without `discover`, when somebody asks, until nobody
 * has asked for a while. A feed that was dropped and created again is another one.
 *
 * One that is held only because somebody watches it answers no questions: a node answers those of such a layout exactly, and
 * what a view of it learns late (set-walk.js) a question would show late.
 *
 *     mode auto    a view for each feed whose layout cannot answer everything exactly by itself
 *          all     for every feed
 *          none    for none: always asked
 *
 * @typedef {import('./view.js').View} View
 * @typedef {import('../feeds/definitions.js').Definition} Definition
 * @typedef {{ passedOver: Record<string, number>, rebuilt: number }} ViewCounts what views of a feed counted, closed ones too
 * @typedef {{ view: View, openedMs: number, usedMs: number, wasIn: boolean, hasWritten: number, answers: boolean }} Held `hasWritten`: of what the caller wrote, so
 *   much was there; `answers`: questions, and not watchers alone
 * @typedef {ReturnType<typeof holdViews>} Holding
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { layoutNames, layoutOf } from '../layouts/index.js'
import { DOUBLED, PASSED_OVER } from './log-intake.js'
import { createView } from './view.js'

const LOOK_MS = 500

/** Whether a node answers all that is asked about a feed exactly. @param {string} layout */
export const isAskedExactly = (layout) => Object.values(layoutOf(layout).describe().askedPerRequest).every((promise) => promise === 'exact')
/** a view that nobody asks is closed after it, where feeds are not discovered */
const IDLE_MS = 60_000

/**
 * @param {{ ask: import('./ask.js').Ask, deployment: import('../store/deployment.js').Deployment, keyPrefix: string, now: () => number,
 *   log: import('pino').Logger, mode: 'auto' | 'all' | 'none', boundItems: number, boundBytes: number, discover: boolean,
 *   written: () => number, idleMs?: number }} options as createViews takes them (views.js)
 */
export function holdViews ({ ask, deployment, keyPrefix, now, log, mode, boundItems, boundBytes, discover, written, idleMs = IDLE_MS }) {
  const stop = new AbortController()
  /** @type {Map<string, Held>} */
  const held = new Map()
  /** @type {Map<string, ViewCounts>} */
  const counts = new Map()
  /** feeds that are watched, and how often @type {Map<string, number>} */
  const wanted = new Map()
  let isDiscovered = mode === 'none' || !discover
  /** @type {Error & { code?: string } | null} why feeds cannot be listed */
  let lookError = null

  /** Whether it has one without anybody who watches. @param {Definition} definition */
  function needsView ({ layout, format }) {
    if (mode === 'none' || !layoutNames().includes(layout) || layoutOf(layout).format !== format) return false
    return mode === 'all' || !isAskedExactly(layout)
  }

  /** Somebody watches it, and it can be read. @param {Definition} definition */
  const isWanted = ({ feed, layout, format }) => wanted.has(feed) && layoutNames().includes(layout) && layoutOf(layout).format === format

  /** @param {string} feed @returns {ViewCounts} */
  function countsOf (feed) {
    const known = counts.get(feed) ?? { passedOver: Object.fromEntries([...Object.values(PASSED_OVER), DOUBLED].map((reason) => [reason, 0])), rebuilt: 0 }
    counts.set(feed, known)
    return known
  }

  /** @param {Definition} definition @returns {Held} */
  function open (definition) {
    const { feed } = definition
    const counted = countsOf(feed)
    const view = createView({
      definition,
      deployment,
      keyPrefix,
      now,
      log,
      boundItems,
      boundBytes,
      onPassedOver (reason) { counted.passedOver[reason]++ },
      onRebuilt () { counted.rebuilt++ }
    })
    const one = { view, openedMs: performance.now(), usedMs: performance.now(), wasIn: false, hasWritten: written(), answers: needsView(definition) }
    held.set(feed, one)
    return one
  }

  /** @param {string} feed */
  async function shut (feed) {
    const one = held.get(feed)
    held.delete(feed)
    await one?.view.close()
  }

  /** The view of a feed as it is stored now, if it needs one. @param {Definition} definition @returns {Held | null} */
  function follow (definition) {
    const { feed } = definition
    const known = held.get(feed)
    if (known?.view.isOf(definition)) {
      known.view.setDefinition(definition)
      return known
    }
    if (known) shut(feed)
    return !stop.signal.aborted && (needsView(definition) || isWanted(definition)) ? open(definition) : null
  }

  /** Says so when all of a feed is in for the first time. @param {Held} one */
  function note (one) {
    if (one.wasIn || !one.view.isIn) return
    one.wasIn = true
    const { items, bytes } = one.view.stats()
    log.info({ feed: one.view.definition.feed, items, bytes }, 'the view is in')
  }

  async function look () {
    if (discover) {
      const definitions = await ask.definitions()
      for (const feed of held.keys()) if (!definitions.some((definition) => definition.feed === feed)) shut(feed)
      definitions.forEach(follow)
      isDiscovered = true
      return
    }
    for (const [feed, { usedMs }] of held) {
      if (performance.now() - usedMs > idleMs && !wanted.has(feed)) shut(feed)
      else await ask.definition(feed).then(follow, (error) => { if (!error.retryable) shut(feed) })
    }
  }

  /** @param {Error & { code?: string, retryable?: boolean }} error */
  function sayOnce (error) {
    if (!error.retryable && error.code !== lookError?.code) log.warn({ code: error.code, reason: error.message }, 'feeds cannot be listed, trying on')
    lookError = error
  }

  async function keepLooking () {
    if (mode === 'none') return
    while (!stop.signal.aborted) {
      // while no node answers, what is known stays
      await look().then(() => { lookError = null }, sayOnce)
      for (const one of held.values()) note(one)
      await sleep(LOOK_MS, undefined, { signal: stop.signal }).catch(() => {})
    }
  }
  const looking = keepLooking()

  return {
    /** By feed. @type {ReadonlyMap<string, Held>} */
    held,
    counts,
    follow,

    /** It has a view from now on, whatever its layout. @param {Definition} definition */
    want (definition) {
      wanted.set(definition.feed, (wanted.get(definition.feed) ?? 0) + 1)
      follow(definition)
    },

    /** @param {string} feed that was wanted */
    unwant (feed) {
      const times = /** @type {number} */ (wanted.get(feed))
      if (times > 1) return wanted.set(feed, times - 1)
      wanted.delete(feed)
      const one = held.get(feed)
      if (one && !one.answers) shut(feed)
    },

    note,
    /** Aborted when all are closed. @type {AbortSignal} */
    signal: stop.signal,
    /** Whether it is known which feeds there are. */
    get isDiscovered () { return isDiscovered },
    /** Why feeds cannot be listed. */
    get lookError () { return lookError },

    async close () {
      stop.abort()
      await looking
      await Promise.all([...held.keys()].map(shut))
    }
  }
}
