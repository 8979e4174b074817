/**
 * A sale every minute, and a crowd that arrives when it opens. Each sale is created a minute before it opens and closes a minute after the
 * next one has opened, so the last, the current and the next one are listed.
 */
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { createCrowdClient } from 'freshet-feed/systems'

const UNITS = 100
const PEOPLE = 2000
const PRODUCTS = 100
const EVERY_MS = 60_000
const FIRST_MS = 4000
/** An admission or a token ends so soon that people are seen to lose it. */
const HOLD_MS = 5000
/** So few people are admitted at a time that the queue is seen to move. */
const ADMITTED_AT_ONCE = 20
/** This share of the people does not use its admission or token. */
const GIVE_UP = 0.1
const [MIN_THINK_MS, MAX_THINK_MS] = [200, 2000]
const POLL_MS = 10_000
const TRIES = 5
const RETRY_MS = 1000

/** @typedef {'got' | 'soldOut' | 'gaveUp' | 'late' | 'failed'} Outcome `late`: the admission or token ended before the claim */
/** @typedef {ReturnType<typeof createCrowdClient>['send']} Send
 * @typedef {(ms: number) => Promise<void>} Wait rejects when the sale or the demo ends */

const count = (/** @type {number} */ n) => n.toLocaleString('en')
const thinkMs = () => MIN_THINK_MS + Math.random() * (MAX_THINK_MS - MIN_THINK_MS)
const givesUp = () => Math.random() < GIVE_UP

/**
 * @param {Parameters<typeof createCrowdClient>[0] &
 *   { settings: { mode: string }, isActive: boolean, print: (line: string) => void }} options
 */
export async function runCrowd ({ settings: { mode }, isActive, print, ...target }) {
  const { signal } = target
  const { send, pause, productOf, userOf } = createCrowdClient(target)
  /** @param {AbortSignal} until @returns {Send} */
  const sendUntil = (until) => (method, path, options) => send(method, `/v1/sales/${path}`, { tries: TRIES, until, ...options })

  /** @param {number} openAt @returns {Promise<string>} its id */
  async function create (openAt) {
    const id = `${productOf(Math.round(openAt / EVERY_MS) % PRODUCTS).sku}-${openAt.toString(36)}`
    const holdMs = mode === 'direct' ? 0 : HOLD_MS
    const { status, reply } = await sendUntil(signal)('PUT', id, {
      body: { stock: UNITS, mode, openAt, closeAt: openAt + 2 * EVERY_MS, holdMs, admitConcurrency: ADMITTED_AT_ONCE }
    })
    if (status >= 300) throw new Error(reply.detail)
    return id
  }

  /** @param {string} id @param {number} openAt */
  async function sell (id, openAt) {
    await sleep(openAt - Date.now(), undefined, { signal })
    const until = AbortSignal.any([signal, AbortSignal.timeout(EVERY_MS - FIRST_MS)])
    setMaxListeners(0, until)
    const come = comeTo(id, sendUntil(until), (ms) => sleep(ms, undefined, { signal: until }))
    /** @type {Record<Outcome, number>} */
    const outcomes = { got: 0, soldOut: 0, gaveUp: 0, late: 0, failed: 0 }
    let soldMs = 0
    await Promise.all(Array.from({ length: PEOPLE }, async (_, i) => {
      const outcome = await come[mode](userOf(i)).catch(() => /** @type {Outcome} */ ('failed'))
      outcomes[outcome]++
      if (outcome === 'got') soldMs = Date.now() - openAt
    }))
    const { got, soldOut, gaveUp, late, failed } = outcomes
    if (!signal.aborted) {
      const seconds = (soldMs / 1000).toFixed(1)
      print(`${id}: ${got} of ${UNITS} sold to the crowd in ${seconds} s, ${count(soldOut)} informed that it was sold out, ` +
        `${gaveUp} gave up${late > 0 ? `, ${late} came too late to claim` : ''}` +
        `${failed > 0 ? `, ${count(failed)} could not find out whether they got one` : ''}`)
    }
  }

  print(`${UNITS} units every minute, mode ${mode}, ${isActive ? `${count(PEOPLE)} people` : 'no crowd'}`)
  for (let openAt = Date.now() + FIRST_MS; !signal.aborted; openAt += EVERY_MS) {
    try {
      const id = await create(openAt)
      await create(openAt + EVERY_MS)
      if (isActive) await sell(id, openAt)
    } catch (error) {
      // the servers are down
      if (!signal.aborted) print(`no sale (${error.message}); the next one follows in a minute`)
    }
    await pause(openAt + EVERY_MS - FIRST_MS - Date.now())
  }
}

/**
 * What a person does in each mode.
 * @param {string} id @param {Send} send @param {Wait} wait @returns {Record<string, (userId: string) => Promise<Outcome>>}
 */
function comeTo (id, send, wait) {
  /** @param {string} userId @param {string} [ticket] */
  const claim = async (userId, ticket) => outcomeOf(await send('POST', `${id}/claims`, { body: { userId }, ticket }))
  return {
    direct: (userId) => claim(userId),

    async queue (userId) {
      const joined = await send('POST', `${id}/queue`, { body: { userId } })
      if (joined.status !== 200) return outcomeOf(joined)
      const { ticket } = joined.reply
      const path = `${id}/queue/${userId}`
      let { status } = joined.reply
      while (status === 'waiting') {
        const { reply, retryMs } = await send('GET', `${path}?waitMs=${POLL_MS}`, { ticket })
        status = reply.status
        if (status === 'waiting') await wait(retryMs)
      }
      if (status !== 'admitted') return OUTCOMES[status] ?? 'failed'
      if (givesUp()) {
        if (Math.random() < 0.5) await send('DELETE', path, { ticket })
        return 'gaveUp'
      }
      await wait(thinkMs())
      return claim(userId, ticket)
    },

    async token (userId) {
      for (;;) {
        const { status, reply } = await send('POST', `${id}/tokens`, { body: { userId } })
        if (reply.code === 'SALE_ALL_HELD') {
          await wait(Math.max(0, reply.nextHoldUntil - Date.now()) + RETRY_MS * Math.random())
          continue
        }
        if (status !== 200) return outcomeOf({ status, reply })
        if (givesUp()) return 'gaveUp'
        await wait(thinkMs())
        return claim(userId, reply.token)
      }
    }
  }
}

/** By the status of a place in the queue, and by the code of a refusal. @type {Readonly<Record<string, Outcome>>} */
const OUTCOMES = Object.freeze({ sold_out: 'soldOut', SALE_SOLD_OUT: 'soldOut', expired: 'late', CLAIM_EXPIRED: 'late' })

/** @param {{ status: number, reply: any }} reply @returns {Outcome} */
function outcomeOf ({ status, reply: { code } }) {
  if (status === 201) return 'got'
  return OUTCOMES[code] ?? 'failed'
}
