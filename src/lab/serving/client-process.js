/**
 * The client of a measurement, as a process of its own, so that its event loop is not the lab's: autocannon's connections,
 * the pace of asking.js, and what came of it.
 *
 *     this -> lab   { event: 'up' }
 *     lab -> this   { event: 'ask', urls, connections, everyMs, seconds, right }
 *     this -> lab   { event: 'window' }          half a second of warm-up is over; { event: 'window over' } after `seconds`
 *     this -> lab   { event: 'asked', requests, latencyMs, connectionsLost, bytes, answers, seconds, cpuSeconds, loopUse }
 *     lab -> this   { event: 'stop' }, or the lab is gone: it ends
 */
import { setTimeout as pause } from 'node:timers/promises'
// @ts-expect-error it has no types
import autocannon from 'autocannon'
import { tellParent } from '../../lifecycle.js'
import { createLook } from './answers.js'
import { ANSWER_WITHIN_MS, WARM_UP_MS, createAsking } from './asking.js'
import { usageBetween, usageNow } from './usage.js'

const SPARE_S = 3600

if (process.connected) {
  // tell-usage.js lets go of it
  process.channel?.ref()
  process.once('disconnect', () => process.exit(1))
  process.on('message', (/** @type {any} */ message) => {
    if (message.event === 'ask') run(message).catch(fail)
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
 */

/** @param {Order} order */
async function run ({ urls, connections, everyMs, seconds, right }) {
  const startMs = performance.now()
  const look = createLook(right)
  const untilMs = WARM_UP_MS + seconds * 1000
  const asking = createAsking({ connections, everyMs, fromMs: WARM_UP_MS, untilMs, now: () => performance.now() - startMs, look: look.look })
  autocannon({
    url: urls,
    connections,
    // both are bounds that are never reached: asking.js ends the window, and this process ends the rest
    duration: seconds + SPARE_S,
    timeout: (ANSWER_WITHIN_MS + everyMs) / 1000,
    setupClient: asking.setupClient,
    verifyBody: asking.heard
  }).catch(fail)
  await pause(WARM_UP_MS)
  const before = usageNow()
  tellParent({ event: 'window' })
  await pause(Math.max(0, untilMs - (performance.now() - startMs)))
  const use = usageBetween(before, usageNow())
  tellParent({ event: 'window over' })
  await asking.settled()
  await tellParent({ event: 'asked', ...asking.figures(), ...look.figures(), seconds, ...use })
}
