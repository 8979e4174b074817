/**
 * The client of a measurement, as a process of its own, so that its event loop is not the lab's: connections that ask over
 * and over at the pace of asking.js, or everything in one answer; and what came of it.
 *
 *     this -> lab   { event: 'up' }
 *     lab -> this   { event: 'ask', urls, connections, everyMs, seconds, right, freshness, currentWithinMs }
 *     this -> lab   { event: 'window' }          half a second of warm-up is over; { event: 'window over' } after `seconds`
 *     this -> lab   { event: 'asked', requests, latencyMs, connectionsLost, bytes, answers, freshness, seconds, cpuSeconds, loopUse }
 *     lab -> this   { event: 'fetch', url }
 *     this -> lab   { event: 'fetched', status, bytes, firstMs, lastMs, cpuSeconds, loopUse }
 *     lab -> this   { event: 'check', newestUrl, bytes, workload, currentWithinMs }    what was fetched last
 *     this -> lab   { event: 'checked', items, newest, fault }
 *     lab -> this   { event: 'stop' }, or the lab is gone: it ends
 */
import { setTimeout as pause } from 'node:timers/promises'
import { tellParent } from '../../lifecycle.js'
import { createLook, readAnswer } from './answers.js'
import { WARM_UP_MS, startAsking } from './asking.js'
import { checkAll, fetchAll } from './everything.js'
import { SEEN_WITHIN_MS, createFreshness } from './freshness.js'
import { usageBetween, usageNow } from './usage.js'
import { wallOrigin } from './wall-clock.js'
import { createChecker, numberIn } from './workload.js'

/** Until whatever an answer held is in the newest item of another, on all nodes. */
const SETTLED_MS = 100
const NO_NUMBER = Object.freeze({ writer: 0, number: 0 })

if (process.connected) {
  // tell-usage.js lets go of it
  process.channel?.ref()
  process.once('disconnect', () => process.exit(1))
  process.on('message', (/** @type {any} */ message) => {
    if (message.event === 'ask') run(message).catch(fail)
    else if (message.event === 'fetch') fetch(message).catch(fail)
    else if (message.event === 'check') check(message).catch(fail)
    else if (message.event === 'stop') process.exit(0)
  })
  tellParent({ event: 'up' })
} else fail(new Error('this is started by the lab: npm run experiment -- list'))

/** @param {Error} error */
function fail ({ message }) {
  process.stderr.write(message + '\n')
  process.exit(1)
}

/**
 * @typedef {object} Order
 * @property {string[]} urls connections are spread over them
 * @property {number} connections
 * @property {number} everyMs 0 = closed loop
 * @property {number} seconds
 * @property {import('./answers.js').Right} right
 * @property {{ ratePerSecond: number } | null} freshness each answer is looked at, for the time of its newest item; the rate of each writer
 * @property {number | null} [currentWithinMs] so old the newest item of an answer may be; null = items do not come steadily
 */

/** @param {Order} order */
async function run ({ urls, connections, everyMs, seconds, right, freshness, currentWithinMs = null }) {
  const wallMs = freshness || currentWithinMs ? wallOrigin() : 0
  const startMs = performance.now()
  const now = () => performance.now() - startMs
  const untilMs = WARM_UP_MS + seconds * 1000
  const origin = wallMs + startMs
  const fresh = freshness ? createFreshness({ ...freshness, fromMs: origin + WARM_UP_MS, untilMs: origin + untilMs - SEEN_WITHIN_MS }) : null
  const look = createLook(right, fresh
    ? { everyMs: 0, onItems: ([{ ts, value }], { heardMs }) => fresh.heard({ ts, ...(numberIn(value) ?? NO_NUMBER) }, origin + heardMs) }
    : { onItems: ([{ ts }], { askedMs }) => faultOfAge(ts, origin + askedMs, currentWithinMs) })
  const asking = startAsking({ urls, connections, everyMs, skips: fresh !== null, fromMs: WARM_UP_MS, untilMs, now, look })
  await pause(WARM_UP_MS)
  const before = usageNow()
  tellParent({ event: 'window' })
  await pause(Math.max(0, untilMs - now()))
  const use = usageBetween(before, usageNow())
  tellParent({ event: 'window over' })
  await asking.settled()
  await tellParent({ event: 'asked', ...asking.figures(), ...look.figures(), freshness: fresh?.figures() ?? null, seconds, ...use })
}

/**
 * Whether who answers has stood still.
 * @param {number} ts of the newest item of an answer @param {number} askedMs since 1970 @param {number | null} withinMs
 * @returns {string | null} what is wrong
 */
const faultOfAge = (ts, askedMs, withinMs) => withinMs === null || askedMs - ts <= withinMs
  ? null
  : `its newest item was ${Math.round(askedMs - ts)} ms old when it was asked for; expected at most ${withinMs} ms`

/** @type {Buffer[]} of the last answer */
let kept = []

/** @param {{ url: string }} order */
async function fetch ({ url }) {
  const before = usageNow()
  const { chunks, ...told } = await fetchAll(url)
  kept = chunks
  await tellParent({ event: 'fetched', ...told, ...usageBetween(before, usageNow()) })
}

/**
 * @param {{ newestUrl: string, bytes: number | null, workload: import('./workload.js').Workload, currentWithinMs?: number | null }} order
 *   `bytes`: they alone are looked at
 */
async function check ({ newestUrl, bytes, workload, currentWithinMs = null }) {
  const body = Buffer.concat(kept)
  kept = []
  if (bytes !== null) return tellParent({ event: 'checked', items: 0, newest: 0, fault: body.length === bytes ? null : `${body.length} bytes; expected ${bytes}` })
  await pause(SETTLED_MS)
  const askedMs = Date.now()
  const { status, chunks } = await fetchAll(newestUrl, { accept: 'application/json' })
  const checker = createChecker({ ...workload, isWhole: false })
  const { fault } = readAnswer(status, Buffer.concat(chunks).toString(), { items: 1, bytes: null }, (items) => checker.faultOf(items) ?? faultOfAge(items[0].ts, askedMs, currentWithinMs))
  await tellParent({ event: 'checked', ...(fault === null ? checkAll(body, { ...workload, newestNow: checker.newest[0] }) : { items: 0, newest: 0, fault: `the newest item: ${fault}` }) })
}
