/**
 * When each connection sends a request, and the outcome of every request in the window.
 *
 *     closed loop   everyMs 0: a connection sends its next request when it has the response
 *     open loop     a connection sends one request every everyMs; connections are spread evenly over that time. If the
 *                   response is late, the next request follows it at once, and its latency counts from when it was due: a
 *                   slow response is measured for all requests that it delays. With `skips`, missed requests are left out
 *
 *     sent = answered + missing;  missing = errors (the connection closed first) + timeouts (no response within 5 s)
 *
 * The window contains the requests that were due in it (closed loop: sent in it); their responses are awaited. A connection
 * is not used again after a timeout.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { openClient } from '../../src/requests/index.js'
import { createLatencies } from './latencies.js'

export const RESPONSE_TIMEOUT_MS = 5000
/** Requests before the window; they are not counted. */
export const WARM_UP_MS = 500
const TIMEOUT_CHECK_MS = 250

/**
 * @typedef {{ planned: number | null, sent: number, answered: number, missing: number, byStatus: Record<string, number>,
 *   errors: number, timeouts: number }} Requests `planned` null in a closed loop
 *
 * @typedef {object} Inspector
 * @property {(status: number, index: number) => boolean} wants whether to keep the body of a response; `index` of the connection
 * @property {(status: number, bytes: number, body: Buffer | null, at: { sentMs: number, receivedMs: number,
 *   index: number }) => void} inspect
 *   gets every response of the window; times on the clock `now`
 *
 * @typedef {object} Options the window on the clock `now`, ms; the pace of the open loop starts with the call
 * @property {string[]} urls
 * @property {number} connections
 * @property {number} everyMs
 * @property {boolean} [skips]
 * @property {number} fromMs
 * @property {number} untilMs
 * @property {() => number} now
 * @property {Inspector} inspector
 */

/** @param {Options} options */
export function startRequests (options) {
  const { connections, everyMs, fromMs, untilMs, now } = options
  const startMs = now()
  const tally = createTally()
  /** @param {number} index of the connection @param {number} n of its requests, from 0 */
  const dueMs = (index, n) => startMs + everyMs * (n + index / connections)
  const all = Array.from({ length: connections }, (_, index) => startConnection(index, { ...options, startMs, dueMs, tally }))
  const checking = setInterval(() => { for (const one of all) one.checkTimeout() }, TIMEOUT_CHECK_MS)

  function planned () {
    let count = 0
    for (let index = 0; index < connections; index++) {
      for (let n = 0; dueMs(index, n) < untilMs; n++) if (dueMs(index, n) >= fromMs) count++
    }
    return count
  }

  return {
    /** Resolves after the window, when each of its requests has an outcome. */
    async settled () {
      // a timer of the caller may fire early, and a connection that has its response then sends once more
      while (now() < untilMs) await pause(untilMs - now())
      await tally.settled(RESPONSE_TIMEOUT_MS)
      clearInterval(checking)
      for (const one of all) one.close()
    },

    /** @returns {{ requests: Requests, latencyMs: import('./latencies.js').Percentiles | null, connectionsLost: number }} */
    figures () {
      const { requests, latencies, connectionsLost } = tally
      return {
        requests: { planned: everyMs === 0 ? null : planned(), ...requests, missing: requests.errors + requests.timeouts },
        latencyMs: latencies.percentiles(),
        connectionsLost
      }
    }
  }
}

/** The outcomes of all connections. */
function createTally () {
  const requests = { sent: 0, answered: 0, errors: 0, timeouts: 0, byStatus: /** @type {Record<string, number>} */ ({}) }
  const latencies = createLatencies()
  let pending = 0
  let whenSettled = () => {}

  function settleOne () {
    if (--pending === 0) whenSettled()
  }

  return {
    requests,
    latencies,
    connectionsLost: 0,

    sent () {
      requests.sent++
      pending++
    },

    /** @param {number} status @param {number} ms */
    answered (status, ms) {
      requests.answered++
      requests.byStatus[status] = (requests.byStatus[status] ?? 0) + 1
      latencies.record(ms)
      settleOne()
    },

    /** @param {'errors' | 'timeouts'} how */
    missed (how) {
      requests[how]++
      settleOne()
    },

    /** @param {number} deadlineMs */
    async settled (deadlineMs) {
      if (pending === 0) return
      await /** @type {Promise<void>} */ (new Promise((resolve) => {
        const timer = setTimeout(resolve, deadlineMs)
        whenSettled = () => {
          clearTimeout(timer)
          resolve()
        }
      }))
    }
  }
}

/**
 * @param {number} index
 * @param {Options & { startMs: number, dueMs: (index: number, n: number) => number, tally: ReturnType<typeof createTally> }} loop
 */
function startConnection (index, { urls, connections, everyMs, skips = false, fromMs, untilMs, now, inspector, startMs, dueMs, tally }) {
  /** @type {{ sinceMs: number, sentMs: number, counts: boolean } | null} */
  let pending = null
  let n = 0
  /** @type {NodeJS.Timeout | null} */
  let timer = null

  const client = openClient(urls[index % urls.length], {
    ready () {
      if (timer || pending) return
      if (everyMs === 0) return send(now())
      if (skips) n = Math.max(n, Math.ceil((now() - startMs) / everyMs - index / connections))
      if (dueMs(index, n) <= now()) return send(dueMs(index, n))
      waitForTurn()
    },
    head: (status) => pending !== null && pending.counts && inspector.wants(status, index),
    response (status, bytes, body) {
      if (!pending) return
      const { counts, sinceMs, sentMs } = pending
      pending = null
      if (!counts) return
      const receivedMs = now()
      inspector.inspect(status, bytes, body, { sentMs, receivedMs, index })
      tally.answered(status, receivedMs - sinceMs)
    },
    lost: () => drop('errors'),
    end () {
      stopTimer()
      tally.connectionsLost++
    }
  })

  /** A timer may fire early, and then waits again. */
  function waitForTurn () {
    timer = setTimeout(() => {
      timer = null
      if (now() < dueMs(index, n)) return waitForTurn()
      // a late timer is not the server's fault
      send(now())
    }, Math.ceil(dueMs(index, n) - now()))
  }

  /** @param {number} sinceMs when it should have been sent */
  function send (sinceMs) {
    const sentMs = now()
    const due = everyMs === 0 ? sentMs : dueMs(index, n++)
    if (sentMs >= untilMs || due >= untilMs) return
    const counts = due >= fromMs
    pending = { sinceMs, sentMs, counts }
    if (counts) tally.sent()
    client.send()
  }

  /** @param {'errors' | 'timeouts'} how */
  function drop (how) {
    if (pending?.counts) tally.missed(how)
    pending = null
  }

  function stopTimer () {
    if (timer) clearTimeout(timer)
    timer = null
  }

  return {
    checkTimeout () {
      if (!pending || now() - pending.sentMs < RESPONSE_TIMEOUT_MS) return
      client.close()
      drop('timeouts')
      tally.connectionsLost++
    },
    close () {
      client.close()
      stopTimer()
      drop('timeouts')
    }
  }
}
