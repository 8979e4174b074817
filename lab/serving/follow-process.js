/**
 * The clients that follow a feed in a measurement, in a process of their own. They get events (push) or poll.
 *
 *     this -> lab   { event: 'up' }
 *     lab -> this   { event: 'open', urls, bytes, ...order }      a URL for each client; order: followers.js
 *     this -> lab   { event: 'opened' }                           each stream has begun or failed; polling is warmed up
 *     lab -> this   { event: 'follow', seconds }
 *     this -> lab   { event: 'window' }           after half a second of warm-up; { event: 'window over' } after `seconds`
 *     this -> lab   { event: 'followed', requests, latencyMs, connectionsLost, bytes, answers, following, seconds, cpuSeconds, loopUse }
 *     lab -> this   { event: 'settle', acknowledged }             the load has ended
 *     this -> lab   { event: 'settled', due, newest, detail, open, ended }      once all clients have the newest versions, or
 *                   at the deadline; `open`: clients still connected; `ended`: why other streams ended
 *     lab -> this   { event: 'stop' }
 */
import { setTimeout as pause } from 'node:timers/promises'
import { WARM_UP_MS } from './request-loop.js'
import { tellParent } from '../../src/runtime/index.js'
import { serveParent } from './child-process.js'
import { createPoll } from './follow-poll.js'
import { startPush } from './follow-push.js'
import { createFollowers } from './followers.js'
import { usageBetween, usageNow } from './usage.js'
import { wallOrigin } from './wall-clock.js'

/** Until the last acknowledged item has reached the clients, on a busy machine too. */
const SETTLED_WITHIN_MS = 5000
const POLL_MS = 20

const origin = wallOrigin()
const now = () => origin + performance.now()
/** @type {import('./followers.js').AllFollowers} */
let followers
/** @type {ReturnType<typeof startPush> | null} */
let push = null
/** @type {ReturnType<typeof createPoll> | null} */
let poll = null
/** of streams @type {Awaited<ReturnType<ReturnType<typeof startPush>['opened']>> | null} */
let begun = null
let connections = 0
let connectionsLost = 0

serveParent('up', { open, follow, settle, stop: () => process.exit(0) })

/** @param {import('./followers.js').Order & { urls: string[], bytes: number | null }} order */
async function open ({ urls, bytes, ...order }) {
  followers = createFollowers(order)
  connections = urls.length
  if (order.asks === 'push') {
    push = startPush({ urls, followers, bytes, now })
    begun = await push.opened()
  } else {
    poll = createPoll({ urls, everyMs: order.everyMs, followers, now })
    await poll.warmUp()
  }
  await tellParent({ event: 'opened' })
}

/** @param {{ seconds: number }} order */
async function follow ({ seconds }) {
  const fromMs = performance.now() + WARM_UP_MS
  const untilMs = fromMs + seconds * 1000
  const polling = poll?.start({ fromMs, untilMs }) ?? null
  await pause(WARM_UP_MS)
  const before = usageNow()
  const openAtBegin = push?.state().open ?? connections
  followers.count(true)
  tellParent({ event: 'window' })
  await pause(Math.max(0, untilMs - performance.now()))
  followers.count(false)
  const after = usageNow()
  tellParent({ event: 'window over' })
  await polling?.settled()
  const { following, ...figures } = followers.figures()
  const outcomes = polling ? polling.figures() : { ...begun, connectionsLost: connections - openAtBegin }
  connectionsLost = outcomes.connectionsLost
  await tellParent({
    event: 'followed',
    ...figures,
    ...outcomes,
    following: { openAtBegin, ...following },
    seconds: (after.atMs - before.atMs) / 1000,
    ...usageBetween(before, after)
  })
}

/** @param {{ acknowledged: number[] }} order */
async function settle ({ acknowledged }) {
  const untilMs = performance.now() + SETTLED_WITHIN_MS
  push?.readLast()
  let { behind, ...settled } = followers.settled(acknowledged)
  while (settled.newest < settled.due && performance.now() < untilMs) {
    await (poll ? poll.again(behind) : pause(POLL_MS))
    ;({ behind, ...settled } = followers.settled(acknowledged))
  }
  await tellParent({ event: 'settled', ...settled, ...(push?.state() ?? { open: connections - connectionsLost }) })
}
