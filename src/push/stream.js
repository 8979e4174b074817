/**
 * One client's stream of server-sent events: what it wants, how far it is, and how much of it waits in its socket.
 *
 *     due -> is there room (budget.js)? -> events -> socket
 *              no: nothing is made for it; when there is room again it gets the newest version of whatever changed
 *
 * So a client that reads slowly, or not at all, costs its budget, and nobody waits for it. One whose socket takes nothing
 * for STALLED_MS is ended; it comes again and goes on where it was.
 */
import { whenClosed } from '../http/closed.js'

/** shorter than the server lets a connection be silent (http/server.js) */
const STALLED_MS = 20_000
/** what is due so soon is due now: the clock of whoever asks goes in steps */
const SOON_MS = 3

/** @typedef {ReturnType<typeof createStream>} Stream */
/** @typedef {import('node:http').ServerResponse} Response */
/** @typedef {{ name: 'items' | 'snapshot', ids: readonly string[], at: number, position: string }} Rest of a delivery: ids from `at` on; when all are sent, everything is by
 *   `position`. `name`: of its next event */

/**
 * @param {{ request: import('node:http').IncomingMessage, response: Response, budget: import('./budget.js').Budget, ids: ReadonlySet<string> | null, limit: number, encoding: string, periodMs: number,
 *   token: string | null, onEnd: (why: string) => void }} options `ids`: byte for character, null = all; `limit`: of the snapshot; `periodMs`: it gets
 *   changes no more often
 */
export function createStream ({ request, response, budget, ids, limit, encoding, periodMs, token, onEnd }) {
  let isOver = false
  let waiting = 0
  let movedMs = performance.now()
  let sentMs = movedMs
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
    /** of a stream of all: the step up to which everything was sent, or is in `rest` */
    upTo: 0,
    /** what is being sent @type {Rest | null} */
    rest: /** @type {Rest | null} */ (null),
    /** changes were given to it last, ms */
    deliveredMs: -Infinity,
    needsSnapshot: false,
    /** what it is told before the snapshot @type {string | null} */
    resetWhy: /** @type {string | null} */ (null),
    /** what it missed is being looked up */
    isWaiting: false,

    get isOver () { return isOver },
    /** When something was sent last, ms. */
    get sentMs () { return sentMs },

    /** @param {number} nowMs */
    isDue (nowMs) { return this.rest !== null || nowMs - this.deliveredMs >= periodMs - SOON_MS },

    /** Whether more may be made for it; ends it when its socket took nothing for too long. */
    hasRoom () {
      if (isOver) return false
      measure()
      if (waiting <= budget.roomBytes) return true
      if (performance.now() - movedMs > STALLED_MS) {
        over('stalled')
        response.destroy()
      }
      return false
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
