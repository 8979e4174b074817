/**
 * Clients that come again with a position: each waits until the view has what it was sent before, then all that wait are
 * looked up together (missed.js), and go on as the others do. Where that is too much, or gone, for the oldest of them, the
 * younger half is looked up alone, and the others begin anew: so one whose history is gone does not take it from all.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { compareAge, missedSince, reachedFrom } from './missed.js'

/** so long a view that is behind a client's position is waited for */
const REACHED_WITHIN_MS = 5000
/** so long all that wait together are looked up; who is left then begins anew */
const LOOK_UP_WITHIN_MS = 10_000
const LOOK_MS = 10
/** so long is waited for others before a lookup */
const GATHER_MS = 50

/** @typedef {import('../view/view.js').View} View */
/** @typedef {import('./stream.js').Stream} Stream */
/** @typedef {{ stream: Stream, position: string, sinceMs: number }} Returning */

/**
 * @param {{ feed: string, view: () => View | null, generation: () => number, ask: Pick<import('../view/ask.js').Ask, 'ofLog'>,
 *   begin: (stream: Stream) => void, tellAnew: (stream: Stream, why: string) => void, now: () => number,
 *   signal: AbortSignal, log: import('pino').Logger }} parts `view`: one that has everything; `generation`: another number when what changed since was not
 *   noted; `begin`: what changes is noted for a stream from now on
 */
export function createReturning ({ feed, view, generation, ask, begin, tellAnew, now, signal, log }) {
  /** @type {Map<Stream, Returning>} */
  const waiting = new Map()
  /** @type {Promise<void> | null} */
  let running = null

  /** @param {Stream} stream @param {string} why */
  function anew (stream, why) {
    stream.isReturning = false
    tellAnew(stream, why)
  }

  async function run () {
    while (waiting.size > 0 && !signal.aborted) {
      // after a cut many come
      await sleep(GATHER_MS, undefined, { signal }).catch(() => {})
      const from = view()
      const reached = from === null ? [] : take(from)
      const isOfAll = (/** @type {Returning} */ { stream }) => stream.ids === null
      if (from !== null && reached.length > 0) {
        // what is too much for one kind is none of the other's doing
        await lookUp(from, reached.filter((one) => !isOfAll(one)))
        await lookUp(from, reached.filter(isOfAll))
      } else await sleep(LOOK_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** Those that can go on. @param {View} from @returns {Returning[]} the oldest first */
  function take (from) {
    const isReached = reachedFrom(from)
    /** @type {Returning[]} */
    const reached = []
    for (const one of waiting.values()) {
      const answer = isReached(one.position)
      if (answer === false && performance.now() - one.sinceMs < REACHED_WITHIN_MS) continue
      waiting.delete(one.stream)
      if (answer) reached.push(one)
      // null: it was another feed of that name then
      else anew(one.stream, answer === null ? 'expired' : 'unknown')
    }
    return reached.sort((a, b) => compareAge(from, a.position, b.position))
  }

  /** @param {View} from @param {Returning[]} all the oldest first */
  async function lookUp (from, all) {
    const untilMs = performance.now() + LOOK_UP_WITHIN_MS
    const over = AbortSignal.any([signal, AbortSignal.timeout(LOOK_UP_WITHIN_MS)])
    let left = all
    while (left.length > 0) {
      left = left.filter(({ stream }) => !stream.isOver)
      const isDone = await lookUpTogether(from, left, over)
      if (signal.aborted || isDone) return
      // whoever is older missed at least as much
      const older = performance.now() > untilMs ? left.length : Math.ceil(left.length / 2)
      for (const { stream } of left.splice(0, older)) anew(stream, 'expired')
    }
  }

  /** @param {View} from @param {Returning[]} some @param {AbortSignal} over @returns {Promise<boolean>} whether nothing is left to do for them */
  async function lookUpTogether (from, some, over) {
    if (some.length === 0) return true
    const begun = generation()
    for (const { stream } of some) begin(stream)
    try {
      const missed = await missedSince({ ask, view: from, clients: some.map(({ position, stream: { ids } }) => ({ position, ids })), now, signal: over })
      some.forEach(({ stream }, index) => {
        if (generation() !== begun) return anew(stream, 'anew')
        const { ids, at } = missed(index)
        stream.listed = at < ids.length ? { name: 'items', ids, at } : null
        stream.isReturning = false
      })
      return true
    } catch (error) {
      if (error.code === 'POSITION_EXPIRED' || error.code === 'POSITION_INVALID') return false
      if (!signal.aborted) log.warn({ feed, code: error.code, reason: error.message, clients: some.length }, 'what clients missed could not be read')
      for (const { stream } of some) anew(stream, 'unknown')
      return true
    }
  }

  function start () {
    running ??= run().catch((error) => {
      log.error({ feed, err: error }, 'clients could not go on')
      for (const { stream } of waiting.values()) anew(stream, 'unknown')
      waiting.clear()
    }).finally(() => {
      running = null
      if (waiting.size > 0 && !signal.aborted) start()
    })
  }

  return {
    /** @param {Stream} stream @param {string} position */
    add (stream, position) {
      stream.isReturning = true
      waiting.set(stream, { stream, position, sinceMs: performance.now() })
      start()
    },

    /** @param {Stream} stream that is over */
    remove (stream) { waiting.delete(stream) },

    /** Resolves when nothing is looked up any more, which `signal` ends. */
    async done () { await running }
  }
}
