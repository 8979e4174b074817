/**
 * One client's stream of server-sent events: what it wants, how far it is, and how much of it waits in its socket.
 *
 *     due -> is there room (budget.js)? -> events -> socket
 *              no: nothing is made for it; when there is room again it gets the newest version of whatever changed
 *
 * So a client that reads slowly, or not at all, costs its budget, and nobody waits for it. One whose socket takes nothing
 * for STALLED_MS, perhaps twice that, is ended; it comes again and goes on where it was.
 */
import { whenClosed } from '../http/closed.js'

/** of the socket, which knows when bytes move; heartbeats come more often */
const STALLED_MS = 15_000
/** what is due so soon is due now: the clock of whoever asks goes in steps */
const SOON_MS = 3
/** the same while too much waits altogether (budget.js) */
const STUCK_MS = 5000

/** @typedef {ReturnType<typeof createStream>} Stream */
/** @typedef {import('node:http').ServerResponse} Response */
/** @typedef {{ name: 'items' | 'snapshot', ids: readonly string[], at: number }} Listed ids that are sent one after the other, from `at` on; `name`: of the next event */

/**
 * @param {{ request: import('node:http').IncomingMessage, response: Response, budget: import('./budget.js').Budget, ids: ReadonlySet<string> | null, limit: number, encoding: string, periodMs: number,
 *   token: string | null, onEnd: (why: string) => void }} options `ids`: byte for character, null = all; `limit`: of the snapshot; `periodMs`: it gets
 *   changes no more often
 */
export function createStream ({ request, response, budget, ids, limit, encoding, periodMs, token, onEnd }) {
  let isOver = false
  let waiting = 0
  let sentMs = performance.now()
  /** something of what waited was taken last, ms */
  let movedMs = sentMs
  /** changes were given to it last, ms */
  let deliveredMs = -Infinity
  budget.enter()

  /** @param {string} why */
  function over (why) {
    if (isOver) return
    isOver = true
    budget.leave(waiting)
    onEnd(why)
  }
  whenClosed(request, response, () => over('closed'))
  response.on('error', () => over('closed'))
  response.setTimeout(STALLED_MS, stall)

  function stall () {
    over('stalled')
    response.destroy()
  }

  function measure () {
    const bytes = response.writableLength
    if (bytes < waiting || bytes === 0) movedMs = performance.now()
    budget.change(bytes - waiting)
    waiting = bytes
  }

  return {
    ids,
    limit,
    encoding,
    token,
    /** ids of `ids` that changed since they were sent @type {Set<string>} */
    changed: new Set(),
    /** of a stream of all: the place in the changes up to which everything was sent, or is in `listed` */
    place: 0,
    /** comes before what changed since: a snapshot, or what it missed @type {Listed | null} */
    listed: /** @type {Listed | null} */ (null),
    needsSnapshot: false,
    /** what it is told before the snapshot @type {string | null} */
    resetWhy: /** @type {string | null} */ (null),
    /** what it missed is being looked up */
    isReturning: false,

    get isOver () { return isOver },
    /** When something was sent last, ms. */
    get sentMs () { return sentMs },

    /** @param {number} nowMs */
    isDue: (nowMs) => nowMs - deliveredMs >= periodMs - SOON_MS,

    /** It is given changes. @param {number} nowMs */
    delivered (nowMs) {
      // what was early is not early for ever
      deliveredMs = Math.max(nowMs - SOON_MS, Math.min(nowMs, deliveredMs + periodMs))
    },

    measure,

    /** Ends it when it has taken nothing for a while: while too much waits altogether. @param {number} nowMs */
    endIfStuck (nowMs) { if (waiting > 0 && nowMs - movedMs > STUCK_MS) stall() },

    /** Whether more may be made for it. */
    hasRoom () {
      if (isOver) return false
      measure()
      return waiting <= budget.roomBytes
    },

    /** @param {Buffer | string} bytes whole events */
    send (bytes) {
      if (isOver) return
      sentMs = performance.now()
      response.write(bytes)
      measure()
    },

    /** @param {string} why one word, for metrics @param {string} last what is said before */
    end (why, last) {
      if (isOver) return
      response.end(last)
      over(why)
    }
  }
}
