/**
 * Streams that resume from a position. Each waits until the view has everything it was sent before; then the changes since
 * are looked up for all that wait (changes-since.js), and the streams continue like the others. If the lookup fails because
 * the oldest position is too old or has too many changes, the older half is reset and the younger half is looked up again,
 * so one old position does not reset all.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { changesSince } from './changes-since.js'
import { compareAge, reachedFrom } from './positions.js'
import { reset } from './resets.js'
import { positionAt } from './starts.js'

/** Longest wait of a stream for a view that is behind its position. */
const REACHED_WITHIN_MS = 5000
/** Longest time for all lookups of streams that wait together; streams that are left are reset. */
const LOOK_UP_WITHIN_MS = 10_000
const CHECK_MS = 10
/** Pause before a lookup, since many clients reconnect at the same time. */
const GATHER_MS = 50

/** @typedef {import('./hub.js').View} View */
/** @typedef {import('./viewer.js').Viewer} Stream */
/** @typedef {{ stream: Stream, position: string, sinceMs: number, tail?: number }} Resuming */
/** @typedef {Omit<Resuming, 'position'> & { position: string | import('./starts.js').Start }} Waiting */
/**
 * @typedef {object} Parts
 * @property {string} feed
 * @property {() => View | null} view null: none is complete
 * @property {() => number} viewVersion changes whenever changes may have been missed
 * @property {Pick<import('../view/index.js').Queries, 'ofLog'>} queries
 * @property {(stream: Stream) => void} begin from now on, changes are noted for the stream
 * @property {() => number} now
 * @property {AbortSignal} signal
 * @property {import('pino').Logger} log
 */

/** @param {Parts} parts */
export function createResuming ({ feed, view, viewVersion, queries, begin, now, signal, log }) {
  /** @type {Map<Stream, Waiting>} */
  const waiting = new Map()
  /** @type {Promise<void> | null} */
  let running = null
  /** The stream gets all changes since its position, and no snapshot. @param {Resuming} one */
  const again = (one) => { waiting.set(one.stream, { ...one, sinceMs: performance.now() }) }
  const lookUp = createLookup({ feed, viewVersion, queries, begin, again, now, signal, log })

  async function run () {
    while (waiting.size > 0 && !signal.aborted) {
      await sleep(GATHER_MS, undefined, { signal }).catch(() => {})
      const from = view()
      const reached = from === null ? [] : await takeReached(from)
      const isOfAll = (/** @type {Resuming} */ { stream }) => stream.ids === null
      if (from !== null && reached.length > 0) {
        // separately, since either may have too many changes
        await lookUp(from, reached.filter((one) => !isOfAll(one)))
        await lookUp(from, reached.filter(isOfAll))
      } else await sleep(CHECK_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** Those whose positions the view has reached. @param {View} from @returns {Promise<Resuming[]>} the oldest first */
  async function takeReached (from) {
    const isReached = reachedFrom(from)
    /** @type {Resuming[]} */
    const reached = []
    for (const { position: start, ...rest } of [...waiting.values()]) {
      const filter = rest.stream.seal?.filter ?? null
      const position = typeof start === 'string' ? start : await positionAt(start, { view: from, queries, filter })
      const one = { ...rest, position }
      if (typeof start !== 'string' && 'tail' in start) one.tail = start.tail
      const answer = isReached(one.position)
      if (answer === false && performance.now() - one.sinceMs < REACHED_WITHIN_MS) continue
      waiting.delete(one.stream)
      if (answer) reached.push(one)
      else resetResuming(one.stream, answer === null ? 'expired' : 'unknown')
    }
    return reached.sort((a, b) => compareAge(from, a.position, b.position))
  }

  function start () {
    running ??= run().catch((error) => {
      log.error({ feed, err: error }, 'resuming streams failed')
      for (const { stream } of waiting.values()) resetResuming(stream, 'unknown')
      waiting.clear()
    }).finally(() => {
      running = null
      if (waiting.size > 0 && !signal.aborted) start()
    })
  }

  return {
    /** @param {Stream} stream @param {string | import('./starts.js').Start} position */
    add (stream, position) {
      stream.isResuming = true
      waiting.set(stream, { stream, position, sinceMs: performance.now() })
      start()
    },

    /** @param {Stream} stream that is over */
    remove (stream) { waiting.delete(stream) },

    /** Resolves when no lookup is in progress; `signal` ends them. */
    async done () { await running }
  }
}

/**
 * @param {Omit<Parts, 'view'> & { again: (one: Resuming) => void }} parts `again`: looks up one more time
 * @returns {(from: View, all: Resuming[]) => Promise<void>} `all`: the oldest first
 */
function createLookup ({ feed, viewVersion, queries, begin, again, now, signal, log }) {
  /**
   * @param {View} from
   * @param {Resuming[]} some
   * @param {AbortSignal} over
   * @returns {Promise<boolean>} false: for the oldest it is too much or too old
   */
  async function lookUpTogether (from, some, over) {
    if (some.length === 0) return true
    const version = viewVersion()
    for (const { stream } of some) begin(stream)
    try {
      const clients = some.map(({ position, stream: { ids, beginnings } }) => ({ position, ids, beginnings }))
      const missed = await changesSince({ queries, view: from, clients, now, signal: over })
      some.forEach((one, index) => {
        const { stream } = one
        if (viewVersion() !== version) return stream.limit === 0 ? again(one) : resetResuming(stream, 'rebuilt')
        const { ids, at: first } = missed(index)
        const at = one.tail === undefined ? first : Math.max(first, ids.length - one.tail)
        stream.list = at < ids.length ? { name: 'items', ids, at } : null
        stream.isResuming = false
      })
      return true
    } catch (error) {
      if (error.code === 'POSITION_EXPIRED' || error.code === 'POSITION_INVALID') return false
      if (!signal.aborted) {
        log.warn({ feed, code: error.code, reason: error.message, clients: some.length }, 'changes for resuming streams could not be read')
      }
      for (const { stream } of some) resetResuming(stream, 'unknown')
      return true
    }
  }

  return async (from, all) => {
    const untilMs = performance.now() + LOOK_UP_WITHIN_MS
    const over = AbortSignal.any([signal, AbortSignal.timeout(LOOK_UP_WITHIN_MS)])
    let left = all
    while (left.length > 0) {
      left = left.filter(({ stream }) => !stream.isOver)
      const isDone = await lookUpTogether(from, left, over)
      if (signal.aborted || isDone) return
      // older positions have at least as many changes
      const older = performance.now() > untilMs ? left.length : Math.ceil(left.length / 2)
      for (const { stream } of left.splice(0, older)) resetResuming(stream, 'expired')
    }
  }
}

/** @param {Stream} stream @param {string} reason */
function resetResuming (stream, reason) {
  stream.isResuming = false
  reset(stream, reason)
}
