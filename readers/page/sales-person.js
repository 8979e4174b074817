/**
 * One person in a sale: does what its mode demands, and says the outcome.
 *
 *     direct   claim
 *     queue    join -> places as they change -> admitted -> claim, with the ticket
 *     token    token -> claim, with the token
 *
 * All commands of a press have keys made from one, so pressing again, a repeated request or a reloaded page have one effect.
 */
import { createEventParser } from '/client.js'
import { timeText } from './auctions-list.js'
import { pause } from './pause.js'
import { at, put } from './elements.js'
import { say, send as sendCommand } from './system.js'

const RETRY_MS = 500
const TICK_MS = 100
const ESTIMATE_EVERY_MS = 1000

/** @typedef {{ now: () => number, signal: AbortSignal }} Around `now`: time of the server, ms since 1970 */
/** @typedef {{ id: string, mode: string, openAt: number }} Sale */

/**
 * @param {Sale} sale @param {string} userId @param {string} key @param {Around} around
 * @returns {Promise<string | null>} the claim; null: without one, and the outcome says why
 */
export async function takePart (sale, userId, key, around) {
  const path = `/v1/sales/${encodeURIComponent(sale.id)}`
  try {
    if (sale.mode !== 'queue') await opening(sale, around)
    const ticket = sale.mode === 'direct' ? undefined : await ticketOf(sale, path, userId, key, around)
    const claim = await send(`${path}/claims`, { userId }, `${key}-claim`, around, ticket)
    if (claim.status === 'held') {
      await turn(claim.holdUntil, around)
      await send(`${path}/claims/${claim.claimId}/confirm`, { userId }, `${key}-confirm`, around)
    }
    say('good', `You got one: claim ${claim.claimId}`)
    return claim.claimId
  } catch (error) {
    if (!around.signal.aborted) say('bad', error.message)
    return null
  } finally {
    at('offer').hidden = true
  }
}

/** @param {Sale} sale @param {Around} around */
async function opening ({ openAt }, { now, signal }) {
  while (!signal.aborted && now() < openAt) {
    say('', 'This is sent when the sale opens.')
    await pause(Math.min(TICK_MS, openAt - now()), signal)
  }
}

/**
 * Waits until the person may claim.
 * @param {Sale} sale @param {string} path @param {string} userId @param {string} key @param {Around} around
 */
async function ticketOf ({ id, mode }, path, userId, key, around) {
  if (mode === 'token') {
    const { token, expiresAt } = await send(`${path}/tokens`, { userId }, key, around)
    say('good', 'You have a token: a unit is held for you.')
    await turn(expiresAt, around)
    return token
  }
  const { ticket, ...joined } = await send(`${path}/queue`, { userId }, key, around)
  if (ticket === undefined) throw new Error(`${userId} is in the queue already, and only that page has the ticket. Choose another name.`)
  const place = await placeAfterWaiting(placesOf(id, userId, ticket, joined, around), around)
  if (place.status === 'admitted') {
    say('good', 'You are admitted: a unit is held for you.')
    await turn(place.until, around)
  } else if (place.status !== 'claimed') throw new Error(ENDS[place.status] ?? 'You are no longer in the queue.')
  return ticket
}

/**
 * Says the position, and an estimate that counts down until the next position arrives.
 * @param {AsyncIterable<any>} places @param {Around} around
 * @returns {Promise<any>} the first place that is not `waiting`
 */
async function placeAfterWaiting (places, { now }) {
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let counting
  let place
  try {
    for await (place of places) {
      clearInterval(counting)
      if (place.status !== 'waiting') break
      const { position, etaMs } = place
      const expectedAt = now() + etaMs
      const show = () =>
        say('', `You are number ${position} in the queue. Estimated time: ${timeText(Math.max(1, expectedAt - now()))}.`)
      show()
      counting = setInterval(show, ESTIMATE_EVERY_MS)
    }
    return place
  } finally {
    clearInterval(counting)
  }
}

/** @type {Readonly<Record<string, string>>} */
const ENDS = Object.freeze({
  sold_out: 'Sold out: every unit was sold before it was your turn.',
  expired: 'Expired: you did not claim in time, or the sale closed.',
  left: 'You left the queue.'
})

/** At once, or when the button is pressed. @param {number} untilMs @param {Around} around @throws {Error} too late */
async function turn (untilMs, { now, signal }) {
  const pressed = new AbortController()
  at('claim').onclick = () => pressed.abort()
  at('offer').hidden = at('auto').checked
  while (!at('auto').checked && !pressed.signal.aborted && !signal.aborted) {
    if (now() >= untilMs) throw new Error(ENDS.expired)
    put(at('until'), `${((untilMs - now()) / 1000).toFixed(1)} s left`)
    await pause(TICK_MS, AbortSignal.any([signal, pressed.signal]))
  }
  at('offer').hidden = true
}

/**
 * Places as they change. The ticket is in a header, which EventSource cannot send.
 * @param {string} id @param {string} userId @param {string} ticket @param {any} joined @param {Around} around
 */
async function * placesOf (id, userId, ticket, joined, { signal }) {
  yield joined
  while (!signal.aborted) {
    try {
      const response = await fetch(`/v1/sales/${encodeURIComponent(id)}/queue/${encodeURIComponent(userId)}/live`, {
        headers: { 'freshet-ticket': ticket }, signal
      })
      if (response.ok && response.body) {
        const parse = createEventParser()
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
        for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
          for (const { name, data } of parse(piece.value)) if (name === 'place') yield JSON.parse(data ?? '')
        }
      }
    } catch {
      if (!signal.aborted) say('', 'The reader does not answer; your place in the queue is kept.')
    }
    await pause(RETRY_MS, signal)
  }
}

/**
 * @param {string} path @param {object | undefined} body @param {string} key @param {Around} around @param {string} [ticket]
 * @throws {Error} with the detail of the gateway
 */
async function send (path, body, key, { signal }, ticket) {
  const { status, reply } = await sendCommand(path, body, key, { signal, headers: ticket ? { 'freshet-ticket': ticket } : {} })
  if (status < 400) return reply
  throw new Error(reply.detail ?? `status ${status}`)
}
