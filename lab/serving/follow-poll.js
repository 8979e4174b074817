/**
 * Clients that poll for the same items, which is what push replaces. An open loop (request-loop.js) with one connection for
 * each client; a response counts like an event of push.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { startRequests } from './request-loop.js'
import { requestOnce } from './request.js'

/** concurrent requests after the load has ended */
const CONCURRENCY = 20
/** of requests before the window, in which the process that serves warms up */
const WARM_UP_MS = 1000

/**
 * @param {{ urls: string[], everyMs: number, followers: import('./followers.js').AllFollowers, now: () => number }} options `urls`:
 *   one for each client; `now`: ms since 1970
 */
export function createPoll ({ urls, everyMs, followers, now }) {
  const origin = now() - performance.now()

  /** @param {number} client @param {number} status @param {string} body @param {number} receivedMs */
  function read (client, status, body, receivedMs) {
    if (status !== 200) return followers.wrong(`status ${status}: ${body.slice(0, 200)}`)
    try {
      followers.read(client, JSON.parse(body).items, receivedMs)
    } catch ({ message }) {
      followers.wrong(`an invalid response: ${message}`)
    }
  }

  /** @param {{ fromMs: number, untilMs: number }} window on the clock of `performance.now()` */
  const start = ({ fromMs, untilMs }) => startRequests({
    urls,
    connections: urls.length,
    everyMs,
    fromMs,
    untilMs,
    now: () => performance.now(),
    inspector: {
      wants: (status, index) => status !== 200 || followers.wants(index),
      inspect (status, bytes, body, { receivedMs, index }) {
        followers.received(index, bytes, origin + receivedMs)
        if (body !== null) read(index, status, body.toString(), origin + receivedMs)
      }
    }
  })

  return {
    start,

    /** Polls as in the window, without counting. */
    async warmUp () {
      const polling = start({ fromMs: Infinity, untilMs: performance.now() + WARM_UP_MS })
      await pause(WARM_UP_MS)
      await polling.settled()
    },

    /** Polls once more after the load has ended. @param {number[]} clients */
    async again (clients) {
      const left = [...clients]
      await Promise.all(Array.from({ length: CONCURRENCY }, async () => {
        for (let client = left.pop(); client !== undefined; client = left.pop()) {
          const { status, body } = await requestOnce(urls[client])
          read(client, status, body, now())
        }
      }))
    }
  }
}
