/**
 * Requests for prices over keep-alive connections, and what was heard.
 *
 * @typedef {{ asset: string, price: string | null, updatedAt: number, version: number, isDegraded: boolean,
 *   sources: import('./history.js').Source[] }} Value
 * @typedef {{ user: number, gateway: number, asset: string, due: number, sent: number, answered: number, status: number, level: string,
 *   value: Value | null }} Heard times in ms since 1970; `due`: as planned, or as it was sent; `status` 0: the connection ended
 */
import { openLine } from '../../serving/line.js'
import { untilDue } from '../pace.js'

/** until a request counts as unanswered */
const ANSWERED_WITHIN_MS = 10_000
const clock = () => performance.timeOrigin + performance.now()

/** @typedef {ReturnType<typeof createClient>} Client */

/** @param {URL[]} urls of gateways; users are spread over them */
export function createClient (urls) {
  /** a price is the same object in all replies that have it @type {Map<string, Value>} */
  const values = new Map()
  const counts = { sent: 0, answered: 0 }
  /** @type {Heard[]} */
  let heard = []

  /** @param {any} body @returns {Value} */
  function valueOf ({ asset, price, updatedAt, seq: version, status, sources }) {
    const id = `${asset} ${version} ${updatedAt} ${price} ${status}`
    const known = values.get(id)
    if (known) return known
    const value = { asset, price, updatedAt, version, isDegraded: status === 'degraded', sources }
    values.set(id, value)
    return value
  }

  /** @param {number} user */
  async function connect (user) {
    const gateway = user % urls.length
    const line = openLine(urls[gateway])
    await line.opened
    return {
      /** @param {string} asset @param {number} [due] @returns {Promise<boolean>} false: the connection ended */
      async ask (asset, due) {
        counts.sent++
        const sent = clock()
        const { status, cache, body } = await line.get(`/v1/prices/${asset}`)
        if (status === 0) return false
        counts.answered++
        const value = status === 200 ? valueOf(body) : null
        heard.push({ user, gateway, asset, due: due ?? sent, sent, answered: clock(), status, level: cache ?? 'none', value })
        return true
      },
      close: line.close
    }
  }

  return {
    counts,
    connect,

    /** All that was heard since the last time. */
    take () {
      const before = heard
      heard = []
      return before
    },

    /**
     * Users ask, each for one price after the other, or at a rate.
     * @param {ReturnType<typeof import('./assets.js').usersOf>} users @param {{ rate: number, signal: AbortSignal }} how `rate`: requests/s
     *   of all, 0 = each as soon as it has an answer
     */
    async use (users, { rate, signal }) {
      const lines = await Promise.all(users.map((_, n) => connect(n)))
      const startMs = clock()
      const using = users.map(async ({ share, pick }, n) => {
        const everyMs = rate > 0 ? 1000 / (rate * share) : 0
        for (let due = startMs + Math.random() * everyMs; !signal.aborted; due += everyMs) {
          if (everyMs > 0) await untilDue(due, { now: clock, signal })
          if (signal.aborted) return
          if (!await lines[n].ask(pick(), everyMs > 0 ? due : undefined)) return
        }
      })
      await Promise.race([Promise.all(using), lateness(signal)])
      for (const { close } of lines) close()
    }
  }
}

/** @param {AbortSignal} signal @returns {Promise<void>} when it is too late for an answer */
const lateness = (signal) => new Promise((resolve) => {
  const wait = () => setTimeout(resolve, ANSWERED_WITHIN_MS).unref()
  if (signal.aborted) wait()
  else signal.addEventListener('abort', wait, { once: true })
})
