/**
 * When a connection asks, and what became of each request that was asked in the window.
 *
 *     closed loop   everyMs 0: a connection asks again as soon as it is answered
 *     open loop     a connection asks every everyMs, connections evenly spread over that time. One that is not answered when
 *                   its next request is due asks as soon as it is; the latency counts from when it was due, so a slow
 *                   answer is not measured once only. Where only looking counts (`skips`), what was missed is left out
 *
 *     sent = answered + missing;  missing = errors (the connection ended first) + timeouts (no answer within 5 s)
 *
 * Requests of the window are those that were due in it (closed loop: sent in it); their answers are waited for. A
 * connection that gives no answer in time is not used again.
 */
import { build } from 'hdr-histogram-js'
import { openClient } from './connection.js'

export const ANSWER_WITHIN_MS = 5000
/** What is asked before the window, and not counted. */
export const WARM_UP_MS = 500
const LOOK_MS = 250
const MICROS = 1000
const MAX_MICROS = 3600 * 1000 * MICROS

/**
 * @typedef {{ planned: number | null, sent: number, answered: number, missing: number, byStatus: Record<string, number>,
 *   errors: number, timeouts: number }} Requests `planned` null in a closed loop
 *
 * @typedef {object} Look what looks at answers of the window
 * @property {(status: number, place: number) => boolean} wants whether the body of an answer that begins is wanted; `place` of the
 *   connection, from 0
 * @property {(status: number, bytes: number, body: Buffer | null, at: { askedMs: number, heardMs: number, place: number }) => void} look
 *   gets every answer; times on the clock `now`
 */

/**
 * @param {{ urls: string[], connections: number, everyMs: number, skips?: boolean, fromMs: number, untilMs: number,
 *   now: () => number, look: Look }} options the window on the clock `now`, ms; the open loop's pace begins when this is called
 */
export function startAsking ({ urls, connections, everyMs, skips = false, fromMs, untilMs, now, look }) {
  const requests = { sent: 0, answered: 0, errors: 0, timeouts: 0, byStatus: /** @type {Record<string, number>} */ ({}) }
  const latencies = build({ lowestDiscernibleValue: 1, highestTrackableValue: MAX_MICROS, numberOfSignificantValueDigits: 3 })
  const startMs = now()
  let lost = 0
  let open = 0
  let whenSettled = () => {}

  /** @param {number} place of the connection @param {number} n from 0 */
  const dueOf = (place, n) => startMs + everyMs * (n + place / connections)

  const settleOne = () => {
    if (--open === 0) whenSettled()
  }

  /** @param {number} place */
  function startOne (place) {
    /** @type {{ sinceMs: number, sentMs: number, counts: boolean } | null} */
    let pending = null
    let n = 0
    /** @type {NodeJS.Timeout | null} */
    let timer = null

    const client = openClient(urls[place % urls.length], {
      open () {
        if (timer || pending) return
        if (skips) n = Math.max(n, Math.ceil((now() - startMs) / everyMs - place / connections))
        const waitMs = everyMs === 0 ? 0 : dueOf(place, n) - now()
        if (waitMs <= 0) send(everyMs === 0 ? now() : dueOf(place, n))
        else {
          timer = setTimeout(() => {
            timer = null
            // a timer that is late is no fault of the server
            send(now())
          }, Math.ceil(waitMs))
        }
      },
      head: (status) => pending !== null && pending.counts && look.wants(status, place),
      answer (status, bytes, body) {
        if (!pending) return
        const { counts, sinceMs, sentMs } = pending
        pending = null
        if (!counts) return
        const heardMs = now()
        requests.answered++
        requests.byStatus[status] = (requests.byStatus[status] ?? 0) + 1
        latencies.recordValue(Math.min(MAX_MICROS, Math.round((heardMs - sinceMs) * MICROS)))
        look.look(status, bytes, body, { askedMs: sentMs, heardMs, place })
        settleOne()
      },
      lost: () => lose('errors'),
      end () {
        if (timer) clearTimeout(timer)
        timer = null
        lost++
      }
    })

    /** @param {number} sinceMs when it should have been sent */
    function send (sinceMs) {
      const sentMs = now()
      // a timer may be early
      const dueMs = everyMs === 0 ? sentMs : dueOf(place, n++)
      if (sentMs >= untilMs || dueMs >= untilMs) return
      const counts = dueMs >= fromMs
      pending = { sinceMs, sentMs, counts }
      if (counts) {
        requests.sent++
        open++
      }
      client.ask()
    }

    /** @param {'errors' | 'timeouts'} how */
    function lose (how) {
      if (!pending) return
      const { counts } = pending
      pending = null
      if (!counts) return
      requests[how]++
      settleOne()
    }

    return {
      giveUpLate () {
        if (!pending || now() - pending.sentMs < ANSWER_WITHIN_MS) return
        client.close()
        lose('timeouts')
        lost++
      },
      close () {
        client.close()
        if (timer) clearTimeout(timer)
        lose('timeouts')
      }
    }
  }

  const all = Array.from({ length: connections }, (_, place) => startOne(place))
  const looking = setInterval(() => { for (const one of all) one.giveUpLate() }, LOOK_MS)

  return {
    /** Resolves when the window is over and everything of it is answered or given up. */
    async settled () {
      if (open > 0) {
        await /** @type {Promise<void>} */ (new Promise((resolve) => {
          whenSettled = resolve
          setTimeout(resolve, ANSWER_WITHIN_MS)
        }))
      }
      clearInterval(looking)
      for (const one of all) one.close()
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

/** @param {import('hdr-histogram-js').Histogram} times of microseconds @returns {{ p50: number, p95: number, p99: number, max: number }} in milliseconds */
export function percentilesOf (times) {
  const most = times.maxValue
  const percentile = (/** @type {number} */ percent) => Math.min(most, times.getValueAtPercentile(percent)) / MICROS
  return { p50: percentile(50), p95: percentile(95), p99: percentile(99), max: most / MICROS }
}
