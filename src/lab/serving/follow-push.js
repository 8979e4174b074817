/**
 * Clients that are pushed to: a stream of server-sent events for each, opened once, before the window, and kept to the end.
 */
import { build } from 'hdr-histogram-js'
import { setTimeout as pause } from 'node:timers/promises'
import { percentilesOf } from './asking.js'
import { openStream, readEvent } from './event-stream.js'

/** so many are opened at a time */
const AT_ONCE = 25
const BETWEEN_MS = 10
/** A stream that has not begun then will not. */
const BEGUN_WITHIN_MS = 5000
const LOOK_MS = 20
/** of `event: items` */
const NAME_AT = 'event: '.length
const FIRST = 'e'.charCodeAt(0)
const LF = 10

/** @typedef {'items' | 'snapshot' | 'reset' | 'other'} Kind */

/** @param {Buffer} event @returns {Kind} by its first line, which is as cheap as can be */
function kindOf (event) {
  if (event[0] !== FIRST) return 'other'
  const name = event.toString('latin1', NAME_AT, event.indexOf(LF))
  return name === 'items' || name === 'snapshot' || name === 'reset' ? name : 'other'
}

/**
 * @param {{ urls: string[], followers: import('./followers.js').AllFollowers, bytes: number | null, now: () => number }} options `urls`: one for
 *   each client; `bytes` of every event, where they are known; `now`: ms since 1970
 */
export function startPush ({ urls, followers, bytes: dueBytes, now }) {
  const requests = { planned: urls.length, sent: 0, answered: 0, errors: 0, timeouts: 0, byStatus: /** @type {Record<string, number>} */ ({}) }
  const latencies = build({ lowestDiscernibleValue: 1, highestTrackableValue: 3600e6, numberOfSignificantValueDigits: 3 })
  /** @type {{ [why: string]: number }} */
  const ended = {}
  /** @type {ReturnType<typeof openStream>[]} */
  const streams = []
  const begun = new Set()
  let settled = 0
  let open = 0

  /** @param {string} url @param {number} place */
  function openOne (url, place) {
    const askedMs = now()
    let status = 0
    requests.sent++
    streams.push(openStream(url, {
      status (heard) {
        status = heard
        if (status === 200) open++
      },
      event (event) {
        const kind = kindOf(event)
        const heardMs = now()
        if (kind === 'items' || kind === 'snapshot') {
          if (!begun.has(place)) begin(place, status, heardMs - askedMs)
          took(place, event, kind, heardMs)
        } else if (kind === 'reset') followers.reset(place)
      },
      end (why) {
        if (status === 200) {
          open--
          ended[why] = (ended[why] ?? 0) + 1
        }
        if (begun.has(place)) return
        settled++
        if (status > 0 && status !== 200) answered(status)
        else requests.errors++
        followers.wrong(why)
      }
    }))
  }

  /** @param {number} place @param {number} status @param {number} ms */
  function begin (place, status, ms) {
    begun.add(place)
    settled++
    answered(status)
    latencies.recordValue(Math.round(ms * 1000))
  }

  /** @param {number} status */
  function answered (status) {
    requests.answered++
    requests.byStatus[status] = (requests.byStatus[status] ?? 0) + 1
  }

  /** @param {number} place @param {Buffer} event @param {Kind} kind @param {number} heardMs */
  function took (place, event, kind, heardMs) {
    if (kind === 'items') followers.came(place, event.length, heardMs)
    if (dueBytes !== null && event.length !== dueBytes) return followers.wrong(`an event of ${event.length} bytes; expected ${dueBytes}`)
    // what a client knows begins with its snapshot
    if (kind === 'items' && !followers.wants(place)) return
    try {
      const { items } = JSON.parse(String(readEvent(event.toString()).data))
      if (!Array.isArray(items)) throw new Error('it has no items')
      followers.read(place, items, heardMs)
    } catch ({ message }) {
      followers.wrong(`an event that is none: ${message}`)
    }
  }

  return {
    /** Resolves when each has begun, or will not. @returns {Promise<{ requests: import('./asking.js').Requests, latencyMs: ReturnType<typeof percentilesOf> | null }>} */
    async opened () {
      for (const [place, url] of urls.entries()) {
        openOne(url, place)
        if (place % AT_ONCE === AT_ONCE - 1) await pause(BETWEEN_MS)
      }
      const untilMs = performance.now() + BEGUN_WITHIN_MS
      while (settled < urls.length && performance.now() < untilMs) await pause(LOOK_MS)
      requests.timeouts = urls.length - settled
      return { requests: { ...requests, missing: requests.errors + requests.timeouts }, latencyMs: begun.size > 0 ? percentilesOf(latencies) : null }
    },

    /** Of them, how many are open, and why others are not. */
    state: () => ({ open, ended }),

    close () { for (const stream of streams) stream.close() }
  }
}
