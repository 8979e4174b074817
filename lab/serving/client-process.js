/**
 * The client of a measurement, in a process of its own so that its event loop is not the lab's: connections that repeat one
 * request at the pace of request-loop.js, or one that fetches all items.
 *
 *     this -> lab   { event: 'up' }
 *     lab -> this   { event: 'request', urls, connections, everyMs, seconds, right, freshness, currentWithinMs }
 *     this -> lab   { event: 'window' }          after half a second of warm-up; { event: 'window over' } after `seconds`
 *     this -> lab   { event: 'requested', requests, latencyMs, connectionsLost, bytes, answers, itemsPerAnswer, newestAgeMs, freshness,
 *                     seconds, cpuSeconds, loopUse }
 *     lab -> this   { event: 'fetch', url }
 *     this -> lab   { event: 'fetched', status, bytes, firstMs, lastMs, cpuSeconds, loopUse }
 *     lab -> this   { event: 'check', newestUrl, bytes, workload, currentWithinMs }    the last fetched response
 *     this -> lab   { event: 'checked', items, newest, fault }
 *     lab -> this   { event: 'stop' }
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createLatencies } from './latencies.js'
import { startRequests, WARM_UP_MS } from './request-loop.js'
import { tellParent } from '../../src/runtime/index.js'
import { serveParent } from './child-process.js'
import { checkAll, fetchAll } from './everything.js'
import { SEEN_WITHIN_MS, createFreshness } from './freshness.js'
import { createInspector, readResponse } from './responses.js'
import { usageBetween, usageNow } from './usage.js'
import { wallOrigin } from './wall-clock.js'
import { createChecker, numberIn } from './workload.js'

/** After this, all nodes have every item of an earlier response. */
const SETTLED_MS = 100
const NO_NUMBER = Object.freeze({ writer: 0, number: 0 })

/** @type {Buffer[]} the last fetched body */
let fetched = []

serveParent('up', { request, fetch, check, stop: () => process.exit(0) })

/**
 * @typedef {object} Order
 * @property {string[]} urls connections are spread over them
 * @property {number} connections
 * @property {number} everyMs 0 = closed loop
 * @property {number} seconds
 * @property {import('./responses.js').Right} right
 * @property {{ ratePerSecond: number } | null} freshness measured from the newest item of every response; the rate of each writer
 * @property {number | null} [currentWithinMs] maximum age of the newest item; null = items do not arrive steadily
 */

/** @param {Order} order */
async function request ({ urls, connections, everyMs, seconds, right, freshness, currentWithinMs = null }) {
  const wallMs = freshness || currentWithinMs ? wallOrigin() : 0
  const startMs = performance.now()
  const now = () => performance.now() - startMs
  const untilMs = WARM_UP_MS + seconds * 1000
  const origin = wallMs + startMs
  const fresh = freshness
    ? createFreshness({ ...freshness, fromMs: origin + WARM_UP_MS, untilMs: origin + untilMs - SEEN_WITHIN_MS })
    : null
  const read = { answers: 0, items: 0, ageMs: createLatencies() }
  const inspector = createInspector(right, fresh
    ? {
        everyMs: 0,
        onItems: ([{ ts, value }], { receivedMs }) => fresh.observe({ ts, ...(numberIn(value) ?? NO_NUMBER) }, origin + receivedMs)
      }
    : {
        onItems (items, { sentMs, receivedMs }) {
          const [{ ts }] = items
          read.items += items.length
          read.answers++
          if (currentWithinMs !== null) read.ageMs.record(origin + receivedMs - ts)
          return faultOfAge(ts, origin + sentMs, currentWithinMs)
        }
      })
  const requests = startRequests({ urls, connections, everyMs, skips: fresh !== null, fromMs: WARM_UP_MS, untilMs, now, inspector })
  await pause(WARM_UP_MS)
  const before = usageNow()
  tellParent({ event: 'window' })
  await pause(Math.max(0, untilMs - now()))
  const use = usageBetween(before, usageNow())
  tellParent({ event: 'window over' })
  await requests.settled()
  await tellParent({
    event: 'requested',
    ...requests.figures(),
    ...inspector.figures(),
    ...(read.answers > 0 && { itemsPerAnswer: read.items / read.answers, newestAgeMs: read.ageMs.percentiles() }),
    freshness: fresh?.figures() ?? null,
    seconds,
    ...use
  })
}

/**
 * Finds a server that has stopped reading.
 * @param {number} ts of the newest item @param {number} sentMs of the request, since 1970 @param {number | null} withinMs
 * @returns {string | null}
 */
const faultOfAge = (ts, sentMs, withinMs) => withinMs === null || sentMs - ts <= withinMs
  ? null
  : `the newest item was ${Math.round(sentMs - ts)} ms old when the request was sent; expected at most ${withinMs} ms`

/** @param {{ url: string }} order */
async function fetch ({ url }) {
  const before = usageNow()
  const { chunks, ...response } = await fetchAll(url)
  fetched = chunks
  await tellParent({ event: 'fetched', ...response, ...usageBetween(before, usageNow()) })
}

/**
 * @param {{ newestUrl: string, bytes: number | null, workload: import('./workload.js').Workload, currentWithinMs?: number | null }} order
 *   `bytes`: only the length is checked
 */
async function check ({ newestUrl, bytes, workload, currentWithinMs = null }) {
  const body = Buffer.concat(fetched)
  fetched = []
  if (bytes !== null) {
    return tellParent({
      event: 'checked', items: 0, newest: 0, fault: body.length === bytes ? null : `${body.length} bytes; expected ${bytes}`
    })
  }
  await pause(SETTLED_MS)
  const sentMs = Date.now()
  const { status, chunks } = await fetchAll(newestUrl, { accept: 'application/json' })
  const checker = createChecker({ ...workload, isWhole: false })
  const { fault } = readResponse(status, Buffer.concat(chunks).toString(), { items: 1, bytes: null },
    (items) => checker.faultOf(items) ?? faultOfAge(items[0].ts, sentMs, currentWithinMs))
  await tellParent({
    event: 'checked',
    ...(fault === null
      ? checkAll(body, { ...workload, newestNow: checker.newest[0] })
      : { items: 0, newest: 0, fault: `the newest item: ${fault}` })
  })
}
