/**
 * Clients that ask for the same items again and again: what push replaces. An open loop (asking.js), a connection for each
 * client; an answer is to it what an event is to one that is pushed to.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { askOnce } from './ask-once.js'
import { startAsking } from './asking.js'

/** so many ask at the same time when all is over */
const AT_ONCE = 20
/** of asking before the window: a process that was never asked takes so long to be as quick as it can */
const PRACTICE_MS = 1000

/**
 * @param {{ urls: string[], everyMs: number, followers: import('./followers.js').AllFollowers, now: () => number }} options `urls`: one for each
 *   client; `now`: ms since 1970
 */
export function createPoll ({ urls, everyMs, followers, now }) {
  const origin = now() - performance.now()

  /** @param {number} place @param {number} status @param {string} body @param {number} heardMs */
  function took (place, status, body, heardMs) {
    if (status !== 200) return followers.wrong(`status ${status}: ${body.slice(0, 200)}`)
    try {
      const { items } = JSON.parse(body)
      followers.read(place, items, heardMs)
    } catch ({ message }) {
      followers.wrong(`an answer that is none: ${message}`)
    }
  }

  /** @param {{ fromMs: number, untilMs: number }} window on the clock of `performance.now()` */
  const start = ({ fromMs, untilMs }) => startAsking({
    urls,
    connections: urls.length,
    everyMs,
    fromMs,
    untilMs,
    now: () => performance.now(),
    look: {
      wants: (status, place) => status !== 200 || followers.wants(place),
      look (status, bytes, body, { heardMs, place }) {
        followers.came(place, bytes, origin + heardMs)
        if (body !== null) took(place, status, body.toString(), origin + heardMs)
      }
    }
  })

  return {
    start,

    /** Asks as in the window, and counts nothing. */
    async practise () {
      const asking = start({ fromMs: Infinity, untilMs: performance.now() + PRACTICE_MS })
      await pause(PRACTICE_MS)
      await asking.settled()
    },

    /** Once more, when nothing is written any more. @param {number[]} places of clients */
    async again (places) {
      const left = [...places]
      await Promise.all(Array.from({ length: AT_ONCE }, async () => {
        for (let place = left.pop(); place !== undefined; place = left.pop()) {
          const { status, body } = await askOnce(urls[place])
          took(place, status, body, now())
        }
      }))
    }
  }
}
