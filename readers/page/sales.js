/**
 * The current sale: its stock, its queue, who got one, and a form to take part. `#id` shows that sale; otherwise the page goes on to
 * the next one when it opens. Times are those of the server; the clock of the visitor only counts between two of them.
 */
import { createEventParser } from '/client.js'
import { timeText, titleOf } from './auctions-list.js'
import { at, make, pause, put } from './elements.js'
import { personName } from './person-names.js'
import { createFollower, gateway, get, getAll, newKey, repeat, say, send as sendCommand, state } from './system.js'
import { duration, number, timeOfDay } from './text.js'

/**
 * One person in a sale: does what its mode demands, and says the outcome.
 *
 *     direct   claim
 *     queue    join -> places as they change -> admitted -> claim, with the ticket
 *     token    token -> claim, with the token
 *
 * All commands of a press have keys made from one, so pressing again, a repeated request or a reloaded page have one effect.
 */

const RETRY_MS = 500
const WAIT_TICK_MS = 100
const ESTIMATE_EVERY_MS = 1000

/** @typedef {{ id: string, mode: string, openAt: number }} Entered */
/** @typedef {{ now: () => number, signal: AbortSignal }} Around `now`: time of the server, ms since 1970 */

/**
 * @param {Entered} sale @param {string} userId @param {string} key @param {Around} around
 * @returns {Promise<string | null>} the claim; null: without one, and the outcome says why
 */
async function takePart (sale, userId, key, around) {
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

/** @param {Entered} sale @param {Around} around */
async function opening ({ openAt }, { now, signal }) {
  while (!signal.aborted && now() < openAt) {
    say('', 'This is sent when the sale opens.')
    await pause(Math.min(WAIT_TICK_MS, openAt - now()), signal)
  }
}

/**
 * Waits until the person may claim.
 * @param {Entered} sale @param {string} path @param {string} userId @param {string} key @param {Around} around
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
    await pause(WAIT_TICK_MS, AbortSignal.any([signal, pressed.signal]))
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

/** What the page of sales says about a sale: its mode and status, what happens, and how to take part. */

/** @typedef {{ mode: string, status: string, openAt: number, holdMs: number, admitConcurrency: number }} Sale */

/** @type {Readonly<Record<string, string>>} */
const MODES = Object.freeze({ direct: 'first come, first served', queue: 'by queue', token: 'by token' })
/** @type {Readonly<Record<string, string>>} */
const PRESS = Object.freeze({ direct: 'Buy one', queue: 'Join the queue', token: 'Get a token' })
/** @type {Readonly<Record<string, string>>} */
const CLAIM_WORDS = Object.freeze({ sold: 'got one', pending: 'being recorded' })
/** @type {Readonly<Record<string, string>>} */
const STATUS_WORDS = Object.freeze({ scheduled: 'not open yet', sold_out: 'sold out' })

/** @type {Readonly<Record<string, (sale: Sale) => string>>} */
const HOW = Object.freeze({
  direct: () => 'Claims are decided in the order of arrival: each gets a unit while there are any, then everyone learns at once ' +
    'that none is left.',
  queue: ({ admitConcurrency, holdMs }) => `People join a queue, also before the sale opens. ${admitConcurrency} at a time are admitted, ` +
    `in the order of joining, and have ${seconds(holdMs)} to claim a unit; if they do not, it goes to the next person.`,
  token: ({ holdMs }) => `People get a token, which holds a unit for ${seconds(holdMs)}. Those who claim in that time get the unit; ` +
    'otherwise it is available again.'
})
/** @type {Readonly<Record<string, string>>} */
const TAKE_PART = Object.freeze({
  direct: 'Take part: enter a name, and press. Before the sale opens, this page waits, and sends your claim when it opens.',
  queue: 'Take part: enter a name, and join. This page shows your position, and claims for you when it is your turn.',
  token: 'Take part: enter a name, and get a token. This page claims with it for you.'
})

const seconds = (/** @type {number} */ ms) => duration(ms).replace('.0 ', ' ')

/** @param {Sale} sale @param {number} nowMs time of the server */
const howOf = (sale, nowMs) =>
  (sale.status === 'scheduled' ? `It opens in ${timeText(Math.max(1, sale.openAt - nowMs))}. ` : '') + HOW[sale.mode](sale)

const LIST_EVERY_MS = 500
const CLAIMS_EVERY_MS = 500
const TICK_MS = 200
const SHOWN_CLAIMS = 14
const OVER = ['sold_out', 'closed']
const LOST = ['expired', 'released', 'revoked']
const GOT = ['sold', 'pending']

/** the sale that is shown, the one that opens next, and the one before @type {any} */
let [sale, next, previous] = [null, null, null]
/** whether the stream of the sale has begun; until then it is shown as lists have it */
let isStreamed = false
/** server time minus that of the visitor */
let aheadMs = 0
/** by sale: the time to sell out, if this page saw it @type {Map<string, number>} */
const soldMs = new Map()
/** what this visitor takes part in @type {{ sale: string, claim: string | null, over: AbortController } | null} */
let mine = null
/** @type {ReturnType<typeof setTimeout> | undefined} */
let reading

const now = () => Date.now() + aheadMs
const linkedId = () => decodeURIComponent(location.hash.slice(1))
/** Not while a press has no outcome yet; and a unit of this sale is not asked for twice, since its claim would be lost from the page. */
const mayPress = () => mine === null || (mine.over.signal.aborted && (mine.claim === null || mine.sale !== target()?.id))
/** the sale that the form is for */
const target = () => sale && OVER.includes(sale.status) && next && !linkedId() ? next : sale

const { follow: followEvents } = createFollower((id) => `/v1/sales/${encodeURIComponent(id)}/live`, { sale: takeEvent },
  () => sale === null ? 'sale not available' : 'connecting again')

/** @param {any} newest */
function takeEvent (newest) {
  isStreamed = true
  take(newest)
}

/** @param {any} newest */
function take (newest) {
  if (sale?.status === 'open' && newest.status === 'sold_out') soldMs.set(newest.id, newest.asOf - newest.openAt)
  if (newest.seq !== sale?.seq) reading ??= setTimeout(claims, sale === null ? 0 : CLAIMS_EVERY_MS)
  sale = newest
  aheadMs = sale.asOf - Date.now()
  show()
}

function show () {
  at('sale').hidden = false
  const { id: saleId, stock, available, held, sold, mode, status, openAt, queued, waiting = null } = sale
  const isQueue = mode === 'queue'
  put(at('title'), `${titleOf(saleId)}, ${number(stock)} units ${MODES[mode]}${openAt ? ` at ${timeOfDay(openAt)}` : ''}: ` +
    (STATUS_WORDS[status] ?? status) + timeOf(saleId))
  for (const [id, n] of Object.entries({ left: available, stock, sold, held, available, queued, waiting })) put(at(id), number(n))
  for (const [id, n] of Object.entries({ sold, held, available })) at(`bar-${id}`).style.flexGrow = String(n)
  put(at('held-name'), isQueue ? 'Admitted, deciding' : 'Held')
  put(at('waiting-name'), status === 'sold_out' ? 'Without a unit' : 'Waiting')
  for (const element of document.querySelectorAll('.of-queue')) /** @type {HTMLElement} */ (element).hidden = !isQueue
  tick()
}

/** @param {string} id */
const timeOf = (id) => soldMs.has(id) ? ` in ${duration(soldMs.get(id) ?? 0).replace(' ', '\u00a0')}` : ''

/** All claims, since those of a moment ago may have changed. */
async function claims () {
  reading = undefined
  const { id } = sale
  try {
    const all = await getAll(`/v1/sales/${encodeURIComponent(id)}/claims`)
    if (sale?.id !== id) return
    put(at('lost'), number(all.filter(({ status }) => LOST.includes(status)).length))
    const got = all.filter(({ status }) => GOT.includes(status))
    at('claims').replaceChildren(...got.map((claim, i) => rowOf(claim, i + 1)).slice(-SHOWN_CLAIMS).reverse())
  } catch {
    // the next event reads them again
  }
}

/** @param {any} claim @param {number} rank among those who got one, from 1 */
function rowOf ({ claimId, userId, status }, rank) {
  const isMine = claimId === mine?.claim
  const className = isMine ? 'mine' : ''
  return make('tr', { className },
    make('td', {}, number(rank)), make('td', { title: userId }, isMine ? 'you' : personName(userId)), make('td', {}, CLAIM_WORDS[status]))
}

function tick () {
  if (next?.openAt <= now()) next = null
  put(at('next'), next && !linkedId() ? `Next sale in ${timeText(next.openAt - now())}` : '')
  put(at('previous'), previous && !linkedId() ? `Previous sale: ${previous.sold} of ${previous.stock} sold${timeOf(previous.id)}` : '')
  if (sale) put(at('how'), howOf(sale, now()))
  const chosen = target()
  at('take').hidden = gateway() === '' || !chosen || (OVER.includes(chosen.status) && mine === null)
  at('press').disabled = !mayPress()
  if (chosen) {
    put(at('press'), PRESS[chosen.mode] + (chosen === sale ? '' : ' of the next sale'))
    put(at('part'), TAKE_PART[chosen.mode])
  }
  at('by-itself').hidden = chosen?.mode === 'direct'
}

async function list () {
  const { items } = await get('/v1/sales?limit=100')
  items.sort((/** @type {any} */ a, /** @type {any} */ b) => a.openAt - b.openAt)
  if (items.length > 0) aheadMs = items[0].asOf - Date.now()
  const open = items.filter((/** @type {any} */ { openAt }) => openAt <= now())
  next = items[open.length] ?? null
  previous = open.at(-2) ?? null
  const id = linkedId() || (open.at(-1) ?? next)?.id
  at('none').hidden = id !== undefined
  if (id === undefined) state('live', 'no sale')
  else if (followEvents(id)) {
    sale = null
    isStreamed = false
  }
  const listed = isStreamed ? undefined : items.find((/** @type {any} */ item) => item.id === id)
  if (listed) take(listed)
  return LIST_EVERY_MS
}

/** @param {any} chosen @param {string} userId @param {string} key */
async function press (chosen, userId, key) {
  mine = { sale: chosen.id, claim: null, over: new AbortController() }
  const attempt = mine
  sessionStorage.setItem('sale', JSON.stringify({ sale: chosen, userId, key }))
  say('', '')
  tick()
  attempt.claim = await takePart(chosen, userId, key, { now, signal: attempt.over.signal })
  attempt.over.abort()
  sessionStorage.removeItem('sale')
  tick()
  if (sale) reading ??= setTimeout(claims)
}

at('take').addEventListener('submit', (/** @type {SubmitEvent} */ event) => {
  event.preventDefault()
  if (!mayPress()) return
  sessionStorage.setItem('user', at('user').value.trim())
  press(target(), at('user').value.trim(), newKey())
})

at('user').value = sessionStorage.getItem('user') ?? ''
const interrupted = JSON.parse(sessionStorage.getItem('sale') ?? 'null')
if (interrupted) press(interrupted.sale, interrupted.userId, interrupted.key)
setInterval(tick, TICK_MS)
repeat(list)
