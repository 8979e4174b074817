/**
 * When a connection asks, and what became of each request that was asked in the window. Sockets and HTTP are autocannon's;
 * its own pace is not used: it asks for a second's requests at the beginning of the second, on all connections at once,
 * counts a latency in whole milliseconds from the sending, and breaks off what is under way when its time is over.
 *
 *     closed loop   everyMs 0: a connection asks again as soon as it is answered
 *     open loop     a connection asks every everyMs, connections evenly spread over that time. One that is not answered when
 *                   its next request is due asks as soon as it is; the latency counts from when it was due, so a slow
 *                   answer is not measured once only
 *
 *     sent = answered + missing;  missing = errors (the connection ended first) + timeouts (no answer within 5 s)
 *
 * Requests of the window are those that were due in it (closed loop: sent in it); their answers are waited for. A
 * connection that fails is not opened again, so that nothing is asked in a circle of a server that is gone.
 */
import { build } from 'hdr-histogram-js'

export const ANSWER_WITHIN_MS = 5000
/** What is asked before the window, and not counted. */
export const WARM_UP_MS = 500
const MICROS = 1000
const MAX_MICROS = 3600 * 1000 * MICROS

/**
 * @typedef {{ planned: number | null, sent: number, answered: number, missing: number, byStatus: Record<string, number>,
 *   errors: number, timeouts: number }} Requests `planned` null in a closed loop
 */

/**
 * @param {{ connections: number, everyMs: number, fromMs: number, untilMs: number, now: () => number,
 *   look: (status: number, body: string) => void }} options the window on the clock `now`, which begins at 0; `look` gets
 *   every answer of the window
 */
export function createAsking ({ connections, everyMs, fromMs, untilMs, now, look }) {
  const requests = { sent: 0, answered: 0, errors: 0, timeouts: 0, byStatus: /** @type {Record<string, number>} */ ({}) }
  const latencies = build({ lowestDiscernibleValue: 1, highestTrackableValue: MAX_MICROS, numberOfSignificantValueDigits: 3 })
  let places = 0
  let lost = 0
  let open = 0
  let whenSettled = () => {}
  /** @type {number | null} of the answer whose body comes next; null = it is not of the window */
  let status = null

  /** @param {number} place of the connection @param {number} n from 0 */
  const dueOf = (place, n) => everyMs * (n + place / connections)

  const settleOne = () => {
    if (--open === 0) whenSettled()
  }

  /** @param {any} client one connection of autocannon, before it connects */
  function setupClient (client) {
    const place = places++
    const ask = client._doRequest.bind(client)
    /** @type {{ sinceMs: number, sentMs: number, counts: boolean } | null} */
    let pending = null
    let n = 0
    /** @type {NodeJS.Timeout | null} */
    let timer = null

    // called when it has connected, and after each answer: it is free to ask
    client._doRequest = () => {
      if (pending) lose()
      if (timer) return
      const waitMs = everyMs === 0 ? 0 : dueOf(place, n) - now()
      if (waitMs <= 0) send(everyMs === 0 ? now() : dueOf(place, n))
      else {
        timer = setTimeout(() => {
          timer = null
          // a timer that is late is no fault of the server
          send(now())
        }, Math.ceil(waitMs))
      }
    }

    /** @param {number} sinceMs when it should have been sent */
    function send (sinceMs) {
      const sentMs = now()
      if (sentMs >= untilMs) return
      const counts = (everyMs === 0 ? sentMs : dueOf(place, n++)) >= fromMs
      pending = { sinceMs, sentMs, counts }
      if (counts) {
        requests.sent++
        open++
      }
      ask()
    }

    function lose () {
      if (!pending) return
      const { counts, sentMs } = pending
      pending = null
      if (!counts) return
      if (now() - sentMs >= ANSWER_WITHIN_MS) requests.timeouts++
      else requests.errors++
      settleOne()
    }

    client.on('response', (/** @type {number} */ code) => {
      status = pending?.counts ? code : null
      if (pending?.counts) {
        requests.answered++
        requests.byStatus[code] = (requests.byStatus[code] ?? 0) + 1
        latencies.recordValue(Math.min(MAX_MICROS, Math.round((now() - pending.sinceMs) * MICROS)))
        settleOne()
      }
      pending = null
    })
    client.on('connError', () => {
      lose()
      if (timer) clearTimeout(timer)
      lost++
      client.destroy()
    })
  }

  return {
    setupClient,

    /** The body of the answer that has just come. @param {string} body */
    heard (body) {
      if (status !== null) look(status, body)
      return true
    },

    /** Resolves when the window is over and everything of it is answered or given up. */
    async settled () {
      if (open > 0) {
        await /** @type {Promise<void>} */ (new Promise((resolve) => {
          whenSettled = resolve
          setTimeout(resolve, ANSWER_WITHIN_MS)
        }))
      }
      requests.timeouts += open
      open = 0
    },

    /** @returns {{ requests: Requests, latencyMs: import('../measures.js').Sample['behindMs'], connectionsLost: number }} `latencyMs` null without answers */
    figures: () => ({
      requests: { planned: everyMs === 0 ? null : planned(), ...requests, missing: requests.errors + requests.timeouts },
      latencyMs: requests.answered ? percentilesOf(latencies) : null,
      connectionsLost: lost
    })
  }

  function planned () {
    let count = 0
    for (let place = 0; place < connections; place++) {
      for (let n = 0; dueOf(place, n) < untilMs; n++) if (dueOf(place, n) >= fromMs) count++
    }
    return count
  }
}

/** @param {import('hdr-histogram-js').Histogram} latencies of microseconds */
function percentilesOf (latencies) {
  const most = latencies.maxValue
  const percentile = (/** @type {number} */ percent) => Math.min(most, latencies.getValueAtPercentile(percent)) / MICROS
  return { p50: percentile(50), p95: percentile(95), p99: percentile(99), max: most / MICROS }
}
