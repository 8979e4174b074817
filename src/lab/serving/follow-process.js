/**
 * The clients that follow a feed in a measurement, as a process of their own: they are pushed to, or ask again and again.
 *
 *     this -> lab   { event: 'up' }
 *     lab -> this   { event: 'open', urls, bytes, ...order }      an address for each client; order: followers.js
 *     this -> lab   { event: 'opened' }                           streams have begun, or will not; questions were practised
 *     lab -> this   { event: 'follow', seconds }
 *     this -> lab   { event: 'window' }           half a second of warm-up is over; { event: 'window over' } after `seconds`
 *     this -> lab   { event: 'followed', requests, latencyMs, connectionsLost, bytes, answers, following, seconds, cpuSeconds, loopUse }
 *     lab -> this   { event: 'settle', acknowledged }             the load has ended
 *     this -> lab   { event: 'settled', due, newest, detail, open, ended }      as soon as all have the newest, or never will;
 *                   `open`: how many are
 *                   connected; `ended`: why streams are not
 *     lab -> this   { event: 'stop' }, or the lab is gone: it ends
 */
import { setTimeout as pause } from 'node:timers/promises'
import { tellParent } from '../../lifecycle.js'
import { WARM_UP_MS } from './asking.js'
import { createPoll } from './follow-poll.js'
import { startPush } from './follow-push.js'
import { createFollowers } from './followers.js'
import { usageBetween, usageNow } from './usage.js'
import { wallOrigin } from './wall-clock.js'

/** What was acknowledged last is at the clients by then, whatever else the machine does. */
const SETTLED_WITHIN_MS = 5000
const LOOK_MS = 20

if (process.connected) {
  // tell-usage.js lets go of it
  process.channel?.ref()
  process.once('disconnect', () => process.exit(1))
  const way = createWay()
  process.on('message', (/** @type {any} */ message) => {
    if (message.event === 'open') way.open(message).catch(fail)
    else if (message.event === 'follow') way.follow(message).catch(fail)
    else if (message.event === 'settle') way.settle(message).catch(fail)
    else if (message.event === 'stop') process.exit(0)
  })
  tellParent({ event: 'up' })
} else fail(new Error('this is started by the lab: npm run experiment -- list'))

/** @param {Error} error */
function fail ({ message }) {
  process.stderr.write(message + '\n')
  process.exit(1)
}

function createWay () {
  const origin = wallOrigin()
  const now = () => origin + performance.now()
  /** @type {import('./followers.js').AllFollowers} */
  let followers
  /** @type {ReturnType<typeof startPush> | null} */
  let push = null
  /** @type {ReturnType<typeof createPoll> | null} */
  let poll = null
  /** of streams @type {{ requests: import('./asking.js').Requests, latencyMs: any } | null} */
  let begun = null
  let connections = 0
  let lost = 0

  return {
    /** @param {import('./followers.js').Order & { urls: string[], bytes: number | null }} order */
    async open ({ urls, bytes, ...order }) {
      followers = createFollowers(order)
      connections = urls.length
      if (order.asks === 'push') {
        push = startPush({ urls, followers, bytes, now })
        begun = await push.opened()
      } else {
        poll = createPoll({ urls, everyMs: order.everyMs, followers, now })
        await poll.practise()
      }
      await tellParent({ event: 'opened' })
    },

    /** @param {{ seconds: number }} order */
    async follow ({ seconds }) {
      const fromMs = performance.now() + WARM_UP_MS
      const untilMs = fromMs + seconds * 1000
      const asking = poll?.start({ fromMs, untilMs }) ?? null
      await pause(WARM_UP_MS)
      const before = usageNow()
      const openAtBegin = push?.state().open ?? connections
      followers.count(true)
      tellParent({ event: 'window' })
      await pause(Math.max(0, untilMs - performance.now()))
      followers.count(false)
      const after = usageNow()
      tellParent({ event: 'window over' })
      await asking?.settled()
      const { following, ...figures } = followers.figures()
      const asked = asking ? asking.figures() : { ...begun, connectionsLost: connections - openAtBegin }
      lost = asked.connectionsLost
      await tellParent({
        event: 'followed',
        ...figures,
        ...asked,
        following: { openAtBegin, ...following },
        seconds: (after.atMs - before.atMs) / 1000,
        ...usageBetween(before, after)
      })
    },

    /** @param {{ acknowledged: number[] }} order */
    async settle ({ acknowledged }) {
      const untilMs = performance.now() + SETTLED_WITHIN_MS
      let { places, ...settled } = followers.settled(acknowledged)
      while (settled.newest < settled.due && performance.now() < untilMs) {
        await (poll ? poll.again(places) : pause(LOOK_MS))
        ;({ places, ...settled } = followers.settled(acknowledged))
      }
      await tellParent({ event: 'settled', ...settled, ...(push?.state() ?? { open: connections - lost }) })
    }
  }
}
