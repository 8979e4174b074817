/**
 * One client's stream of server-sent events: what it wants, how far it is, and how much of it waits in its socket.
 *
 *     due -> is there room? -> events -> socket
 *              no: nothing is made for it; when there is room again it gets the newest version of whatever changed
 *
 * So a client that reads slowly, or not at all, costs what one delivery takes, at most BUDGET_BYTES, and nobody waits for it.
 * One whose socket takes nothing for STALLED_MS is ended; it comes again and goes on where it was.
 */

/** of events that wait in a socket: none is made while there are more */
const ROOM_BYTES = 64 * 1024
/** a client has no more than that waiting, but for one event that is larger by itself */
export const BUDGET_BYTES = 1024 * 1024
const STALLED_MS = 30_000

/** @typedef {ReturnType<typeof createStream>} Stream */
/** @typedef {import('node:http').ServerResponse} Response */

/**
 * @param {{ response: Response, ids: ReadonlySet<string> | null, limit: number, encoding: string, everyTicks: number, place: number,
 *   onEnd: (why: string) => void }} options `ids`: byte for character, null = all; `limit`: of the snapshot; `everyTicks`: it
 *   gets changes so often; `place`: among others with the same period
 */
export function createStream ({ response, ids, limit, encoding, everyTicks, place, onEnd }) {
  let isOver = false
  let roomMs = performance.now()
  let sentMs = roomMs

  /** @param {string} why */
  function over (why) {
    if (isOver) return
    isOver = true
    onEnd(why)
  }
  response.on('close', () => over('closed'))
  response.on('error', () => over('closed'))

  return {
    ids,
    limit,
    encoding,
    everyTicks,
    /** ids of `ids` that changed since they were sent; of a stream of all, what it missed while it was away @type {Set<string>} */
    changed: new Set(),
    /** of a stream of all: the tick up to which it has everything */
    upTo: -1,
    /** what it is told next, whole: null = nothing, only changes @type {string | null} */
    resetWhy: /** @type {string | null} */ (null),
    needsSnapshot: false,
    /** what it missed is being looked up */
    isWaiting: false,

    get isOver () { return isOver },
    /** When something was sent last. */
    get sentMs () { return sentMs },

    /** @param {number} tick */
    isDue: (tick) => (tick + place) % everyTicks === 0,

    /** Whether more may be made for it; ends it when there has been no room for too long. */
    hasRoom () {
      if (isOver) return false
      if (response.writableLength <= ROOM_BYTES) {
        roomMs = performance.now()
        return true
      }
      if (performance.now() - roomMs > STALLED_MS) {
        response.destroy()
        over('stalled')
      }
      return false
    },

    /** @param {Buffer | string} bytes whole events */
    send (bytes) {
      if (isOver) return
      sentMs = performance.now()
      response.write(bytes)
    },

    /** @param {string} why @param {string} last what is said before */
    end (why, last) {
      if (isOver) return
      response.end(last)
      over(why)
    }
  }
}
