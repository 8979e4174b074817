/**
 * Clients that come again with a position: each waits until the view has what it was sent before, then all that wait are
 * looked up together (missed.js), and go on as the others do. Where one of them cannot, halves are looked up apart, so that
 * one whose history is gone does not take it from others.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { compareAge, isReached, missedSince } from './missed.js'

/** so long a view that is behind a client's position is waited for */
const REACHED_WITHIN_MS = 5000
const LOOK_MS = 10

/** @typedef {import('./stream.js').Stream} Stream */
/** @typedef {{ stream: Stream, position: string, sinceMs: number }} Returning */

/**
 * @param {{ feed: string, view: () => import('../view/view.js').View | null, generation: () => number, ask: Pick<import('../view/ask.js').Ask, 'ofLog'>,
 *   isWanted: (id: string) => boolean, isAllWanted: () => boolean, begin: (stream: Stream) => void, tellAnew: (stream: Stream, why: string) => void, now: () => number,
 *   signal: AbortSignal, log: import('pino').Logger }} parts `view`: one that has everything; `generation`: another number when what changed since was not
 *   noted; `begin`: what changes is noted for a stream from now on
 */
export function createReturning ({ feed, view, generation, ask, isWanted, isAllWanted, begin, tellAnew, now, signal, log }) {
  /** @type {Returning[]} */
  let waiting = []
  /** @type {Promise<void> | null} */
  let running = null

  /** @param {Stream} stream @param {string} why */
  function anew (stream, why) {
    stream.isWaiting = false
    tellAnew(stream, why)
  }

  async function run () {
    while (waiting.length > 0 && !signal.aborted) {
      const from = view()
      const reached = from === null ? [] : take(from)
      if (from !== null && reached.length > 0) await lookUp(from, reached)
      else await sleep(LOOK_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** Those that can go on. @param {import('../view/view.js').View} from @returns {Returning[]} */
  function take (from) {
    /** @type {Returning[]} */
    const reached = []
    /** @type {Returning[]} */
    const rest = []
    for (const one of waiting) {
      if (one.stream.isOver) continue
      // of a feed that was dropped and created anew since it was checked, perhaps
      const answer = reachedBy(from, one)
      if (answer === null || (!answer && performance.now() - one.sinceMs > REACHED_WITHIN_MS)) anew(one.stream, 'expired')
      else if (answer) reached.push(one)
      else rest.push(one)
    }
    waiting = rest
    return reached
  }

  /** @param {import('../view/view.js').View} from @param {Returning} one @returns {boolean | null} null: its position is none of this feed */
  function reachedBy (from, { position }) {
    try {
      return isReached(from, position)
    } catch (error) {
      if (error.code !== 'POSITION_INVALID') throw error
      return null
    }
  }

  /** @param {import('../view/view.js').View} from @param {Returning[]} some @returns {Promise<void>} */
  async function lookUp (from, some) {
    const begun = generation()
    const position = from.position()
    for (const { stream } of some) begin(stream)
    try {
      const missed = await missedSince({ ask, view: from, positions: some.map((one) => one.position), isAllWanted: isAllWanted(), isWanted, now, signal })
      some.forEach(({ stream }, index) => {
        if (generation() !== begun) return anew(stream, 'anew')
        const ids = missed(index, stream.ids)
        stream.rest = ids.length > 0 ? { name: 'items', ids, at: 0, position } : null
        stream.isWaiting = false
      })
    } catch (error) {
      if (signal.aborted) return
      if (!['POSITION_EXPIRED', 'POSITION_INVALID'].includes(error.code)) {
        log.warn({ feed, code: error.code, reason: error.message, clients: some.length }, 'what clients missed could not be read')
        for (const { stream } of some) anew(stream, 'expired')
      } else if (some.length === 1) anew(some[0].stream, 'expired')
      else {
        const middle = Math.ceil(some.length / 2)
        const byAge = some.sort((a, b) => compareAge(from, a.position, b.position))
        await lookUp(from, byAge.slice(0, middle))
        await lookUp(from, byAge.slice(middle))
      }
    }
  }

  function start () {
    running ??= run().catch((error) => {
      log.error({ feed, err: error }, 'clients could not go on')
      for (const one of waiting) anew(one.stream, 'expired')
      waiting = []
    }).finally(() => {
      running = null
      if (waiting.length > 0 && !signal.aborted) start()
    })
  }

  return {
    /** @param {Stream} stream @param {string} position */
    add (stream, position) {
      stream.isWaiting = true
      waiting.push({ stream, position, sinceMs: performance.now() })
      start()
    },

    /** Resolves when nothing is looked up any more, which `signal` ends. */
    async done () { await running }
  }
}
